"""A stretch of events in order, as NumPy columns."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.timeline import windows
from kip848_records.timeline.windows import NO_VALUE, NONE

if TYPE_CHECKING:
    from kip848_records.timeline.windows import Bools, Ints


class Events:
    """The events of whole groups, each column converted once. A group's are together: its snapshot, then by offset."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self.times: pa.DataType = rows.schema.field("timestamp").type
        self._ints = cache(lambda name: windows.ints(rows[name]))
        self._bools = cache(lambda name: windows.bools(rows[name]))
        # Not by way of `self`: a stretch is to be gone when the next one comes, not when a collector finds its cycle.
        self._whole = whole = cache(lambda name: _whole(rows[name]))
        self._encoded = encoded = cache(lambda name: whole(name).dictionary_encode())
        self._codes = cache(lambda name: windows.ints(pa.chunked_array([encoded(name).indices]), NO_VALUE))

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def whole(self, name: str) -> pa.Array:
        """Return a column in one piece."""
        return self._whole(name)

    def ints(self, name: str) -> Ints:
        """Return a column of numbers or timestamps (µs), `NULL` for null."""
        return self._ints(name)

    def bools(self, name: str) -> Bools:
        """Return a column of truth values, false for null."""
        return self._bools(name)

    def codes(self, name: str) -> Ints:
        """Return a number for each value of a column, the same for the same; `NO_VALUE` for null."""
        return self._codes(name)

    def taken(self, name: str, rows: Ints) -> pa.Array:
        """Return the values of a column in these rows; null for NONE."""
        return self.whole(name).take(pa.array(rows, mask=rows == NONE))

    def ids(self, name: str, codes: Ints) -> pa.Array:
        """Return the values that numbers of `codes` stand for; null for `NO_VALUE` and `NULL`."""
        return self._encoded(name).dictionary.take(pa.array(codes, mask=codes < 0))

    def ranks(self, name: str) -> Ints:
        """Return the place of the value that each number of `codes` stands for, in the order of the values."""
        values = self._encoded(name).dictionary
        ranks = np.empty(len(values), np.int64)
        ranks[pc.array_sort_indices(values).to_numpy()] = np.arange(len(values))
        return ranks

    def groups(self) -> Ints:
        """Return a number for each (partition, group id): those of one follow each other."""
        return np.cumsum(windows.differs(self.ints("partition"), self.codes("group_id")))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
