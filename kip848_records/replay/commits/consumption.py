"""For how long a rebalance stopped the consumption of a partition, by the progress of its offset commits: an estimate.

A commit of a higher offset than all before proves that the partition was consumed. Other commits do not: clients also
commit the position that they were given. So the stop lasted at most from the first commit of the highest offset before
the rebalance to the first commit of a higher one behind it.

There can be a thousand times as many commits as rebalances, hundreds of gigabytes. So they are neither replayed nor
turned into Python objects: the engine sorts those of partitions that some rebalance stopped by partition and offset,
with the marks of rebalances among them. Here one pass goes over the sorted columns.
Its memory is the state of one partition: the highest offset, and how often each step between two commits occurred.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kip848_records.replay.arrow_rows import to_batch
from kip848_records.replay.commits.partition_progress import Partition, Progress, Stop
from kip848_records.replay.group.known_history import CENSORED, LEFT_CENSORED, OBSERVED, RIGHT_CENSORED
from kip848_records.replay.rows import row_class
from kip848_records.specs.consumption_stop import CONSUMPTION_STOP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from kip848_records.replay.inputs import PartitionCoverage

    Ints = NDArray[np.int64]

COMMIT: Final = 0
TOMBSTONE: Final = 1
USUAL_UNTIL: Final = 2
USUAL_FROM: Final = 3
STOP: Final = 4
"""What a row of the input is: a commit or its tombstone; the end and the begin of the generation before a rebalance,
whose steps are the usual ones; and the round that stopped the partition. Rows of one offset are in this order: a
generation may begin with the record that ends the one before."""

BATCH_SIZE: Final = 10_000
KEY: Final = ("offsets_partition", "number")
"""The columns that name a partition of a group: the number is one among those of a partition of the log."""

_OF_MARK: Final = ("offsets_partition", "group_id", "topic", "partition", "incarnation", "group_type", "epoch", "kind")
_US_PER_MS: Final = 1000


ConsumptionStop: Final = row_class("ConsumptionStop", CONSUMPTION_STOP)


def consumption_stops(
    coverage: Mapping[int, PartitionCoverage], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield rows of `ConsumptionStop` in batches.

    The input is sorted by `KEY`, `at_offset` (in the partition of `__consumer_offsets`) and `what` (see `STOP`). A
    commit has `committed` and `timestamp`; a stop has `mark`, the columns of `rows.StoppedPartition` as JSON.
    """
    stops = _Stops(coverage)
    for batch in batches:
        yield from stops.take(batch)
    yield from stops.end()


