"""Loops of several processes that end together and leave the group Empty: a batch, or all crash."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.diagnosis.episodes import Episode, Event, Span, Subject, of_span
from kip848_records.replay.diagnosis.intervals import together
from kip848_records.replay.diagnosis.limits import MINUTE
from kip848_records.replay.diagnosis.severity import INFO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.stays import Stay

CAUSE = "batch_or_all"

_EMPTY_TOGETHER: Final = MINUTE


class Loop(NamedTuple):
    """An episode of a loop with its stays."""

    episode: Episode
    stays: Sequence[Stay]


def without_batches(loops: Sequence[Loop], history: GroupHistory) -> list[Episode]:
    """Return the episodes of loops, those of a batch as one row without alarm."""
    if not loops:
        return []
    pauses = _pauses(history)
    batch = [loop for loop in loops if _leaves_nobody(loop.stays, pauses, _EMPTY_TOGETHER)]
    names = {stay.name for loop in batch for stay in loop.stays}
    if len(names) < 2 or not _end_together(batch, _EMPTY_TOGETHER):  # noqa: PLR2004 - one process
        return [loop.episode for loop in loops]
    kept = [loop.episode for loop in loops if loop not in batch]
    ordered = sorted(batch, key=lambda each: each.episode.first_seen)
    return [*kept, *map(_batch, together(ordered, _overlaps))]


def _pauses(history: GroupHistory) -> list[int]:
    """Return the ends of runs after which the group was Empty for long enough."""
    runs, needed = history.runs, _EMPTY_TOGETHER
    later = [run.begin for run in runs[1:]] + [history.captured_at]
    return [
        run.end for run, begin in zip(runs, later, strict=True) if run.end is not None and begin - run.end >= needed
    ]


def _leaves_nobody(stays: Sequence[Stay], pauses: Sequence[int], within: int) -> bool:
    """Return whether the group is Empty soon after half of the ends."""
    count = 0
    for stay in stays:
        assert stay.left_at is not None  # noqa: S101 - measured
        place = bisect_left(pauses, stay.left_at)
        count += place < len(pauses) and pauses[place] <= stay.left_at + within
    return count * 2 >= len(stays)


def _end_together(loops: Sequence[Loop], within: int) -> bool:
    """Return whether at half of the ends, another one of another name is near."""
    ends = sorted((stay.left_at or 0, stay.name) for loop in loops for stay in loop.stays)
    near = sum(
        any(
            0 <= other < len(ends) and abs(ends[other][0] - at) <= within and ends[other][1] != name
            for other in (place - 1, place + 1)
        )
        for place, (at, name) in enumerate(ends)
    )
    return near * 2 >= len(ends)


def _overlaps(found: Sequence[Loop], loop: Loop) -> bool:
    return loop.episode.first_seen <= max(each.episode.last_seen for each in found)


def _batch(loops: Sequence[Loop]) -> Episode:
    episodes = [loop.episode for loop in loops]
    stays = sorted((stay for loop in loops for stay in loop.stays), key=lambda stay: stay.left_at or 0)
    ends: list[Event] = []
    for stay in stays:
        assert stay.left_at is not None and stay.left_offset is not None  # noqa: S101, PT018 - measured
        if not ends or stay.left_at > ends[-1].at + _EMPTY_TOGETHER:
            ends.append(Event(stay.left_at, stay.left_offset, stay))
    ended = [each.ended_at for each in episodes if each.ended_at is not None]
    span = Span(
        ends,
        min(each.first_seen for each in episodes),
        max(each.last_seen for each in episodes),
        min(each.recognized_at for each in episodes),
        set(),
        max(ended) if len(ended) == len(episodes) else None,
    )
    clients = sorted({stay.client_id for stay in stays if stay.client_id is not None})
    return of_span(
        episodes[0].of,
        Subject(members=len({stay.name for stay in stays}), clients=tuple(clients[:20])),
        span,
        stays[-1].incarnation,
        probable_cause=CAUSE,
        members=frozenset(stay.member_id for stay in stays),
        severity=INFO,
    )
