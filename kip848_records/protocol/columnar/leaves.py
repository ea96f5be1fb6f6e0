"""Nodes without child nodes: numbers, uuids, strings, bytes and arrays of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kip848_records.protocol.base64url import uuid_text
from kip848_records.protocol.columnar.errors import Error, Malformed
from kip848_records.protocol.columnar.slices import Slices, validity
from kip848_records.protocol.schema import STRING, UUID, Array, Fixed, Variable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.protocol.columnar.cursors import Cursors, Mask, Offsets
    from kip848_records.protocol.columnar.lengths import Count, Length

MAX_STRING_BYTES = 0x7FFF
"""The longest string that Kafka's generated readers accept."""


@dataclass(frozen=True)
class Run:
    """Consecutive fields of fixed size: one bounds check and one gather for all of them."""

    kinds: tuple[Fixed, ...]

    @cached_property
    def block(self) -> np.dtype[np.void]:
        """The fields side by side, as one dtype."""
        return np.dtype([(str(place), kind.wire) for place, kind in enumerate(self.kinds)])

    @cached_property
    def smallest(self) -> int:
        """Their total size."""
        return self.block.itemsize

    @property
    def size_byte(self) -> int:
        """Return any byte: the size is always the same."""
        return 0

    @cached_property
    def wire(self) -> str:
        """A type that copies the block unchanged: NumPy gathers structured types field by field, six times as slow."""
        return f"V{self.smallest}"

    @cached_property
    def field_offsets(self) -> Offsets:
        """The start of each field in the block."""
        return np.cumsum([0, *(kind.size for kind in self.kinds[:-1])])

    def read(self, cursors: Cursors) -> list[pa.Array]:
        """As `Node.read`."""
        start = self._move(cursors)
        if cursors.outcome.any_failed:
            start = np.where(cursors.parked(), cursors.encoded.size, start)
        block = cursors.encoded.view(self.wire)[start].view(self.block)
        return [fixed_array(kind, block[name]) for kind, name in zip(self.kinds, self.block.names or (), strict=True)]

    def skip(self, cursors: Cursors) -> None:
        """As `Node.skip`."""
        self._move(cursors)

    def _move(self, cursors: Cursors) -> Offsets:
        start = cursors.pos
        cursors.pos = start + self.smallest
        bad = cursors.pos > cursors.end
        if np.count_nonzero(bad):
            cut = np.searchsorted(self.field_offsets, cursors.end - start, side="right") - 1
            cursors.fail(bad, Error.TRUNCATED, start + self.field_offsets[cut])
        return start

    def skip_one(self, data: bytes, pos: int, end: int) -> int:  # noqa: ARG002 - a Node's signature
        """As `Node.skip_one`."""
        if pos + self.smallest > end:
            cut = int(np.searchsorted(self.field_offsets, end - pos, side="right")) - 1
            raise Malformed(Error.TRUNCATED, pos + int(self.field_offsets[cut]))
        return pos + self.smallest


@dataclass(frozen=True)
class Span:
    """A string or raw bytes: a length and its content."""

    kind: Variable
    length: Length
    nullable: bool

    @property
    def smallest(self) -> int:
        """The size of an empty one."""
        return self.length.size

    @property
    def size_byte(self) -> int:
        """The byte of the length."""
        return self.length.size - 1

    def read(self, cursors: Cursors) -> list[pa.Array]:
        """Read as `Node.read`; rows with a string that is not UTF-8 fail."""
        starts, null = self._locate(cursors)
        if null is not None and np.count_nonzero(null) == len(null):
            return [pa.nulls(len(null), self.kind.arrow)]
        slices = Slices.between(cursors, starts, cursors.pos)
        if self.kind is not STRING or slices.is_ascii():
            return [slices.array(self.kind.arrow, null)]
        values = slices.array(pa.binary(), null)
        try:
            return [values.cast(pa.string())]
        except pa.ArrowInvalid:
            good = np.array([_is_utf8(value) for value in values.to_pylist()])
            cursors.fail(~good, Error.INVALID_UTF8, starts)
            return [pa.compute.if_else(pa.array(good), values, b"").cast(pa.string())]

    def skip(self, cursors: Cursors) -> None:
        """As `Node.skip`."""
        self._locate(cursors)

    def _locate(self, cursors: Cursors) -> tuple[Offsets, Mask | None]:
        """Move past the values; return where their contents start, and which are null if any is."""
        start = cursors.pos
        length, null = self.length.read(cursors)
        contents = cursors.advance(length, start)
        if self.kind is STRING and cursors.encoded.longest > MAX_STRING_BYTES:
            cursors.fail(length > MAX_STRING_BYTES, Error.INVALID_LENGTH, start)
        if null is not None and not self.nullable:
            cursors.fail(null, Error.UNEXPECTED_NULL, start)
            null = None
        return contents, null

    def skip_one(self, data: bytes, pos: int, end: int) -> int:
        """As `Node.skip_one`."""
        length, contents = self.length.at(data, pos, end)
        if length < 0 and not self.nullable:
            raise Malformed(Error.UNEXPECTED_NULL, pos)
        if contents + length > end:
            raise Malformed(Error.TRUNCATED, pos)
        if self.kind is STRING and length > MAX_STRING_BYTES:
            raise Malformed(Error.INVALID_LENGTH, pos)
        return contents + max(length, 0)


@dataclass(frozen=True)
class FixedList:
    """An array of numbers."""

    kind: Array
    element: Fixed
    count: Count

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
        start = cursors.pos
        cursors.pos = start + count * self.element.size
        slices = Slices.between(cursors, start, cursors.pos)
        elements = fixed_array(self.element, slices.content.view(self.element.wire))
        return [list_array(self.kind, slices.offsets // self.element.size, elements, null)]

    def skip(self, cursors: Cursors) -> None:
        """As `Node.skip`."""
        count, _ = self.count.read(cursors)
        cursors.pos = cursors.pos + count * self.element.size

    def skip_one(self, data: bytes, pos: int, end: int) -> int:
        """As `Node.skip_one`."""
        count, contents = self.count.at(data, pos, end)
        return contents + count * self.element.size


def fixed_array(kind: Fixed, raw: NDArray[Any]) -> pa.Array:
    """Return values in wire format as an Arrow array of the kind's type."""
    if kind is UUID:
        return uuid_text(raw)
    return pa.Array.from_buffers(kind.arrow, len(raw), [None, pa.py_buffer(raw.astype(kind.native))])


def list_array(kind: Array, offsets: NDArray[np.int32], elements: pa.Array, null: Mask | None) -> pa.ListArray:
    """Return the lists that start and end at `offsets` of `elements`."""
    buffers = [validity(null), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(kind.arrow, len(offsets) - 1, buffers, children=[elements])


def _is_utf8(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False
