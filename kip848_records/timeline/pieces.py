"""What comes to a Python worker is told in pieces of some MB: whole groups together, and a large group one by one.

A large group is told up to the last time that nothing was open in it, and on from there by a snapshot: as if one night
had ended there, and the next one begun (`snapshots`).
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.timeline.censoring import jumps
from kip848_records.timeline.columns import Events
from kip848_records.timeline.handovers import ownership
from kip848_records.timeline.operations import GROUP, LOST, LOST_TO_ANY
from kip848_records.timeline.operations import operations as operations_of
from kip848_records.timeline.settled import settled_until, tells_of_the_past
from kip848_records.timeline.snapshots import Snapshots, snapshot_at
from kip848_records.timeline.states import judge
from kip848_records.timeline.story import story
from kip848_records.timeline.told import told
from kip848_records.timeline.windows import NULL, Window, differs

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
        for rows in _in_pieces(groups, known, size):
            yield from rows.to_batches(max_chunksize=max(1, rows.num_rows * _BATCH // max(rows.nbytes, _BATCH)))


def whole_groups(batches: Iterable[pa.RecordBatch], size: int = _STRETCH) -> Iterator[pa.Table]:
    """Yield what comes in tables of whole groups, each of that many bytes or more if there are so many."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        still = batch.num_rows if count < size else _rows_of_group(batch, waiting[-1])
        waiting.append(batch.slice(0, still))
        count += waiting[-1].nbytes
        if still < batch.num_rows:
            yield pa.Table.from_batches(waiting)
            waiting = [batch.slice(still)]
            count = waiting[-1].nbytes
    if waiting:
        yield pa.Table.from_batches(waiting)


def _rows_of_group(batch: pa.RecordBatch, before: pa.RecordBatch) -> int:
    """Return how many of the first rows are of the same group as the last one before."""
    is_same = reduce(pc.and_, (pc.equal(batch[name], before[name][-1]) for name in GROUP))
    first_other = pc.index(is_same, value=False).as_py()
    return batch.num_rows if first_other < 0 else int(first_other)


def _in_pieces(groups: pa.Table, known: Mapping[int, PartitionHistory], size: int) -> Iterator[pa.Table]:
    """Yield what is told of whole groups: of the last one in pieces, if it is large."""
    limit = 2 * size
    if groups.nbytes > limit:
        begin = int(np.flatnonzero(differs(Events(groups).groups()))[-1])
        last = groups.slice(begin)
        if last.nbytes > limit and not _is_one_piece(last):
            if begin:
                yield told(groups.slice(0, begin), known)
            yield from _of_large(last, known, size)
            return
    yield told(groups, known)


def _is_one_piece(group: pa.Table) -> bool:
    """Return whether some records of a group say something of those before, however long ago they were."""
    events = Events(group)
    of_group = Window(events.groups(), are_together=True)
    of_it = operations_of(events, of_group, Snapshots.of(events, of_group))
    is_lost = np.isin(events.ints("key_type"), (LOST, LOST_TO_ANY)) | (events.ints("last_loss") != NULL)
    return bool((is_lost | jumps(events, of_it) | tells_of_the_past(events, of_it)).any())


def _of_large(group: pa.Table, known: Mapping[int, PartitionHistory], size: int) -> Iterator[pa.Table]:
    """Yield what is told of one group, piece by piece; snapshots tell only what becomes of those in them."""
    usual = count = max(1, group.num_rows * size // group.nbytes)
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
    yield _without_judgement(told(pa.concat_tables([snapshot, group.slice(begin)]), known), len(snapshot))


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
