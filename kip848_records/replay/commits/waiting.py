"""Rows that wait for a commit of a higher offset, which may come in a later chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kip848_records.replay.commits.arrays import NONE, first_at_least

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.replay.commits.chunk import Chunk

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


class Waiting:
    """The rows of the last group that wait. In the next chunk, rows of `what` name their places."""

    def __init__(self, schema: pa.Schema, what: int) -> None:
        self._rows = schema.empty_table()
        self._what = what

    def taken(self, chunk: Chunk) -> tuple[Ints, pa.Table]:
        """Return the places in `Chunk.order` of what waits, and its rows."""
        places = np.flatnonzero(chunk.what[chunk.order] == self._what)
        return places, self._rows.take(pa.array(chunk.number[chunk.order[places]]))

    def keep(self, chunk: Chunk, places: Ints, rows: pa.Table, is_open: Bools) -> tuple[pa.Table, pa.Table]:
        """Keep the rows that are open; return the others, and the rows that name the open ones in the next chunk."""
        self._rows = rows.filter(pa.array(is_open))
        names = chunk.order[places[is_open]]
        return rows.filter(pa.array(~is_open)), chunk.rows_as(names, self._what, number=np.arange(len(names)))


def reached(chunk: Chunk, places: Ints, begins: Ints, bounds: Ints) -> Ints:
    """Return the place of the first commit of at least a bound, from each begin on; `NONE` without one.

    `places`: places in `Chunk.order` of the partitions whose commits count.
    """
    offsets = np.where(chunk.k_is_value, chunk.committed[chunk.order], NONE)
    found = first_at_least(offsets, begins, bounds)
    return np.where(found < ends_of_keys(chunk, places), found, NONE)


def ends_of_keys(chunk: Chunk, places: Ints) -> Ints:
    """Return the place behind the last row of the partition of each place."""
    keys = chunk.key[chunk.order]
    return np.searchsorted(keys, keys[places], side="right")
