"""Nodes that hold others: arrays, structs, structs that may be null."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar.errors import Error, Malformed
from kip848_records.protocol.columnar.leaves import list_array
from kip848_records.protocol.columnar.lengths import read_uvarint, uvarint_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kip848_records.protocol.columnar.cursors import Cursors, Mask, Offsets
    from kip848_records.protocol.columnar.lengths import Count
    from kip848_records.protocol.columnar.node import Node

FEW_ROWS = 8
"""So few rows are walked one by one: a step on arrays costs what some ten steps on single rows do."""

_NEGATIVE = 0x80


@dataclass(frozen=True)
class List:
    """An array of values that are not all of one size."""

    element: Node
    count: Count

    @property
    def smallest(self) -> int:
        """That of an empty one."""
        return self.count.length.size

    def read(self, cursors: Cursors) -> list[pa.Array]:
        """As `Node.read`."""
        count, null = self.count.read(cursors)
        offsets = np.zeros(len(count) + 1, np.int64)
        np.cumsum(count, out=offsets[1:])
        if count.max(initial=0) > 1:
            (elements,) = self.element.read(self._locate(count, offsets, cursors))
        else:
            (elements,) = read_some(self.element, np.flatnonzero(count), cursors)
        return [list_array(offsets.astype(np.int32), elements, null)]

    def skip(self, cursors: Cursors) -> None:
        """As `Node.skip`."""
        count, _ = self.count.read(cursors)
        self._walk(count, cursors, count, None)

    def skip_one(self, data: memoryview, pos: int, end: int) -> int:
        """As `Node.skip_one`."""
        count, pos = self.count.at(data, pos, end)
        for _ in range(count):
            pos = self.element.skip_one(data, pos, end)
        return pos

    def _locate(self, count: Offsets, offsets: Offsets, cursors: Cursors) -> Cursors:
        """Move past the elements and return a cursor for each, in order."""
        starts = np.empty(int(offsets[-1]), np.int64)
        self._walk(count, cursors, offsets[:-1], starts)
        if cursors.outcome.any_failed:
            starts[np.repeat(cursors.parked(), count)] = cursors.encoded.size
        return cursors.elsewhere(starts, np.repeat(cursors.end, count), lambda: np.repeat(cursors.rows(), count))

    def _walk(self, count: Offsets, cursors: Cursors, first: Offsets, starts: Offsets | None) -> None:
        """Move past the elements; note in `starts` where each starts, those of a row from slot `first` on.

        The walk goes over the element's index, each time with the rows that still have one.
        """
        index = 0
        rows = np.flatnonzero(count)
        part = cursors.at(rows)
        while len(rows) > FEW_ROWS:
            if starts is not None:
                starts[first[rows] + index] = part.pos
            self.element.skip(part)
            index += 1
            more = np.flatnonzero(part.unparked(count[rows]) > index)
            if len(more) < len(rows):
                cursors.put(rows, part)
                rows, part = rows[more], part.at(more)
        for row in rows:
            slots = slice(first[row] + index, first[row] + count[row])
            self._walk_row(int(row), int(count[row]) - index, cursors, None if starts is None else starts[slots])
"""