class _Stops:
    """One partition after the other, and the rows that wait for their batch."""

    def __init__(self, coverage: Mapping[int, PartitionCoverage]) -> None:
        self._ranges = {number: each.complete_ranges for number, each in coverage.items()}
        self._partition: Partition | None = None
        self._rows: list[tuple[Any, ...]] = []

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Add the next rows; yield a batch if it is full."""
        if not batch.num_rows:
            return
        what, offsets, committed, times = _columns(batch)
        is_new = _is_new(batch)
        marks = np.flatnonzero(is_new | (what != COMMIT))
        bounds = [*marks.tolist(), batch.num_rows]
        for row, end in pairwise(bounds):
            partition = self._partition
            if partition is None or is_new[row]:
                partition = self._begin(tuple(batch[name][row].as_py() for name in KEY))
            first = row
            if what[row] != COMMIT:
                self._mark(partition, int(what[row]), batch, row)
                first = row + 1
            if first < end:
                self._commit(partition, offsets[first:end], committed[first:end], times[first:end])
        if len(self._rows) >= BATCH_SIZE:
            yield self._batch()

    def end(self) -> Iterator[pa.RecordBatch]:
        """End the last partition; yield the rows that wait."""
        self._end()
        if self._rows:
            yield self._batch()

    def _begin(self, key: tuple[Any, ...]) -> Partition:
        partition = self._partition
        if partition is None or partition.key != key:  # a batch may begin within a partition
            self._end()
            partition = self._partition = Partition(key)
        return partition

    def _end(self) -> None:
        if self._partition is not None:
            self._emit_pending(self._partition, None)
        self._partition = None

    def _commit(self, partition: Partition, offsets: Ints, committed: Ints, times: Ints) -> None:
        """Add consecutive commits."""
        before = partition.highest
        highest = np.maximum.accumulate(committed)
        reached = np.concatenate([[-1 if before is None else before.committed], highest[:-1]])
        places = np.flatnonzero(committed > reached)
        partition.last_at = int(times[-1])
        if not len(places):
            return
        if before is not None and partition.pending:
            place = int(places[0])
            first = Progress(int(committed[place]), int(times[place]), int(offsets[place]))
            self._emit_pending(partition, first)
        step_ms = partition.count_steps(times[places])
        last = int(places[-1])
        partition.highest = Progress(int(committed[last]), int(times[last]), int(offsets[last]), step_ms)

    def _mark(self, partition: Partition, what: int, batch: pa.RecordBatch, row: int) -> None:
        if what == TOMBSTONE:
            self._emit_pending(partition, None)
            partition.highest = None
        elif what == USUAL_FROM:
            partition.begin_generation()
        elif what == USUAL_UNTIL:
            partition.end_generation()
        elif partition.highest is not None:
            partition.pending.append(_stop(partition, partition.highest, batch, row))

    def _emit_pending(self, partition: Partition, first: Progress | None) -> None:
        """End the stops of a partition with the first progress behind them; None if there is none."""
        for stop in partition.pending:
            self._emit(stop, first)
        partition.pending.clear()

    def _emit(self, stop: Stop, first: Progress | None) -> None:
        mark, last, usual_ms = stop.mark, stop.last, stop.usual_ms
        stop_max_ms = stop_min_ms = None
        if first is not None:
            stop_max_ms = first.at - last.at if first.at >= last.at else None
            if stop_max_ms is not None and usual_ms is not None and mark["is_one_round"]:
                stop_min_ms = max(0, stop_max_ms - 2 * usual_ms)
        is_idle = usual_ms is None or stop.idle_before_ms > 2 * usual_ms
        rebalance_offset = None if mark["rebalance_offset"] < 0 else mark["rebalance_offset"]
        stopped = ConsumptionStop(
            **{name: mark[name] for name in _OF_MARK},
            offset=mark["offset"],
            rebalance_offset=rebalance_offset,
            last_progress_at=last.at,
            first_progress_at=None if first is None else first.at,
            usual_ms=usual_ms,
            idle_before_ms=stop.idle_before_ms,
            stop_min_ms=stop_min_ms,
            stop_max_ms=stop_max_ms,
            is_idle=is_idle,
            history=self._history(mark, last, first),
        )
        self._rows.append(stopped)

    def _history(self, mark: Mapping[str, Any], last: Progress, first: Progress | None) -> str:
        """Return the history: both commits, and all between them, must lie where no commit was removed unseen."""
        end = mark["offset"] if first is None else first.offset
        is_seen = mark["history"] == OBSERVED and any(
            begin <= last.offset and end < after for begin, after in self._ranges.get(mark["offsets_partition"], ())
        )
        if first is None:
            return RIGHT_CENSORED if is_seen else CENSORED
        return OBSERVED if is_seen else LEFT_CENSORED

    def _batch(self) -> pa.RecordBatch:
        rows, self._rows = self._rows, []
        return to_batch(ConsumptionStop, rows)


def _stop(partition: Partition, last: Progress, batch: pa.RecordBatch, row: int) -> Stop:
    """Return the stop of a rebalance after the last progress."""
    mark = json.loads(batch["mark"][row].as_py())
    usual_ms = None if mark["round_before"] < 0 else partition.usual_ms()
    return Stop(mark, last, max(0, partition.last_at - last.at), usual_ms)


def _columns(batch: pa.RecordBatch) -> tuple[Ints, Ints, Ints, Ints]:
    """Return what each row is, its offset in `__consumer_offsets`, the committed offset, and the time in ms."""
    micros = batch["timestamp"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    columns = (
        batch["what"].cast(pa.int64()),
        batch["at_offset"],
        batch["committed"].fill_null(-1),
        micros.fill_null(0),
    )
    what, offsets, committed, times = (column.to_numpy(zero_copy_only=False) for column in columns)
    return what, offsets, committed, times // _US_PER_MS


def _is_new(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    """Return which rows are of another partition than the row before; the first row counts as one."""
    is_new = np.zeros(batch.num_rows, bool)
    is_new[0] = True
    for name in KEY:
        numbers = batch[name].to_numpy()
        is_new[1:] |= numbers[1:] != numbers[:-1]
    return is_new
