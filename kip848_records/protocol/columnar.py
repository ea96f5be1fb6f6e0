"""The columnar decoder: a column of encoded messages in, one typed Arrow array and an error code per row out.

Every row has a cursor, an offset into the batch's bytes. Each field of the layout is one NumPy step that reads at all
cursors and moves them on, so the cost of a field is paid once per batch and not once per record. Nested arrays become
offsets and flat content; no Python object is made per record.

Bounds: a cursor is compared with the end of its row before every read, and nothing is allocated from a length that has
not been compared with the bytes that are left. A row that fails is parked: its cursor moves to a stretch of zeros behind
the data, where every field reads as empty, so the other rows go on undisturbed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kip848_records.protocol.base64url import uuid_text
from kip848_records.protocol.schema import INT16, INT32, STRING, UUID, Array, Field, Fixed, Layout, Struct, Type, Variable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Offsets = NDArray[np.int64]
    Mask = NDArray[np.bool_]

MAX_STRING_BYTES = 0x7FFF
"""Kafka's generated readers refuse a longer string."""

_PARKING_BYTES = 64
_VARINT_BYTES = 5


class Error(IntEnum):
    """Why a row did not decode."""

    NONE = 0
    TRUNCATED = 1
    TRAILING_BYTES = 2
    UNEXPECTED_NULL = 3
    INVALID_LENGTH = 4
    INVALID_VARINT = 5
    INVALID_UTF8 = 6
    TAG_SIZE_MISMATCH = 7
    UNKNOWN_VERSION = 8
    MISSING_KEY = 9

    @property
    def reason(self) -> str:
        """The error in words, for people."""
        return _REASONS[self]


_REASONS = {
    Error.NONE: "",
    Error.TRUNCATED: "a field runs past the end",
    Error.TRAILING_BYTES: "bytes are left behind the last field",
    Error.UNEXPECTED_NULL: "null in a field that may not be null",
    Error.INVALID_LENGTH: "a string is longer than 32767 bytes",
    Error.INVALID_VARINT: "a varint is longer than 5 bytes",
    Error.INVALID_UTF8: "a string is not UTF-8",
    Error.TAG_SIZE_MISMATCH: "a tagged field does not have the size it states",
    Error.UNKNOWN_VERSION: "no such value version",
    Error.MISSING_KEY: "no key, or one too short to hold a record type",
}


@dataclass(frozen=True)
class Decoded:
    """A decoded column: `values` has a struct per row, null where the row is null or failed.

    `errors` holds an `Error` per row and `positions` the byte in the row at which it was found (-1 where none was).
    """

    values: pa.StructArray
    errors: NDArray[np.int8]
    positions: NDArray[np.int32]


class Encoded:
    """The bytes of a binary column, with a stretch of zeros behind them, and where each row starts and ends.

    Takes a `binary` or `large_binary` array, sliced or not, of less than 2 GiB.
    """

    def __init__(self, column: pa.Array) -> None:
        """Copy the column's bytes once, which also drops what a slice leaves outside."""
        wide = pa.types.is_large_binary(column.type)
        _, offset_buffer, data_buffer = column.buffers()
        offsets = np.zeros(1, np.int64)
        if len(column):
            raw = np.frombuffer(offset_buffer, np.int64 if wide else np.int32)
            offsets = raw[column.offset : column.offset + len(column) + 1].astype(np.int64)
        first, self.size = int(offsets[0]), int(offsets[-1] - offsets[0])
        if self.size > np.iinfo(np.int32).max - _PARKING_BYTES:
            message = f"a batch holds {self.size} bytes, more than Arrow's 32-bit offsets can address"
            raise ValueError(message)
        self.data = np.zeros(self.size + _PARKING_BYTES, np.uint8)
        if self.size:
            self.data[: self.size] = np.frombuffer(data_buffer, np.uint8, self.size, first)
        self.starts = offsets[:-1] - first
        self.ends = offsets[1:] - first
        self.buffer = pa.py_buffer(self.data)

    def view(self, wire: str) -> NDArray[Any]:
        """Return the values of dtype `wire` at every byte offset: unaligned, overlapping, without a copy."""
        dtype = np.dtype(wire)
        return np.ndarray((len(self.data) - dtype.itemsize + 1,), dtype, self.data, strides=(1,))


