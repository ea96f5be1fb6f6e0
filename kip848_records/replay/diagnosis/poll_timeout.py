"""Whether a missed poll explains how long members stay: their rebalance timeout is max.poll.interval.ms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.limits import DAY, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable


MAX_POLL: Final = "max.poll.interval.ms"
POLL_TIMEOUT: Final = "poll_timeout"
POSSIBLE: Final = "poll_timeout_possible"
NOT: Final = "not_poll_timeout"
UNKNOWN: Final = "unknown"

_POLL_SHARE: Final = 0.9
"""Share of the stays that a poll timeout must explain."""
_POLL_SHORTEST: Final = 0.95
"""A missed poll never ends a stay before max.poll.interval.ms; heartbeats round."""
_POLL_LONGEST: Final = 1.10
_POLL_SLACK: Final = 10 * SECOND
_POLL_WINDOW_TIMEOUTS: Final = 6
_LONGEST_WINDOW: Final = DAY
"""Timeouts of 2^31-1 ms exist."""


def is_poll_timeout(length: int, timeout: int | None, session: int = 0) -> bool:
    """Return whether a stay (ms) ended when a poll timeout had just passed; a silent member has a session on top."""
    if timeout is None:
        return False
    longest = _POLL_LONGEST * timeout + _POLL_SLACK + session
    return _POLL_SHORTEST * timeout <= length <= longest


def window(timeouts: Iterable[int | None], shortest: int) -> int:
    """Return the window (ms) in which poll timeouts are counted: six of them, at most a day; at least `shortest`."""
    timeout = max((each for each in timeouts if each is not None), default=0)
    return max(shortest, min(_POLL_WINDOW_TIMEOUTS * timeout, _LONGEST_WINDOW))


def cause(stays: Iterable[tuple[int, int | None, int]]) -> str:
    """Return what the lengths of stays say, each with its member's timeout and the session on top of it (ms).

    A missed poll never ends a stay before its timeout. A process that works well for a time before it misses a poll has
    longer stays, and a bad network has them too.
    """
    known = [(length, timeout, session) for length, timeout, session in stays if timeout is not None]
    if not known:
        return UNKNOWN
    longer = sum(length >= _POLL_SHORTEST * timeout for length, timeout, _ in known)
    if longer < _POLL_SHARE * len(known):
        return NOT
    exact = sum(is_poll_timeout(length, timeout, session) for length, timeout, session in known)
    return POLL_TIMEOUT if exact * 2 >= len(known) else POSSIBLE
