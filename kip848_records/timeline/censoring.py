"""How much of what a group did the log shows: of each event, and of an interval between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from pyspark.sql import functions as F

from kip848_records.timeline.operations import LOST, LOST_CLASSIC
from kip848_records.timeline.windows import NONE, NULL, Window, differs, of_rows, within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column

    from kip848_records.timeline.columns import Events
    from kip848_records.timeline.operations import Operations
    from kip848_records.timeline.snapshots import Snapshots
    from kip848_records.timeline.windows import Bools, Ints

OBSERVED: Final = "observed"
LEFT_CENSORED: Final = "left_censored"
RIGHT_CENSORED: Final = "right_censored"
CENSORED: Final = "censored"


@dataclass(frozen=True)
class PartitionHistory:
    """How much of a partition's history is known.

    `stretches`: the parts of the log of which no record is missing, in order, each by its first offset and the one
    behind its last. One that was compacted between two reads has several: only what came behind one of them and before
    the next may have been removed. `breaks`: the first offsets of reads before which tombstones may have been removed
    too, unseen. `head_missing`: the start of the log is not there, though compaction keeps it.
    `last_offset`: of any record that was read; None if none was.
    """

    stretches: tuple[tuple[int, int], ...]
    head_missing: bool
    last_offset: int | None
    breaks: tuple[int, ...] = ()

    @property
    def complete_to_end(self) -> int | None:
        """From which offset on no record is missing up to the last one; None where that is not known."""
        first, behind = self.stretches[-1] if self.stretches else (None, None)
        return first if self.last_offset is not None and behind == self.last_offset + 1 else None

    def stretch(self, offset: Ints) -> Ints:
        """Return the number of the stretch that each offset is in; NONE if it is in none."""
        places = np.array(self.stretches, np.int64).reshape(-1, 2)
        place = np.searchsorted(places[:, 0], offset, side="right") - 1
        return np.where((place != NONE) & (offset < np.append(places[:, 1], 0)[place]), place, NONE)


@dataclass(frozen=True)
class History:
    """How much of its group's history each event shows.

    `is_complete`: the record was read before compaction could remove one that it counts with. `seen_from`: from that
    offset on no record of the group is missing up to this one; NULL if the event is not complete. `is_whole`: none of
    its incarnation is, up to this one. `is_headless`: records of this incarnation, from before this one, are missing
    that compaction would have kept. `is_unscathed`: no record from here on was lost.
    """

    offset: Ints
    is_complete: Bools
    seen_from: Ints
    is_whole: Bools
    is_headless: Bools
    is_unscathed: Bools

    def saw(self, begins: Ints, ends: Ints) -> Bools:
        """Return whether no record is missing from these events to those; NONE stands for an event that is not there.

        What compaction removed, a record of the same key from before the cleaner's end took the place of. So of a group
        without an event between two stretches nothing is missing between them, unless it was a tombstone.
        """
        seen_from = of_rows(self.seen_from, ends)
        return np.asarray((begins != NONE) & (seen_from != NULL) & (of_rows(self.offset, begins) >= seen_from))


def histories(
    events: Events, operations: Operations, snapshots: Snapshots, known: Mapping[int, PartitionHistory]
) -> History:
    """Tell what is known of each event's history by that of its partition, its losses, and its group's snapshot.

    Group epochs step by one, so one that does not follow the one before proves that records are missing, whatever the
    partition's history says: of that group nothing before it is complete in the same stretch. Of several losses the
    first and the last count: between them a state may be called unknown that is known.
    """
    offset = events.ints("offset")
    stretch, head_missing, breaks_before = _of_partitions(events, snapshots, known)
    is_jump = jumps(events, operations)
    last_jump = Window(within(operations.of_group, stretch)).max(np.where(is_jump, offset, NULL))

    lost = np.where(np.isin(events.ints("key_type"), (LOST, LOST_CLASSIC)), offset, NULL)
    last_loss = np.maximum(events.ints("last_loss"), operations.of_group.max(lost))
    none = np.iinfo(np.int64).max
    first_losses = [events.ints("first_loss"), lost]
    of_partition, of_group = (np.where(first == NULL, none, first) for first in first_losses)
    first_loss = np.minimum(of_partition, operations.of_group.min(of_group))
    deletion = operations.of_group.last(operations.deletes, before=True)
    deleted_at = np.where(deletion == NONE, -1, offset[deletion])
    is_behind_loss = (last_loss > deleted_at) & (offset >= first_loss)

    is_headless = (head_missing & (operations.incarnation == 0)) | is_behind_loss
    is_unscathed = offset > last_loss
    is_told = (stretch != NONE) & (offset >= last_jump) & ~is_headless & is_unscathed
    is_complete = np.where(snapshots.is_snapshot, snapshots.seen_from != NULL, is_told)
    before = operations.of_group.previous()
    goes_on = (before != NONE) & is_complete[before] & (breaks_before == breaks_before[before]) & ~is_jump
    begins = is_complete & ~goes_on
    seen_from = np.where(snapshots.is_snapshot, snapshots.seen_from, offset)
    seen_from = np.where(is_complete, of_rows(seen_from, operations.of_group.last(begins)), NULL)
    first = operations.first_of_incarnation
    begin = np.where(snapshots.is_snapshot, np.where(snapshots.is_whole, snapshots.seen_from, NULL), offset)[first]
    return History(
        offset=offset,
        is_complete=is_complete,
        seen_from=seen_from,
        is_whole=(seen_from != NULL) & (begin >= seen_from),
        is_headless=is_headless,
        is_unscathed=is_unscathed,
    )


def jumps(events: Events, operations: Operations) -> Bools:
    """Return which events have a group epoch that does not follow on the one before in its incarnation."""
    epoch = events.ints("group_epoch")
    before = of_rows(epoch, operations.of_incarnation.last(epoch != NULL, before=True))
    return np.asarray((epoch != NULL) & (before != NULL) & (epoch != before) & (epoch != before + 1))


def _of_partitions(
    events: Events, snapshots: Snapshots, known: Mapping[int, PartitionHistory]
) -> tuple[Ints, Bools, Ints]:
    """Return of each event its partition's stretch, whether the partition's head is missing, and the breaks before it.

    A snapshot is what the last read before left.
    """
    partition, offset = events.ints("partition"), events.ints("offset")
    stretch, head_missing = np.full(len(events), NONE), np.zeros(len(events), bool)
    breaks_before = np.zeros(len(events), np.int64)
    read_up_to = np.where(snapshots.is_snapshot, snapshots.until - 1, offset)
    bounds = np.append(np.flatnonzero(differs(partition)), len(events))
    for begin, end in pairwise(bounds):
        if (of_partition := known.get(int(partition[begin]))) is not None:
            stretch[begin:end] = of_partition.stretch(offset[begin:end])
            head_missing[begin:end] = of_partition.head_missing
            breaks_before[begin:end] = np.searchsorted(of_partition.breaks, read_up_to[begin:end], side="right")
    return stretch, head_missing, breaks_before


def history(*, is_seen: Column, has_end: Column) -> Column:
    """Return what is known of an interval: observed, left_censored, right_censored, or censored (both).

    `is_seen`: no record is missing from its begin to its end, or to the end of the log.
    """
    return (
        F.when(is_seen & has_end, OBSERVED)
        .when(is_seen, RIGHT_CENSORED)
        .when(has_end, LEFT_CENSORED)
        .otherwise(CENSORED)
    )