def decode(layout: Layout, column: pa.Array) -> Decoded:
    """Decode a `binary` or `large_binary` column; every byte of a row must be consumed. Null rows stay null."""
    encoded = Encoded(column)
    if not column.null_count:
        return decode_spans(layout, encoded, encoded.starts, encoded.ends)
    present = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    decoded = decode_spans(layout, encoded, encoded.starts[present], encoded.ends[present])
    errors, positions = np.zeros(len(column), np.int8), np.full(len(column), -1, np.int32)
    errors[present], positions[present] = decoded.errors, decoded.positions
    return Decoded(_scatter(decoded.values, present, len(column)), errors, positions)


def decode_spans(layout: Layout, encoded: Encoded, starts: Offsets, ends: Offsets) -> Decoded:
    """Decode the rows of `encoded` that span `starts` to `ends`, which ascend and do not overlap."""
    reader = _Reader(layout, encoded, starts)
    cursors = _Cursors(starts.copy(), ends.copy(), np.arange(len(starts)))
    values = reader.struct(layout.struct, cursors)
    reader.fail(cursors, cursors.pos != cursors.end, Error.TRAILING_BYTES)
    failed = reader.errors != Error.NONE
    if failed.any():
        values = pa.StructArray.from_arrays(values.flatten(), fields=list(values.type), mask=pa.array(failed))
    return Decoded(values, reader.errors, reader.positions)


def _scatter(values: pa.Array, at: Offsets, length: int) -> pa.Array:
    """Return an array of `length` with `values` at the ascending places `at` and null elsewhere."""
    if len(at) == length:
        return values
    indices = np.full(length, -1)
    indices[at] = np.arange(len(at))
    return values.take(pa.array(indices, mask=indices < 0))


@dataclass
class _Cursors:
    """Where a set of values is read: each has a position, an end, and the row that it belongs to."""

    pos: Offsets
    end: Offsets
    row: Offsets

    def __len__(self) -> int:
        return len(self.pos)

    def at(self, index: Offsets | Mask) -> _Cursors:
        return _Cursors(self.pos[index], self.end[index], self.row[index])

    def put(self, index: Offsets | Mask, moved: _Cursors) -> None:
        """Take over where the cursors of `at(index)` have moved to; the end moves with those that were parked."""
        self.pos[index] = moved.pos
        self.end[index] = moved.end


