"""Lengths and counts before strings, bytes and arrays: varints in flexible versions, int16 or int32 in others.

Each is read in two ways: for all cursors at once, and for a single row, whose bytes are a memoryview.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kip848_records.protocol.columnar.errors import Error, Malformed

if TYPE_CHECKING:
    from kip848_records.protocol.columnar.cursors import Cursors, Mask, Offsets

_MORE = 0x80  # another byte of the varint follows
_SHIFTS = (7, 14, 21, 28)


def read_uvarint(cursors: Cursors) -> Offsets:
    """Return unsigned varints and move past them.

    The check of the content also checks that the first byte is inside its row: nearly all varints have one byte, and a
    separate comparison would cost as much as the read.
    """
    start = cursors.pos
    first = cursors.encoded.data.take(start)
    cursors.pos = start + 1
    value = first.astype(np.int64)
    if not first.tobytes().isascii():  # the fastest test for a high bit
        (long,) = (first >= _MORE).nonzero()
        part = cursors.at(long)
        value[long] = _read_rest(part, value[long] & 0x7F, start[long])
        cursors.put(long, part)
    return value


def _read_rest(cursors: Cursors, value: Offsets, start: Offsets) -> Offsets:
    """Return the varints that began at `start`; `value` has their first seven bits."""
    going: Offsets = np.arange(len(cursors))
    for shift in _SHIFTS:
        part = cursors.at(going)
        part.fail(part.pos >= part.end, Error.TRUNCATED, start[going])
        byte = cursors.encoded.data.take(part.pos)
        part.pos = part.pos + 1
        cursors.put(going, part)
        value[going] |= (byte & 0x7F).astype(np.int64) << shift
        going = going[byte >= _MORE]
        if not len(going):
            return cursors.unparked(value)
    endless = np.zeros(len(cursors), bool)
    endless[going] = True
    cursors.fail(endless, Error.INVALID_VARINT, start)
    return cursors.unparked(value)


def uvarint_at(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the varint at `start` and the offset after it."""
    if start < end and data[start] < _MORE:
        return data[start], start + 1
    value = 0
    for pos, shift in enumerate((0, *_SHIFTS), start):
        if pos >= end:
            raise Malformed(Error.TRUNCATED, start)
        value |= (data[pos] & 0x7F) << shift
        if data[pos] < _MORE:
            return value, pos + 1
    raise Malformed(Error.INVALID_VARINT, start)


@dataclass(frozen=True)
class CompactLength:
    """A varint of the length plus one: 0 is null."""

    size = 1

    def read(self, cursors: Cursors) -> tuple[Offsets, Mask | None]:
        """Return lengths, 0 for null, and which are null if any is, and move past them.

        The caller must check that they are inside their rows.
        """
        length = read_uvarint(cursors)
        null = length == 0 if np.count_nonzero(length) < len(length) else None
        length -= 1
        return (length if null is None else np.maximum(length, 0)), null

    def at(self, data: bytes, start: int, end: int) -> tuple[int, int]:
        """Return the length at `start` and the offset after it."""
        value, pos = uvarint_at(data, start, end)
        return value - 1, pos


@dataclass(frozen=True)
class FixedLength:
    """An int16 or int32: negative is null."""

    wire: str
    size: int

    def read(self, cursors: Cursors) -> tuple[Offsets, Mask | None]:
        """As `CompactLength.read`."""
        length: Offsets = cursors.encoded.view(self.wire)[cursors.pos].astype(np.int64)
        cursors.pos = cursors.pos + self.size
        null = length < 0
        return (np.maximum(length, 0), null) if np.count_nonzero(null) else (length, None)

    def at(self, data: bytes, start: int, end: int) -> tuple[int, int]:
        """As `CompactLength.at`."""
        if start + self.size > end:
            raise Malformed(Error.TRUNCATED, start)
        return int.from_bytes(data[start : start + self.size], "big", signed=True), start + self.size


Length = CompactLength | FixedLength


@dataclass(frozen=True)
class Count:
    """The number of elements of at least `element_size` bytes that follow: never more than the remaining bytes hold."""

    length: Length
    element_size: int
    nullable: bool

    def read(self, cursors: Cursors) -> tuple[Offsets, Mask | None]:
        """Return counts, 0 for null and for cursors that failed, and which are null if any is."""
        start = cursors.pos
        count, null = self.length.read(cursors)
        cursors.claim(count * self.element_size, start)
        if null is not None and not self.nullable:
            cursors.fail(null, Error.UNEXPECTED_NULL, start)
            null = None
        return cursors.unparked(count), null

    def at(self, data: bytes, start: int, end: int) -> tuple[int, int]:
        """Return the count at `start`, 0 for null, and the offset after it."""
        count, pos = self.length.at(data, start, end)
        if count < 0 and not self.nullable:
            raise Malformed(Error.UNEXPECTED_NULL, start)
        if pos + count * self.element_size > end:
            raise Malformed(Error.TRUNCATED, start)
        return max(count, 0), pos
