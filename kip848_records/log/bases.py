"""Several copies of one partition: the copy with which its history starts, and the records of others that count.

Copies that overlap, or that follow each other without a gap, make one history. It starts with one of them, the base.
A record before the base's history that only other copies hold is stale: a later tombstone may have deleted its key,
and the cleaner may have removed both before the base was copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.log.extents import Extent


class CopyCoverage(NamedTuple):
    """The coverage of a partition by a copy: a row of the table `partition_history`.

    The copy holds every record from `complete_from` to `last_offset`, and the state at `complete_from` is known. If
    `complete_from` is above `last_offset`, only the state at the copy's end is known. `log_start_missing`: the start of
    the log is missing, though compaction would have kept it; None if the source does not show that. `is_base`: the
    partition's history starts with this copy. `stale_from`: records of other copies from this offset to before
    `complete_from` do not count if the base lacks them; None for all copies but the base. `first_lost_offset`,
    `last_lost_offset`: records between them were lost to all copies, and may be of any group; None for all copies but
    the base, and if nothing was lost.
    """

    partition: int
    copy: str
    first_offset: int
    last_offset: int
    complete_from: int
    log_start_missing: bool | None
    stale_from: int | None
    is_base: bool
    first_lost_offset: int | None = None
    last_lost_offset: int | None = None


def choose_base(extents: Sequence[Extent]) -> Extent:
    """Return the copy with which the history of a partition starts.

    Its history leads up to the highest offset. Copies without their start, or with unreadable parts, are the last
    choice: the base alone provides the state that compaction left.
    """
    end = max(extent.last_offset for extent in extents)

    def preference(extent: Extent) -> tuple[bool, bool, bool, int, int, str]:
        return (
            _reach(extent, extents) < end,
            bool(extent.log_start_missing),
            extent.is_damaged,
            extent.complete_from,
            -extent.last_offset,
            extent.copy,
        )

    return min(extents, key=preference)


def _reach(start: Extent, extents: Sequence[Extent]) -> int:
    """Return the offset up to which the copies together hold every record since `start`'s complete part begins."""
    reached = start.last_offset
    for extent in sorted(extents, key=lambda each: each.continues_from):
        if extent.continues_from <= reached + 1:
            reached = max(reached, extent.last_offset)
    return reached


def is_led_up_to(base: Extent, extents: Sequence[Extent]) -> bool:
    """Return whether the copies that start before the base cover the offsets up to its start."""
    reached: int | None = None
    for extent in sorted(extents, key=_by_start):
        if reached is not None and extent.first_offset > reached + 1:
            return False
        if extent is base:
            return True
        reached = extent.last_offset if reached is None else max(reached, extent.last_offset)
    return True


def begins_later(base: Extent, extents: Sequence[Extent]) -> bool:
    """Return whether another copy starts before the base."""
    return base.first_offset > min(extent.first_offset for extent in extents)


def coverage_of(extents: Sequence[Extent], base: Extent, *, lacks_records: bool) -> list[CopyCoverage]:
    """Return the coverage of a partition's copies.

    A base may start after the others because it was read, or kept, from there on. That is so if the others lead up to
    its start and it lacks none of their records after that. Then the records before its start count, and the first copy
    shows whether the start of the log is missing. If the others do not lead up to it, the records between are unknown.

    Args:
        extents: the extent of each copy of one partition.
        base: the extent with which history starts.
        lacks_records: whether other copies have records after the base's start that it lacks.
    """
    log_start_missing, stale_from = base.log_start_missing, 0
    if begins_later(base, extents):
        if not is_led_up_to(base, extents):
            log_start_missing = True if log_start_missing is None else log_start_missing
        elif not lacks_records:
            log_start_missing, stale_from = min(extents, key=_by_start).log_start_missing, base.first_offset
    return [
        CopyCoverage(
            partition=extent.partition,
            copy=extent.copy,
            first_offset=extent.first_offset,
            last_offset=extent.last_offset,
            complete_from=extent.complete_from,
            log_start_missing=log_start_missing if extent is base else extent.log_start_missing,
            stale_from=stale_from if extent is base else None,
            is_base=extent is base,
        )
        for extent in extents
    ]


def _by_start(extent: Extent) -> tuple[int, int, str]:
    return extent.first_offset, -extent.last_offset, extent.copy
