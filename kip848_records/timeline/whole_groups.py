"""What comes to a Python worker, as whole groups: many of them in one table, and a large one in a file."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from contextlib import suppress
from functools import reduce
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING
from weakref import finalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.timeline.columns import Events
from kip848_records.timeline.operations import GROUP
from kip848_records.timeline.windows import differs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class LargeGroup:
    """The rows of one group, in order, in a file that goes with them: as many as there is disk for.

    `num_rows`: how many there are. `nbytes`: what all of them would take in memory.
    """

    def __init__(self, rows: pa.Table) -> None:
        self._file = _new_file()
        finalize(self, self._file.close)
        self._writer = pa.ipc.new_file(self._file, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
        self._reader: pa.RecordBatchFileReader | None = None
        self._ends: list[int] = []
        self.num_rows = self.nbytes = 0
        for batch in rows.to_batches():
            self.append(batch)

    def append(self, batch: pa.RecordBatch) -> None:
        """Add rows behind those that are there; not once any were asked for."""
        if batch.get_total_buffer_size() > 2 * batch.nbytes:  # a slice: of lists in lists Arrow would write the whole
            batch = batch.take(pa.array(range(batch.num_rows)))
        self._writer.write_batch(batch)
        self.num_rows += batch.num_rows
        self.nbytes += batch.nbytes
        self._ends.append(self.num_rows)

    def slice(self, begin: int, count: int) -> pa.Table:
        """Return that many rows from one on, or as many as there are."""
        if self._reader is None:
            self._writer.close()
            self._reader = pa.ipc.open_file(self._file)
        end = min(begin + count, self.num_rows)
        first, last = bisect_right(self._ends, begin), bisect_left(self._ends, end)
        batches = [self._reader.get_batch(place) for place in range(first, last + 1) if begin < end]
        skipped = self._ends[first - 1] if first else 0
        return pa.Table.from_batches(batches, self._reader.schema).slice(begin - skipped, end - begin)


def _new_file() -> IO[bytes]:
    """Return a file beside Spark's own, unless these are not for us: Python's default may be on a small disk."""
    for folder in filter(None, os.environ.get("SPARK_LOCAL_DIRS", "").split(",")):
        with suppress(OSError):
            return TemporaryFile(dir=folder)
    return TemporaryFile()


def whole_groups(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table | LargeGroup]:
    """Yield what comes in whole groups, of that many bytes or more if there are so many.

    A group that takes more than twice as many, and does not end with the batch in which it does, comes by itself.
    """
    rows: _Waiting | LargeGroup = _Waiting()
    before: pa.RecordBatch | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        may_end = before is not None and (isinstance(rows, LargeGroup) or rows.nbytes >= size)
        still = _rows_of_group(batch, before) if may_end else batch.num_rows
        if still:
            rows.append(batch.slice(0, still))
        if still < batch.num_rows:
            yield rows.table() if isinstance(rows, _Waiting) else rows
            rows = _Waiting()
            rows.append(batch.slice(still))
        if isinstance(rows, _Waiting) and rows.nbytes > 2 * size:
            others, large = _with_last_apart(rows.table(), 2 * size)
            if large is not None:
                if others.num_rows:
                    yield others
                rows = large
            del others, large  # not to be held until the next one
        before = batch
    if before is not None:
        yield rows.table() if isinstance(rows, _Waiting) else rows


class _Waiting:
    """Rows of whole groups, and of one that may go on."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self.nbytes = 0

    def append(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)
        self.nbytes += batch.nbytes

    def table(self) -> pa.Table:
        return pa.Table.from_batches(self._batches)


def _with_last_apart(rows: pa.Table, limit: int) -> tuple[pa.Table, LargeGroup | None]:
    """Return the rows of all groups but the last, and that one by itself, if it takes more bytes than that."""
    begin = int(np.flatnonzero(differs(Events(rows).groups()))[-1])
    last = rows.slice(begin)
    return rows.slice(0, begin), LargeGroup(last) if last.nbytes > limit else None


def _rows_of_group(batch: pa.RecordBatch, before: pa.RecordBatch) -> int:
    """Return how many of the first rows are of the same group as the last one before."""
    is_same = reduce(pc.and_, (pc.equal(batch[name], before[name][-1]) for name in GROUP))
    first_other = pc.index(is_same, value=False).as_py()
    return batch.num_rows if first_other < 0 else int(first_other)
