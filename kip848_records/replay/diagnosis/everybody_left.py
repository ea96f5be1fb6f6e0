"""The pattern `everybody_left`: a group that had members for a long time, and then none for longer than before."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.episodes import Episode, Subject, some_offsets
from kip848_records.replay.diagnosis.limits import MINUTE
from kip848_records.replay.diagnosis.severity import INFO, WARNING
from kip848_records.replay.group.states import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory, Run
    from kip848_records.replay.diagnosis.job import Job

PATTERN: Final = "everybody_left"
_LAST: Final = 2 * MINUTE


def everybody_left(history: GroupHistory, jobs: Sequence[Job]) -> Iterator[Episode]:
    """Yield a row for each time in which the group was Empty for long; it ends when members are back.

    A past one is no alarm: most were a pause on purpose.

    A partition of which this is the only group has no later record, like an old copy: the words say so. It is not
    likely that a copy ends in the pause of a group that had members for hours.
    """
    limits, state = history.limits, history.rows.state
    runs = _bridged(history.runs, limits.left_for)
    is_empty = state is not None and state.state == EMPTY
    longest = max([job.period for job in jobs], default=0)
    for run, later in zip_longest(runs, runs[1:]):
        empty_at, back_at = run.ended_at, None if later is None else later.began_at
        if empty_at is None or (back_at is None and not is_empty):
            return
        until = history.captured_at if back_at is None else back_at
        recognized_at = empty_at + max(limits.left_for, limits.left_pauses * longest)
        longest = max(longest, until - empty_at)
        is_known = history.known_since is None or empty_at >= history.known_since or back_at is None
        if is_known and recognized_at <= until and empty_at - run.began_at >= limits.left_run:
            yield from _episode(history, run, recognized_at, back_at, is_longest=run is not runs[0])


def _episode(
    history: GroupHistory, run: Run, recognized_at: int, back_at: int | None, *, is_longest: bool
) -> Iterator[Episode]:
    limits, empty_at = history.limits, run.ended_at or 0
    left = [stay for stay in history.stays if stay.left_at is not None and empty_at - _LAST <= stay.left_at <= empty_at]
    if not left:  # by two clocks that disagree
        return
    who = max(left, key=lambda stay: (stay.left_at, stay.left_offset))
    until = history.captured_at if back_at is None else back_at
    is_short = empty_at - run.began_at < limits.left_long_run or until - empty_at > limits.left_known
    is_alarm = back_at is None and not is_short
    yield Episode(
        PATTERN,
        WARNING if is_alarm else INFO,
        Subject(client_id=who.client_id, client_host=who.host, instance_id=who.instance_id, members=len(left)),
        len(left),
        empty_at,
        until,
        recognized_at,
        back_at,
        who.incarnation,
        probable_cause="left_together" if len(left) > 1 else "last_left",
        evidence=some_offsets(stay.left_offset for stay in left if stay.left_offset is not None),
        members=frozenset(),
        facts={"is_longest": is_longest, "is_copy_old": back_at is None and history.is_copy_old(recognized_at)},
    )


def _bridged(runs: Sequence[Run], pause: int) -> list[Run]:
    found: list[Run] = []
    for run in runs:
        if found and found[-1].ended_at is not None and run.began_at - found[-1].ended_at < pause:
            found[-1] = found[-1]._replace(ended_at=run.ended_at)
        else:
            found.append(run)
    return found
