"""Whether a missed poll explains how long members stay: their rebalance timeout is max.poll.interval.ms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.diagnosis.limits import Limits

POLL_TIMEOUT: Final = "poll_timeout"
POSSIBLE: Final = "poll_timeout_possible"
NOT: Final = "not_poll_timeout"
UNKNOWN: Final = "unknown"


def is_poll_timeout(length: int, timeout: int | None, limits: Limits, session: int = 0) -> bool:
    """Return whether a stay (ms) ended when a poll timeout had just passed; a silent member has a session on top."""
    if timeout is None:
        return False
    longest = limits.poll_longest * timeout + limits.poll_slack + session
    return limits.poll_shortest * timeout <= length <= longest


def window(timeouts: Iterable[int | None], shortest: int, limits: Limits) -> int:
    """Return the window (ms) in which poll timeouts are counted: six of them, at most a day; at least `shortest`."""
    timeout = max((each for each in timeouts if each is not None), default=0)
    return max(shortest, min(limits.poll_window_timeouts * timeout, limits.longest_window))


def cause(stays: Iterable[tuple[int, int | None, int]], limits: Limits) -> str:
    """Return what the lengths of stays say, each with its member's timeout and the session on top of it (ms).

    A missed poll never ends a stay before its timeout. A process that works well for a time before it misses a poll has
    longer stays, and a bad network has them too.
    """
    known = [(length, timeout, session) for length, timeout, session in stays if timeout is not None]
    if not known:
        return UNKNOWN
    longer = sum(length >= limits.poll_shortest * timeout for length, timeout, _ in known)
    if longer < limits.poll_share * len(known):
        return NOT
    exact = sum(is_poll_timeout(length, timeout, limits, session) for length, timeout, session in known)
    return POLL_TIMEOUT if exact * 2 >= len(known) else POSSIBLE
