"""What comes to a Python worker is told in pieces of some MB: whole groups together, and a large group bit by bit.

A large group is told up to the last time that nothing was open in it, and on from there by a snapshot: as if one night
had ended there, and the next one begun (`snapshots`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kip848_records.timeline.censoring import jumps
from kip848_records.timeline.columns import Events
from kip848_records.timeline.handovers import ownership
from kip848_records.timeline.operations import LOSSES, TARGET_ASSIGNMENT
from kip848_records.timeline.operations import operations as operations_of
from kip848_records.timeline.settled import settled_until, tells_of_the_past
from kip848_records.timeline.snapshots import Snapshots, last_of_keys, live_keys, snapshot_at
from kip848_records.timeline.states import judge
from kip848_records.timeline.story import story
from kip848_records.timeline.told import told
from kip848_records.timeline.whole_groups import LargeGroup, whole_groups
from kip848_records.timeline.windows import NONE, NULL, Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kip848_records.timeline.censoring import PartitionHistory

_STRETCH: Final = 8 << 20
"""Bytes from which on whole groups are told: some ten thousand records, enough for NumPy. A worker needs up to thirty
times as much while it tells them."""
_BATCH: Final = 4 << 20
"""About how many bytes go back to Spark at once."""


def tell(
    known: Mapping[int, PartitionHistory], batches: Iterable[pa.RecordBatch], size: int = _STRETCH
) -> Iterator[pa.RecordBatch]:
    """Yield events with what is known of each (`told.TOLD`). They come by partition and group id, a snapshot first."""
    for groups in whole_groups(batches, size):
        for rows in _told(groups, known, size):
            yield from rows.to_batches(max_chunksize=max(1, rows.num_rows * _BATCH // max(rows.nbytes, _BATCH)))
        del groups  # a large one has a file


def _told(groups: pa.Table | LargeGroup, known: Mapping[int, PartitionHistory], size: int) -> Iterator[pa.Table]:
    if isinstance(groups, pa.Table):
        yield told(groups, known)
    elif _is_one_piece(groups, size):
        yield told(groups.slice(0, groups.num_rows), known)
    else:
        yield from _told_in_pieces(groups, known, size)


def _is_one_piece(group: LargeGroup, size: int) -> bool:
    """Return whether some records of a group say something of those before, however long ago they were."""
    usual = _rows_of(size, group)
    before = group.slice(0, 0)
    begin = 0
    while begin < group.num_rows:
        count = max(usual, before.num_rows)
        rows = pa.concat_tables([before, group.slice(begin, count)]).combine_chunks()
        events = Events(rows)
        of_group = Window(events.groups(), are_together=True)
        of_it = operations_of(events, of_group, Snapshots.of(events, of_group))
        is_lost = np.isin(events.ints("key_type"), LOSSES) | (events.ints("last_loss") != NULL)
        if (is_lost | jumps(events, of_it) | tells_of_the_past(events, of_it)).any():
            return True
        # What comes next is compared with the last record of each key, with the group's own deletion, and with the last
        # assignment, though it be deleted.
        is_last, is_assignment = last_of_keys(events), events.ints("key_type") == TARGET_ASSIGNMENT
        assigned = of_it.of_incarnation.last(events.ints("assignment_epoch") != NULL)[-1]
        stays = live_keys(events) | is_last & (of_it.deletes | is_assignment)
        if assigned != NONE:
            stays[assigned] = True
        before = rows.filter(pa.array(stays))
        begin += count
    return False


def _told_in_pieces(group: LargeGroup, known: Mapping[int, PartitionHistory], size: int) -> Iterator[pa.Table]:
    """Yield what is told of one group, piece by piece; snapshots tell only what becomes of those in them."""
    usual = count = _rows_of(size, group)
    snapshot = group.slice(0, 0)
    begin = 0
    while begin + count < group.num_rows:
        rows = pa.concat_tables([snapshot, group.slice(begin, count)])
        cut = _settled_at(rows, known)
        if cut is None:
            count *= 2
            continue
        place, next_snapshot = cut
        # Told anew up to there: what the rows behind tell of members goes with rows of theirs before.
        yield _without_judgement(told(rows.slice(0, place), known), len(snapshot))
        begin += place - len(snapshot)
        snapshot, count = next_snapshot, max(usual, len(next_snapshot))
    yield _without_judgement(told(pa.concat_tables([snapshot, group.slice(begin, count)]), known), len(snapshot))


def _rows_of(size: int, group: LargeGroup) -> int:
    return max(1, group.num_rows * size // group.nbytes)


def _settled_at(rows: pa.Table, known: Mapping[int, PartitionHistory]) -> tuple[int, pa.Table] | None:
    """Return behind how many rows a group had settled for the last time, and a snapshot of it; None if it had not.

    The last operation may go on.
    """
    so_far = story(rows, known)
    events, operations, history = so_far.events, so_far.operations, so_far.history
    until = settled_until(so_far, ownership(so_far), judge(events, operations, history))
    is_over = operations.operation != operations.operation[-1]
    places = np.flatnonzero((until != NULL) & is_over & ~so_far.snapshots.is_snapshot)
    if not len(places):
        return None
    last = int(places[-1])
    seen_from = None if history.seen_from[last] == NULL else int(history.seen_from[last])
    of_it = {
        "incarnation": int(operations.incarnation[last]),
        "seen_from": seen_from,
        "is_whole": bool(history.is_whole[last]),
        # The piece before has told when the group's state began.
        "from_offset": rows["offset"][last].as_py(),
        "from_at": rows["timestamp"][last],
        "until": int(until[last]),
    }
    return last + 1, snapshot_at(rows.slice(0, last + 1), of_it)


def _without_judgement(told_rows: pa.Table, count: int) -> pa.Table:
    """Take back what is said of the group as of a snapshot, the first rows: the piece before has told it."""
    place = told_rows.schema.get_field_index("judged")
    judged = told_rows["judged"].combine_chunks()
    without = pa.concat_arrays([pa.nulls(count, judged.type), judged.slice(count)])
    return told_rows.set_column(place, told_rows.schema.field(place), without)
