"""The pattern `everybody_left`: a group that had members for a long time, and has had none for longer than before."""

from __future__ import annotations

from itertools import pairwise
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
    """Yield a row if the group is Empty for long.

    A partition of which this is the only group has no later record, like an old copy: the words say so. It is not
    likely that a copy ends in the pause of a group that had members for hours.
    """
    limits = history.limits
    runs = _bridged(history.runs, limits.left_for)
    if not runs or history.rows.state is None or history.rows.state.state != EMPTY:
        return
    last = runs[-1]
    empty_at = last.ended_at
    if empty_at is None or empty_at - last.began_at < limits.left_run:
        return
    pauses = [later.began_at - (run.ended_at or 0) for run, later in pairwise(runs)]
    longest = max([*pauses, *(job.period for job in jobs)], default=0)
    recognized_at = empty_at + max(limits.left_for, limits.left_pauses * longest)
    if recognized_at > history.captured_at:
        return
    left = [stay for stay in history.stays if stay.left_at is not None and empty_at - _LAST <= stay.left_at <= empty_at]
    who = max(left, key=lambda stay: (stay.left_at, stay.left_offset))
    is_short = empty_at - last.began_at < limits.left_long_run or history.captured_at - empty_at > limits.left_known
    yield Episode(
        PATTERN,
        INFO if is_short else WARNING,
        Subject(client_id=who.client_id, client_host=who.host, instance_id=who.instance_id, members=len(left)),
        len(left),
        empty_at,
        history.captured_at,
        recognized_at,
        None,
        who.incarnation,
        probable_cause="left_together" if len(left) > 1 else "last_left",
        evidence=some_offsets(stay.left_offset for stay in left if stay.left_offset is not None),
        members=frozenset(),
        facts={"is_longest": len(history.runs) > 1, "is_copy_old": history.is_copy_old(recognized_at)},
    )


def _bridged(runs: Sequence[Run], pause: int) -> list[Run]:
    found: list[Run] = []
    for run in runs:
        if found and found[-1].ended_at is not None and run.began_at - found[-1].ended_at < pause:
            found[-1] = found[-1]._replace(ended_at=run.ended_at)
        else:
            found.append(run)
    return found
