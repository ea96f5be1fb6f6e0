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
from kip848_records.protocol.columnar.scatter import scatter

if TYPE_CHECKING:
    from kip848_records.protocol.columnar.cursors import Cursors, Mask, Offsets
    from kip848_records.protocol.columnar.lengths import Count
    from kip848_records.protocol.columnar.node import Node
    from kip848_records.protocol.schema import Struct

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
        most = int(count.max(initial=0))
        if not most:
            (values,) = self.element.read(cursors.at(offsets[:0]))
            return [list_array(offsets.astype(np.int32), values, null)]
        np.cumsum(count, out=offsets[1:])
        (held,) = (count > 0).nonzero()
        if most == 1:
            (values,) = read_some(self.element, held, cursors)
        else:
            elements = self._locate(count, offsets, held, cursors)
            (values,) = self.element.read(elements)
            cursors.put(held, elements.at(offsets[held + 1] - 1))
        return [list_array(offsets.astype(np.int32), values, null)]

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

    def _locate(self, count: Offsets, offsets: Offsets, held: Offsets, cursors: Cursors) -> Cursors:
        """Return a cursor for each element, in order; the cursors move to the last elements of their rows.

        What is behind a last element is known when the elements have been read, so it need not be walked past.
        """
        starts = np.empty(int(offsets[-1]), np.int64)
        self._walk(count - 1, cursors, offsets, starts)
        starts[offsets[held + 1] - 1] = cursors.pos[held]
        if cursors.outcome.any_failed:
            starts[np.repeat(cursors.parked(), count)] = cursors.encoded.size
        return cursors.elsewhere(starts, np.repeat(cursors.end, count), lambda: np.repeat(cursors.rows(), count))

    def _walk(self, count: Offsets, cursors: Cursors, first: Offsets, starts: Offsets | None) -> None:
        """Move past `count` elements, if any; note where each starts in `starts`, those of a row from `first` on.

        The walk goes over the element's index, each time with the rows that still have one.
        """
        index = 0
        (rows,) = (count > 0).nonzero()
        part = cursors.at(rows)
        while len(rows) > FEW_ROWS:
            if starts is not None:
                starts[first[rows] + index] = part.pos
            self.element.skip(part)
            index += 1
            (more,) = (part.unparked(count[rows]) > index).nonzero()
            if len(more) < len(rows):
                cursors.put(rows, part)
                rows, part = rows[more], part.at(more)
        self._walk_singly(rows, index, count, cursors, first, starts)

    def _walk_singly(  # noqa: PLR0913, PLR0917
        self, rows: Offsets, index: int, count: Offsets, cursors: Cursors, first: Offsets, starts: Offsets | None
    ) -> None:
        part = cursors.apart(rows)
        data = cursors.encoded.bytes
        for place, row in enumerate(rows):
            pos, end, visited = int(part.pos[place]), int(part.end[place]), []
            try:
                for _ in range(int(count[row]) - index):
                    visited.append(pos)
                    pos = self.element.skip_one(data, pos, end)
            except Malformed as malformed:
                part.fail_one(place, malformed)
            else:
                part.pos[place] = pos
                if starts is not None:
                    starts[first[row] + index : first[row] + count[row]] = visited
        if len(rows):
            cursors.put(rows, part)


@dataclass(frozen=True)
class Record:
    """A struct: its nodes one after the other."""

    kind: Struct
    steps: tuple[tuple[Node, tuple[int, ...]], ...]
    """The nodes, with the places in `kind` of the fields that each reads."""

    @cached_property
    def smallest(self) -> int:
        """The sum of all nodes."""
        return sum(node.smallest for node, _ in self.steps)

    @cached_property
    def arrow_fields(self) -> list[pa.Field]:
        """The fields of the Arrow struct."""
        return list(self.kind.arrow)

    def read(self, cursors: Cursors) -> list[pa.Array]:
        """As `Node.read`; fields that this version does not have are null."""
        read: dict[int, pa.Array] = {}
        for node, places in self.steps:
            read.update(zip(places, node.read(cursors), strict=True))
        columns = [
            read[place] if place in read else pa.nulls(len(cursors), field.type)
            for place, field in enumerate(self.arrow_fields)
        ]
        return [pa.StructArray.from_arrays(columns, fields=self.arrow_fields)]

    def skip(self, cursors: Cursors) -> None:
        """As `Node.skip`."""
        for node, _ in self.steps:
            node.skip(cursors)

    def skip_one(self, data: memoryview, pos: int, end: int) -> int:
        """As `Node.skip_one`."""
        for node, _ in self.steps:
            pos = node.skip_one(data, pos, end)
        return pos


@dataclass(frozen=True)
class NullableRecord:
    """A struct behind a marker that says whether it is there.

    A field of its own has an int8, negative for null; a tagged one has a varint, 0 for null.
    """

    record: Record
    tagged: bool
    smallest: int = 1

    def read(self, cursors: Cursors) -> list[pa.Array]:
        """As `Node.read`."""
        (present,) = self._exists(cursors).nonzero()
        (values,) = read_some(self.record, present, cursors)
        return [scatter(values, present, len(cursors))]

    def skip(self, cursors: Cursors) -> None:
        """As `Node.skip`."""
        (present,) = self._exists(cursors).nonzero()
        part = cursors.at(present)
        self.record.skip(part)
        cursors.put(present, part)

    def _exists(self, cursors: Cursors) -> Mask:
        start = cursors.pos
        if self.tagged:
            exists = read_uvarint(cursors) > 0
        else:
            exists = cursors.encoded.data.take(start) < _NEGATIVE
            cursors.pos = start + 1
        cursors.fail(cursors.pos > cursors.end, Error.TRUNCATED, start)
        return exists

    def skip_one(self, data: memoryview, pos: int, end: int) -> int:
        """As `Node.skip_one`."""
        if self.tagged:
            marker, after = uvarint_at(data, pos, end)
            exists = marker > 0
        elif pos >= end:
            raise Malformed(Error.TRUNCATED, pos)
        else:
            exists, after = data[pos] < _NEGATIVE, pos + 1
        return self.record.skip_one(data, after, end) if exists else after


def read_some(node: Node, index: Offsets, cursors: Cursors) -> list[pa.Array]:
    """Read a node at some of the cursors, `index` ascending, and move those on."""
    if len(index) == len(cursors):
        return node.read(cursors)
    part = cursors.at(index)
    values = node.read(part)
    cursors.put(index, part)
    return values
