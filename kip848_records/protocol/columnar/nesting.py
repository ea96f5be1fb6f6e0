"""Nodes with child nodes: arrays, structs, structs that may be null."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar.cursors import chosen
from kip848_records.protocol.columnar.errors import Error, Malformed
from kip848_records.protocol.columnar.leaves import Run, list_array
from kip848_records.protocol.columnar.lengths import read_uvarint, uvarint_at
from kip848_records.protocol.columnar.scatter import scatter
from kip848_records.protocol.columnar.walk import walk

if TYPE_CHECKING:
    from kip848_records.protocol.columnar.cursors import Cursors, Mask, Offsets
    from kip848_records.protocol.columnar.lengths import Count
    from kip848_records.protocol.columnar.node import Node
    from kip848_records.protocol.schema import Array, Struct

FEW_ROWS = 8
"""Up to this number, rows are walked one by one: a step on arrays costs as much as some ten steps on single rows."""

FEW_LONG_ROWS = 100
"""Up to this number, long rows are walked one by one: their elements are guessed, see `walk`."""

_NEGATIVE = 0x80


@dataclass(frozen=True)
class List:
    """An array of values with different sizes."""

    kind: Array
    element: Node
    count: Count

    @cached_property
    def no_values(self) -> pa.Array:
        """The content of lists that are all empty."""
        return pa.nulls(0, self.kind.element.arrow)

    @property
    def smallest(self) -> int:
        """The size of an empty one."""
        return self.count.length.size

    @property
    def size_byte(self) -> int:
        """The byte of the count."""
        return self.count.length.size - 1

    def read(self, cursors: Cursors) -> list[pa.Array]:
        """As `Node.read`."""
        count, null = self.count.read(cursors)
        (held,) = count.nonzero()
        if not len(held):
            return [list_array(self.kind, np.zeros(len(count) + 1, np.int32), self.no_values, null)]
        offsets = np.zeros(len(count) + 1, np.int64)
        np.cumsum(count, out=offsets[1:])
        if offsets[-1] == len(held):
            (values,) = read_some(self.element, held, cursors)
        else:
            last = chosen(offsets[1:], held) - 1
            elements = self._locate(count, offsets, held, last, cursors)
            (values,) = self.element.read(elements)
            cursors.put(held, elements.at(last))
        return [list_array(self.kind, offsets.astype(np.int32), values, null)]

    def skip(self, cursors: Cursors) -> None:
        """As `Node.skip`."""
        count, _ = self.count.read(cursors)
        self._walk(count, cursors, count, None)

    def skip_one(self, data: bytes, pos: int, end: int) -> int:
        """As `Node.skip_one`."""
        count, pos = self.count.at(data, pos, end)
        for _ in range(count):
            pos = self.element.skip_one(data, pos, end)
        return pos

    def _locate(self, count: Offsets, offsets: Offsets, held: Offsets, last: Offsets, cursors: Cursors) -> Cursors:
        """Return a cursor for each element, in order; the cursors of `held` rows move to their `last` elements.

        Reading the elements finds the end of a last element, so it is not walked past.
        """
        starts = np.empty(int(offsets[-1]), np.int64)
        self._walk(count - 1, cursors, offsets, starts)
        starts[last] = chosen(cursors.pos, held)
        if cursors.outcome.any_failed:
            starts[np.repeat(cursors.parked(), count)] = cursors.encoded.size
        return cursors.elsewhere(starts, np.repeat(cursors.end, count), lambda: np.repeat(cursors.rows(), count))

    def _walk(self, count: Offsets, cursors: Cursors, first: Offsets, starts: Offsets | None) -> None:
        """Move past `count` elements, if any; note the start of each in `starts`, those of a row from `first` on.

        The loop runs over the element's index, each time with the rows that still have an element.
        """
        index = 0
        (rows,) = (count > 0).nonzero()
        part, size = cursors.at(rows), count[rows]
        while not _better_singly(part, size, index):
            if starts is not None:
                starts[first[rows] + index] = part.pos
            self.element.skip(part)
            index += 1
            (more,) = (part.unparked(size) > index).nonzero()
            if len(more) < len(rows):
                cursors.put(rows, part)
                rows, part, size = rows[more], part.at(more), size[more]
        self._walk_singly(rows, index, count, cursors, first, starts)

    def _walk_singly(  # noqa: PLR0913, PLR0917
        self, rows: Offsets, index: int, count: Offsets, cursors: Cursors, first: Offsets, starts: Offsets | None
    ) -> None:
        part = cursors.apart(rows)
        for place, row in enumerate(rows):
            try:
                found, part.pos[place] = walk(self.element, part, place, int(count[row]) - index)
            except Malformed as malformed:
                part.fail_one(place, malformed)
                continue
            if starts is not None:
                starts[first[row] + index : first[row] + count[row]] = found
        if len(rows):
            cursors.put(rows, part)


@dataclass(frozen=True)
class Record:
    """A struct: its nodes, one after the other."""

    kind: Struct
    steps: tuple[tuple[Node, tuple[int, ...]], ...]
    """The nodes, each with the positions of its fields in `kind`."""

    @cached_property
    def smallest(self) -> int:
        """The sum of all nodes."""
        return sum(node.smallest for node, _ in self.steps)

    @cached_property
    def size_byte(self) -> int:
        """The byte of the first node whose size is not fixed."""
        nodes = [node for node, _ in self.steps]
        if len(nodes) > 1 and isinstance(nodes[0], Run):
            return nodes[0].smallest + nodes[1].size_byte
        return nodes[0].size_byte

    @cached_property
    def arrow_fields(self) -> list[pa.Field]:
        """The fields of the Arrow struct."""
        return list(self.kind.arrow)

    @cached_property
    def absent(self) -> list[tuple[int, pa.DataType]]:
        """Positions and types of the fields that this version lacks."""
        present = {place for _, places in self.steps for place in places}
        return [(place, field.type) for place, field in enumerate(self.arrow_fields) if place not in present]

    def read(self, cursors: Cursors) -> list[pa.Array]:
        """Read as `Node.read`; fields that this version lacks are null."""
        columns: list[pa.Array] = [None] * len(self.arrow_fields)
        for node, places in self.steps:
            for place, values in zip(places, node.read(cursors), strict=True):
                columns[place] = values
        for place, kind in self.absent:
            columns[place] = pa.nulls(len(cursors), kind)
        return [pa.StructArray.from_arrays(columns, fields=self.arrow_fields)]

    def skip(self, cursors: Cursors) -> None:
        """As `Node.skip`."""
        for node, _ in self.steps:
            node.skip(cursors)

    def skip_one(self, data: bytes, pos: int, end: int) -> int:
        """As `Node.skip_one`."""
        for node, _ in self.steps:
            pos = node.skip_one(data, pos, end)
        return pos


@dataclass(frozen=True)
class NullableRecord:
    """A struct after a marker that shows whether it is null.

    The marker of a positional field is an int8, negative for null; that of a tagged field is a varint, 0 for null.
    """

    record: Record
    tagged: bool
    smallest: int = 1
    size_byte: int = 0

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

    def skip_one(self, data: bytes, pos: int, end: int) -> int:
        """As `Node.skip_one`."""
        if self.tagged:
            marker, after = uvarint_at(data, pos, end)
            exists = marker > 0
        elif pos >= end:
            raise Malformed(Error.TRUNCATED, pos)
        else:
            exists, after = data[pos] < _NEGATIVE, pos + 1
        return self.record.skip_one(data, after, end) if exists else after


def _better_singly(cursors: Cursors, size: Offsets, index: int) -> bool:
    """Return whether rows with so many elements, `index` of them passed, are faster walked one by one from here.

    A long row costs a constant number of steps on arrays: this pays off only if enough elements remain.
    """
    rows = len(size)
    if rows <= FEW_ROWS or rows > FEW_LONG_ROWS or cursors.outcome.guessed:
        return rows <= FEW_ROWS
    return rows * FEW_ROWS <= int(size.sum()) / rows - index


def read_some(node: Node, index: Offsets, cursors: Cursors) -> list[pa.Array]:
    """Read a node at some of the cursors, `index` ascending, and move those cursors on."""
    if len(index) == len(cursors):
        return node.read(cursors)
    part = cursors.at(index)
    values = node.read(part)
    cursors.put(index, part)
    return values
