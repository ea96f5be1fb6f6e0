"""The tagged fields at the end of every struct of a flexible version: a count, then tag, size and payload of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar.cursors import chosen
from kip848_records.protocol.columnar.errors import Error, Malformed
from kip848_records.protocol.columnar.lengths import read_uvarint, uvarint_at
from kip848_records.protocol.columnar.nesting import FEW_ROWS
from kip848_records.protocol.columnar.scatter import scatter

if TYPE_CHECKING:
    from kip848_records.protocol.columnar.cursors import Cursors, Offsets
    from kip848_records.protocol.columnar.node import Node

_SMALLEST_FIELD = 2  # a tag and a size of 0


@dataclass
class _Payloads:
    """The starts and ends of one tag's payloads, and the cursors, ascending, that have one."""

    index: Offsets
    starts: Offsets
    ends: Offsets

    def at(self, index: Offsets) -> _Payloads:
        """Return some of the payloads, by ascending `index`."""
        return _Payloads(*(chosen(values, index) for values in (self.index, self.starts, self.ends)))

    def overridden(self, later: _Payloads, length: int) -> _Payloads:
        """Return these payloads, or the later ones if a cursor has both."""
        merged = np.full((2, length), -1)
        for payloads in (self, later):
            merged[:, payloads.index] = payloads.starts, payloads.ends
        index = np.flatnonzero(merged[0] >= 0)
        return _Payloads(index, *merged[:, index])


@dataclass(frozen=True)
class Tags:
    """A section with some known tags; fields of other tags are skipped.

    If a tag occurs twice, its last field counts, as in Kafka's own readers.
    """

    known: dict[int, tuple[Node, pa.DataType]]
    smallest: int = 1
    size_byte: int = 0

    def read(self, cursors: Cursors) -> list[pa.Array]:
        """Read as `Node.read`, for the known tags in order; a field is null if the section lacks it."""
        found = self._locate(cursors, tuple(self.known))
        return [
            self._read_payloads(node, found[tag], cursors) if tag in found else pa.nulls(len(cursors), kind)
            for tag, (node, kind) in self.known.items()
        ]

    def skip(self, cursors: Cursors) -> None:
        """Skip as `Node.skip`, including the payloads of known tags."""
        self._locate(cursors, ())

    def skip_one(self, data: bytes, pos: int, end: int) -> int:
        """As `Node.skip_one`."""
        count, after = uvarint_at(data, pos, end)
        if after + count * _SMALLEST_FIELD > end:
            raise Malformed(Error.TRUNCATED, pos)
        for _ in range(count):
            _, _, after = _field_at(data, after, end)
        return after

    def _locate(self, cursors: Cursors, wanted: tuple[int, ...]) -> dict[int, _Payloads]:
        """Move past the section; return the payloads of the wanted tags, if any cursor has them."""
        found: dict[int, _Payloads] = {}
        start = cursors.pos
        count = read_uvarint(cursors)
        if not np.count_nonzero(count):
            cursors.check(start)
            return found
        cursors.claim(count * _SMALLEST_FIELD, start)
        (rows,) = cursors.unparked(count).nonzero()
        part, left = cursors.at(rows), count[rows]
        while len(rows) > FEW_ROWS:
            start = part.pos
            tag = read_uvarint(part)
            if np.count_nonzero(part.pos >= part.end):
                part.fail(part.pos >= part.end, Error.TRUNCATED, np.minimum(part.pos, part.end))
            contents = part.advance(read_uvarint(part), start)
            for known in wanted:
                (hit,) = (part.unparked(tag == known)).nonzero()
                if len(hit):
                    self._note(found, known, _Payloads(rows, contents, part.pos).at(hit), len(count))
            left = part.unparked(left - 1)
            (more,) = left.nonzero()
            if len(more) < len(rows):
                cursors.put(rows, part)
                rows, part, left = rows[more], part.at(more), left[more]
        if len(rows):
            self._locate_singly(rows, left, cursors, wanted, found)
        return found

    def _note(self, found: dict[int, _Payloads], tag: int, payloads: _Payloads, length: int) -> None:
        found[tag] = found[tag].overridden(payloads, length) if tag in found else payloads

    def _locate_singly(
        self,
        rows: Offsets,
        left: Offsets,
        cursors: Cursors,
        wanted: tuple[int, ...],
        found: dict[int, _Payloads],
    ) -> None:
        part = cursors.apart(rows)
        for place in range(len(rows)):
            pos, end = int(part.pos[place]), int(part.end[place])
            spans: dict[int, tuple[int, int]] = {}
            try:
                for _ in range(int(left[place])):
                    tag, contents, pos = _field_at(cursors.encoded.bytes, pos, end)
                    spans[tag] = contents, pos
            except Malformed as malformed:
                part.fail_one(place, malformed)
                continue
            part.pos[place] = pos
            for known in spans.keys() & set(wanted):
                payload = _Payloads(rows[place : place + 1], *np.array(spans[known])[:, None])
                self._note(found, known, payload, len(cursors))
        cursors.put(rows, part)

    def _read_payloads(self, node: Node, payloads: _Payloads, cursors: Cursors) -> pa.Array:
        """Read a tagged field of the cursors that have it; it must fill its payload exactly."""
        index = payloads.index
        part = cursors.elsewhere(payloads.starts, payloads.ends, lambda: cursors.rows()[index])
        (values,) = node.read(part)
        part.fail(part.pos != part.end, Error.TAG_SIZE_MISMATCH, payloads.starts)
        cursors.park_like(index, part)
        return scatter(values, index, len(cursors))


def _field_at(data: bytes, start: int, end: int) -> tuple[int, int, int]:
    """Return the tag of the field at `start`, and the start and end of its payload."""
    tag, pos = uvarint_at(data, start, end)
    size, pos = uvarint_at(data, pos, end)
    if pos + size > end:
        raise Malformed(Error.TRUNCATED, start)
    return tag, pos, pos + size
