"""The tagged fields at the end of every struct of a flexible version: a count, then tag, size and payload of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar.errors import Error, Malformed
from kip848_records.protocol.columnar.lengths import read_uvarint, uvarint_at
from kip848_records.protocol.columnar.nesting import FEW_ROWS, scatter

if TYPE_CHECKING:
    from kip848_records.protocol.columnar.cursors import Cursors, Offsets
    from kip848_records.protocol.columnar.node import Node

    Payloads = dict[int, tuple[Offsets, Offsets]]

_SMALLEST_FIELD = 2  # a tag and a size of 0


@dataclass(frozen=True)
class Tags:
    """A section with some tags that are known; fields of other tags are passed over.

    Of a tag that comes twice the last field counts, as in Kafka's own readers.
    """

    known: dict[int, tuple[Node, pa.DataType]]
    smallest: int = 1

    def read(self, cursors: Cursors) -> list[pa.Array]:
        """As `Node.read`, for the known tags in order; a field is null where the section does not have it."""
        payloads = self._locate(cursors, note=True)
        return [
            self._payload(node, payloads[tag], cursors) if tag in payloads else pa.nulls(len(cursors), kind)
            for tag, (node, kind) in self.known.items()
        ]

    def skip(self, cursors: Cursors) -> None:
        """As `Node.skip`; the payloads of known tags are passed over as well."""
        self._locate(cursors, note=False)

    def skip_one(self, data: memoryview, pos: int, end: int) -> int:
        """As `Node.skip_one`."""
        count, after = uvarint_at(data, pos, end)
        if after + count * _SMALLEST_FIELD > end:
            raise Malformed(Error.TRUNCATED, pos)
        for _ in range(count):
            _, _, after = _field_at(data, after, end)
        return after

    def _locate(self, cursors: Cursors, *, note: bool) -> Payloads:
        """Move past the section; return by tag where its payload starts and ends, -1 where it is absent."""
        start = cursors.pos
        left = read_uvarint(cursors)
        cursors.claim(left * _SMALLEST_FIELD, start)
        left = cursors.unparked(left)
        found: Payloads = {}
        while left.any():
            rows = np.flatnonzero(left > 0)
            if len(rows) <= FEW_ROWS:
                self._locate_singly(rows, left, cursors, found if note else None)
                break
            part = cursors.at(rows)
            start = part.pos
            tag = read_uvarint(part)
            part.fail(part.pos >= part.end, Error.TRUNCATED, start)
            size = part.claim(read_uvarint(part), start)
            payload = part.pos
            part.pos = payload + size
            if note:
                self._note(found, rows, tag, (payload, part.pos), len(left))
            cursors.put(rows, part)
            left[rows] -= 1
            left = cursors.unparked(left)
        return found

    def _note(self, found: Payloads, rows: Offsets, tag: Offsets, span: tuple[Offsets, Offsets], length: int) -> None:
        for known in self.known:
            hit = tag == known
            if not hit.any():
                continue
            if len(rows) == length and hit.all():
                found[known] = span
                continue
            starts, ends = found.get(known) or (np.full(length, -1), np.full(length, -1))
            found[known] = starts, ends = starts.copy(), ends.copy()
            starts[rows[hit]], ends[rows[hit]] = span[0][hit], span[1][hit]

    def _locate_singly(self, rows: Offsets, left: Offsets, cursors: Cursors, found: Payloads | None) -> None:
        part = cursors.at(rows)
        for place, row in enumerate(rows):
            pos, end = int(part.pos[place]), int(part.end[place])
            spans: dict[int, tuple[int, int]] = {}
            try:
                for _ in range(int(left[row])):
                    tag, contents, pos = _field_at(cursors.encoded.bytes, pos, end)
                    spans[tag] = contents, pos
            except Malformed as malformed:
                part.fail_one(place, malformed)
                continue
            part.pos[place] = pos
            if found is not None:
                for tag in spans.keys() & self.known.keys():
                    starts, ends = found.setdefault(tag, (np.full(len(left), -1), np.full(len(left), -1)))
                    starts[row], ends[row] = spans[tag]
        cursors.put(rows, part)

    def _payload(self, node: Node, span: tuple[Offsets, Offsets], cursors: Cursors) -> pa.Array:
        """Read a tagged field where it is present; it must fill its payload exactly."""
        starts, ends = span
        present = np.flatnonzero((starts >= 0) & ~cursors.parked())
        part = cursors.elsewhere(starts[present], ends[present], lambda: cursors.rows()[present])
        (values,) = node.read(part)
        part.fail(part.pos != part.end, Error.TAG_SIZE_MISMATCH, starts[present])
        cursors.park_like(present, part)
        return scatter(values, present, len(cursors))


def _field_at(data: memoryview, start: int, end: int) -> tuple[int, int, int]:
    """Return the tag of the field at `start`, and where its payload starts and ends."""
    tag, pos = uvarint_at(data, start, end)
    size, pos = uvarint_at(data, pos, end)
    if pos + size > end:
        raise Malformed(Error.TRUNCATED, start)
    return tag, pos, pos + size