class _Reader:
    """Reads the types of one layout out of one batch; keeps the first error of every row."""

    def __init__(self, layout: Layout, encoded: Encoded, origins: Offsets) -> None:
        self.layout = layout
        self.encoded = encoded
        self.data = encoded.data
        self.parking = encoded.size
        self.origins = origins
        self.errors = np.zeros(len(origins), np.int8)
        self.positions = np.full(len(origins), -1, np.int32)
        self.any_parked = False

    # Errors and bounds

    def fail(self, cursors: _Cursors, bad: Mask, error: Error, at: Offsets | None = None) -> None:
        """Give the rows of the `bad` cursors an error, unless they have one, and park the cursors."""
        if not bad.any():
            return
        where = cursors.pos if at is None else at
        rows = cursors.row[bad]
        fresh = self.errors[rows] == Error.NONE
        first, index = np.unique(rows[fresh], return_index=True)
        self.errors[first] = error
        self.positions[first] = where[bad][fresh][index] - self.origins[first]
        cursors.pos[bad] = self.parking
        cursors.end[bad] = len(self.data)
        self.any_parked = True

    def parked(self, cursors: _Cursors) -> Mask:
        return cursors.end > self.parking

    def unparked(self, cursors: _Cursors, length: Offsets) -> Offsets:
        """Return `length`, 0 where the cursor is parked."""
        return np.where(self.parked(cursors), 0, length) if self.any_parked else length

    def need(self, cursors: _Cursors, size: int | Offsets) -> None:
        """Fail the cursors that do not have `size` bytes left."""
        self.fail(cursors, cursors.pos + size > cursors.end, Error.TRUNCATED)

    # Lengths

    def uvarint(self, cursors: _Cursors) -> Offsets:
        self.need(cursors, 1)
        value = self.data[cursors.pos].astype(np.int64)
        cursors.pos += 1
        if value.size and value.max() >= 0x80:
            long = np.flatnonzero(value >= 0x80)
            rest = cursors.at(long)
            value[long] = self._long_uvarint(rest, value[long] & 0x7F)
            cursors.put(long, rest)
        return value

    def _long_uvarint(self, cursors: _Cursors, value: Offsets) -> Offsets:
        """Return the varints of which `value` holds the first seven bits."""
        going = np.arange(len(cursors))
        for byte in range(1, _VARINT_BYTES):
            part = cursors.at(going)
            self.need(part, 1)
            bits = self.data[part.pos].astype(np.int64)
            part.pos += 1
            cursors.put(going, part)
            value[going] |= (bits & 0x7F) << (7 * byte)
            going = going[bits >= 0x80]
            if not len(going):
                return value
        endless = np.zeros(len(cursors), bool)
        endless[going] = True
        self.fail(cursors, endless, Error.INVALID_VARINT)
        value[endless] = 0
        return value

    def length(self, cursors: _Cursors, width: Fixed, *, nullable: bool) -> tuple[Offsets, Mask | None]:
        """Read a length; return it, 0 where it says null, and the mask of the nulls if there are any.

        `width` is what versions that are not flexible use; a flexible length is a uvarint of the length plus one.
        """
        start = cursors.pos.copy() if self.layout.flexible else cursors.pos
        if self.layout.flexible:
            length = self.uvarint(cursors) - 1
        else:
            self.need(cursors, width.size)
            length = self.encoded.view(width.wire)[cursors.pos].astype(np.int64)
            cursors.pos = cursors.pos + width.size
        if not length.size or length.min() >= 0:
            return length, None
        null = length < 0
        length[null] = 0
        if nullable:
            return length, null
        self.fail(cursors, null, Error.UNEXPECTED_NULL, at=start)
        return length, None

    # Values: each reads at the cursors, moves them on and returns one Arrow value per cursor

    def value(self, kind: Type, cursors: _Cursors, *, nullable: bool) -> pa.Array:
        if isinstance(kind, Fixed):
            return self.fixed(kind, cursors)
        if isinstance(kind, Variable):
            return self.variable(kind, cursors, nullable=nullable)
        if isinstance(kind, Array):
            return self.array(kind, cursors, nullable=nullable)
        return self.struct_or_null(kind, cursors, self.marker(cursors)) if nullable else self.struct(kind, cursors)

    def fixed(self, kind: Fixed, cursors: _Cursors) -> pa.Array:
        self.need(cursors, kind.size)
        raw = self.encoded.view(kind.wire)[cursors.pos]
        cursors.pos += kind.size
        return fixed_array(kind, raw)

    def span(self, kind: Variable, cursors: _Cursors, *, nullable: bool) -> tuple[Offsets, Offsets, Mask | None]:
        """Move past strings or byte strings; return where they start and end, and the mask of nulls if any."""
        length, null = self.length(cursors, INT16 if kind is STRING else INT32, nullable=nullable)
        if kind is STRING and length.size and length.max() > MAX_STRING_BYTES:
            self.fail(cursors, length > MAX_STRING_BYTES, Error.INVALID_LENGTH)
            length[length > MAX_STRING_BYTES] = 0
        self.need(cursors, length)
        length = self.unparked(cursors, length)
        starts = cursors.pos.copy()
        cursors.pos += length
        return starts, cursors.pos.copy(), null

    def variable(self, kind: Variable, cursors: _Cursors, *, nullable: bool) -> pa.Array:
        starts, ends, null = self.span(kind, cursors, nullable=nullable)
        values = self.slices(starts, ends, null)
        if kind is not STRING:
            return values
        try:
            return values.cast(pa.string())
        except pa.ArrowInvalid:
            bad = np.array([not _is_utf8(value) for value in values.to_pylist()])
            self.fail(cursors, bad, Error.INVALID_UTF8, at=starts)
            return self.slices(np.where(bad, ends, starts), ends, null).cast(pa.string())

    def slices(self, starts: Offsets, ends: Offsets, null: Mask | None = None) -> pa.BinaryArray:
        """Return the bytes between `starts` and `ends`, which ascend.

        Start, end, start, end … are the offsets of a binary array over the batch's own bytes, in which every second
        element is wanted: Arrow copies those in one go.
        """
        if not len(starts):
            return pa.array([], pa.binary())
        bounds = np.empty(2 * len(starts), np.int32)
        bounds[0::2] = starts
        bounds[1::2] = ends
        if self.any_parked:
            bounds[bounds >= self.parking] = 0
            np.maximum.accumulate(bounds, out=bounds)
        alternating = pa.Array.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), self.encoded.buffer])
        return alternating.take(pa.array(np.arange(0, len(bounds), 2), mask=null))

    def array(self, kind: Array, cursors: _Cursors, *, nullable: bool) -> pa.ListArray:
        count, null = self.count(kind, cursors, nullable=nullable)
        if isinstance(kind.element, Fixed):
            starts = cursors.pos.copy()
            cursors.pos += count * kind.element.size
            content = self.slices(starts, cursors.pos)
            return _list_array(count, _fixed_content(kind.element, content), null)
        elements = self.elements(kind, count, cursors)
        if elements is None:
            held = np.flatnonzero(count)
            part = cursors.at(held)
            values = self.value(kind.element, part, nullable=False)
            cursors.put(held, part)
        else:
            values = self.value(kind.element, elements, nullable=False)
        return _list_array(count, values, null)

    def count(self, kind: Array, cursors: _Cursors, *, nullable: bool) -> tuple[Offsets, Mask | None]:
        """Read how many elements follow: never more than the bytes that are left can hold."""
        start = cursors.pos.copy()
        count, null = self.length(cursors, INT32, nullable=nullable)
        self.fail(cursors, count * self.smallest(kind.element) > cursors.end - cursors.pos, Error.TRUNCATED, at=start)
        return self.unparked(cursors, count), null

    def elements(self, kind: Array, count: Offsets, cursors: _Cursors) -> _Cursors | None:
        """Move past the elements and return a cursor for each, in order; None where no row has more than one.

        The walk goes over the element's index, each time with the rows that still have one.
        """
        if not count.size or count.max() <= 1:
            return None
        first = np.cumsum(count) - count
        found = _Cursors(*(np.empty(int(count.sum()), np.int64) for _ in range(2)), np.repeat(cursors.row, count))
        rows = np.flatnonzero(count)
        part = cursors.at(rows)
        for index in range(int(count.max())):
            more = count[rows] > index
            if not more.all():
                cursors.put(rows, part)
                rows, part = rows[more], part.at(more)
            slots = first[rows] + index
            found.pos[slots], found.end[slots] = part.pos, part.end
            self.skip(kind.element, part, nullable=False)
        cursors.put(rows, part)
        return found

    def struct(self, kind: Struct, cursors: _Cursors) -> pa.StructArray:
        """Read a struct's fields; those that this version does not have are null."""
        values: dict[str, pa.Array] = {}
        for field in self.layout.positional(kind):
            values[field.column] = self.value(field.type, cursors, nullable=self.layout.nullable(field))
        if self.layout.flexible:
            values |= self.tagged_section(self.layout.tagged(kind), cursors)
        columns = [values[name] if (name := f.column) in values else pa.nulls(len(cursors), f.type.arrow) for f in kind.fields]
        return pa.StructArray.from_arrays(columns, fields=list(kind.arrow))

    def struct_or_null(self, kind: Struct, cursors: _Cursors, exists: Mask) -> pa.StructArray:
        present = np.flatnonzero(exists)
        part = cursors.at(present)
        values = self.struct(kind, part)
        cursors.put(present, part)
        return _scatter(values, present, len(cursors))

    def marker(self, cursors: _Cursors) -> Mask:
        """Read the int8 in front of a nullable struct: negative where the struct is null."""
        self.need(cursors, 1)
        marker = self.data[cursors.pos]
        cursors.pos += 1
        return marker < 0x80

    # Tagged fields

    def tagged_section(self, fields: dict[int, Field], cursors: _Cursors) -> dict[str, pa.Array]:
        """Read the tagged fields that are known and move past the others; absent ones are null."""
        payloads = self.skip_tags(cursors, fields)
        return {fields[tag].column: self.payload(fields[tag], at, cursors) for tag, at in payloads.items()}

    def skip_tags(self, cursors: _Cursors, wanted: dict[int, Field]) -> dict[int, tuple[Offsets, Offsets]]:
        """Move past the tagged section; return by tag where its payload starts and ends, -1 in rows without it."""
        spans: dict[int, tuple[Offsets, Offsets]] = {}
        left = self.uvarint(cursors)
        self.fail(cursors, left * 2 > cursors.end - cursors.pos, Error.TRUNCATED)
        left = self.unparked(cursors, left)
        while len(rows := np.flatnonzero(left)):
            part = cursors.at(rows)
            tag, size = self.uvarint(part), self.uvarint(part)
            self.need(part, size)
            size = self.unparked(part, size)
            for known in wanted:
                if len(hit := np.flatnonzero((tag == known) & ~self.parked(part))):
                    starts, ends = spans.setdefault(known, (np.full(len(left), -1), np.full(len(left), -1)))
                    starts[rows[hit]], ends[rows[hit]] = part.pos[hit], part.pos[hit] + size[hit]
            part.pos += size
            cursors.put(rows, part)
            left[rows] -= 1
            left = self.unparked(cursors, left)
        return spans

    def payload(self, field: Field, span: tuple[Offsets, Offsets], cursors: _Cursors) -> pa.Array:
        """Read a tagged field where it is present; it must fill its payload exactly."""
        starts, ends = span
        present = np.flatnonzero(starts >= 0)
        part = _Cursors(starts[present], ends[present], cursors.row[present])
        nullable = self.layout.nullable(field)
        if nullable and isinstance(field.type, Struct):  # here, and only here, the marker is a varint and 0 is null
            values = self.struct_or_null(field.type, part, self.uvarint(part) > 0)
        else:
            values = self.value(field.type, part, nullable=nullable)
        self.fail(part, part.pos != part.end, Error.TAG_SIZE_MISMATCH, at=starts[present])
        if self.any_parked:
            parked = self.parked(part)
            cursors.put(present[parked], part.at(parked))
        return _scatter(values, present, len(cursors))

    # Moving on without reading

    def skip(self, kind: Type, cursors: _Cursors, *, nullable: bool) -> None:
        """Move past a value: bounds are checked, contents are not."""
        if isinstance(kind, Fixed):
            self.need(cursors, kind.size)
            cursors.pos += kind.size
        elif isinstance(kind, Variable):
            self.span(kind, cursors, nullable=nullable)
        elif isinstance(kind, Array):
            self.skip_array(kind, cursors, nullable=nullable)
        elif nullable:
            present = np.flatnonzero(self.marker(cursors))
            part = cursors.at(present)
            self.skip(kind, part, nullable=False)
            cursors.put(present, part)
        else:
            for field in self.layout.positional(kind):
                self.skip(field.type, cursors, nullable=self.layout.nullable(field))
            if self.layout.flexible:
                self.skip_tags(cursors, {})

    def skip_array(self, kind: Array, cursors: _Cursors, *, nullable: bool) -> None:
        count, _ = self.count(kind, cursors, nullable=nullable)
        if isinstance(kind.element, Fixed):
            cursors.pos += count * kind.element.size
        else:
            while len(rows := np.flatnonzero(count)):
                part = cursors.at(rows)
                self.skip(kind.element, part, nullable=False)
                cursors.put(rows, part)
                count[rows] -= 1

    def smallest(self, kind: Type) -> int:
        """Return the fewest bytes that a value can take."""
        length = 1 if self.layout.flexible else 4
        if isinstance(kind, Fixed):
            return kind.size
        if isinstance(kind, Variable):
            return min(length, INT16.size) if kind is STRING else length
        if isinstance(kind, Array):
            return length
        fields = self.layout.positional(kind)
        sizes = (1 if isinstance(f.type, Struct) and self.layout.nullable(f) else self.smallest(f.type) for f in fields)
        return sum(sizes) + self.layout.flexible


def fixed_array(kind: Fixed, raw: NDArray[Any]) -> pa.Array:
    """Return big-endian values as an Arrow array of the kind's type."""
    if kind is UUID:
        return uuid_text(raw)
    return pa.array(raw.astype(kind.arrow.to_pandas_dtype()))


def _fixed_content(kind: Fixed, content: pa.BinaryArray) -> pa.Array:
    """Return the values that lie one after the other in all of `content`."""
    _, offsets, data = content.buffers()
    size = 0 if not len(content) else int(np.frombuffer(offsets, np.int32)[len(content)])
    raw = np.frombuffer(data, np.uint8, size).view(kind.wire) if size else np.empty(0, kind.wire)
    return fixed_array(kind, raw)


def _list_array(count: Offsets, values: pa.Array, null: Mask | None) -> pa.ListArray:
    offsets = np.zeros(len(count) + 1, np.int32)
    np.cumsum(count, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=None if null is None else pa.array(null))


def _is_utf8(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False
