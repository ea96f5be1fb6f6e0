"""The records inside record batches, field by field for all batches at once.

Source: Kafka's `DefaultRecord`: zigzag varints length, attributes (1 byte), timestampDelta, offsetDelta, key, value,
headers.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from kip848_records.protocol.segments.faults import BatchError, Fault

IntArray = npt.NDArray[np.int64]

# Before its check, a cursor runs past its record by at most the varints of one fixed run of fields.
PADDING: Final = 64
MIN_RECORD_SIZE: Final = 7
# Each record needs some 100 bytes of arrays. A broker's limit for a batch, message.max.bytes, is 1 MiB by default.
MAX_RECORDS: Final = 1024 * 1024
# Below this number of batches a NumPy step costs more than following the lengths one by one.
FEW_BATCHES: Final = 128
INT_BYTES: Final = 5
LONG_BYTES: Final = 10
# The bit of a varint's byte that announces another byte.
MORE: Final = 0x80
# Larger than any file: the size of a record whose length cannot be right.
NO_SIZE: Final = 2**48
# The value of a varint with too many bytes: outside every range that is checked.
TOO_LONG: Final = -(2**63)
MAX_LONG: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class RecordFields:
    """One element per record, in log order; starts are positions in the group's buffer, sizes are bytes, -1 null."""

    batch: IntArray
    timestamp_delta: IntArray
    offset_delta: IntArray
    key_start: IntArray
    key_size: IntArray
    value_start: IntArray
    value_size: IntArray

    def __len__(self) -> int:
        return len(self.batch)

    def __getitem__(self, selection: slice | npt.NDArray[Any]) -> "RecordFields":
        return RecordFields(*(getattr(self, name)[selection] for name in self.__slots__))


def parse_records(
    buffer: bytes, starts: IntArray, ends: IntArray, counts: IntArray, last_offset_deltas: IntArray
) -> tuple[RecordFields, dict[int, BatchError]]:
    """Parse the records of batches that lie in `buffer` at [start, end), ascending, followed by `PADDING` bytes.

    Returns the records of the batches in which every byte is accounted for, and the reason for the other batches. The
    bytes limit the memory: a count that cannot fit is a fault before anything is allocated by it.
    """
    raw = np.frombuffer(buffer, np.uint8)
    fits = counts * MIN_RECORD_SIZE <= ends - starts
    faults = {
        int(batch): _bad_records(f"{counts[batch]} records do not fit in {ends[batch] - starts[batch]} bytes")
        for batch in np.flatnonzero(~fits)
    }
    for batch in np.flatnonzero(fits & (counts > MAX_RECORDS)).tolist():
        faults[batch] = BatchError(Fault.TOO_LARGE, f"refused: more than {MAX_RECORDS} records")
        fits[batch] = False
    counts = np.where(fits, counts, 0)
    bounds = _RecordBounds(starts, counts)
    if faults:
        bounds.broken[~fits] = 0
    bounds.find(buffer, raw, ends)
    for batch in np.flatnonzero((bounds.broken >= 0) & fits).tolist():
        faults[batch] = _bad_records(f"record {bounds.broken[batch]} does not end inside the batch")
    for batch in np.flatnonzero((bounds.broken < 0) & (bounds.cursor != ends)).tolist():
        faults[batch] = _bad_records(f"{ends[batch] - bounds.cursor[batch]} bytes after the last record")
        bounds.broken[batch] = counts[batch]

    batch_of = np.repeat(np.arange(len(counts)), counts)
    whole = bounds.broken[batch_of] < 0
    fields, wrong = _fields(buffer, raw, bounds.start[whole], batch_of[whole])
    wrong |= _offsets_wrong(fields, last_offset_deltas)
    if wrong.any():
        first_of = np.cumsum(counts) - counts
        rows = np.flatnonzero(whole)
        for row in np.flatnonzero(wrong)[::-1].tolist():
            batch = int(fields.batch[row])
            faults[batch] = _bad_records(f"record {rows[row] - first_of[batch]} does not parse")
        fields = fields[~np.isin(fields.batch, fields.batch[wrong])]
    return fields, faults


def _bad_records(reason: str) -> BatchError:
    return BatchError(Fault.BAD_RECORDS, reason)


def _record_size(length: IntArray, length_size: IntArray) -> IntArray:
    """Return the size of records with these lengths; `length_size` is the size of each length itself."""
    return np.where(length < MIN_RECORD_SIZE - 1, NO_SIZE, length_size + length)


def _sizes_by_first_bytes() -> IntArray:
    """Return the size of a record by its first two bytes, a little-endian number; 0 if its length takes more."""
    first, second = np.arange(1 << 8), np.arange(1 << 8)[:, None]
    unsigned = np.where(first < MORE, first, first & 0x7F | second << 7)
    length_size = np.where(first < MORE, 1, 2)
    size = _record_size((unsigned >> 1) ^ -(unsigned & 1), length_size)
    return np.where((first >= MORE) & (second >= MORE), 0, size).ravel()


SIZE_BY_FIRST_BYTES: Final = _sizes_by_first_bytes()


class _RecordBounds:
    """The start of each record, found by following the lengths with one cursor per batch."""

    def __init__(self, starts: IntArray, counts: IntArray) -> None:
        self.counts = counts
        self.first = np.cumsum(counts) - counts
        self.cursor = starts.copy()
        self.start = np.zeros(int(counts.sum()), np.int64)
        # The first record of a batch that does not parse, -1 for none.
        self.broken = np.full(len(starts), -1, np.int64)

    def find(self, buffer: bytes, raw: npt.NDArray[np.uint8], ends: IntArray) -> None:
        pairs: npt.NDArray[np.uint16] = np.ndarray((len(raw) - 1,), "<u2", raw, strides=(1,))
        active = np.flatnonzero(self.counts > 0)
        cursor, end = self.cursor[active], ends[active]
        row, left = self.first[active], self.counts[active]
        record = 0
        while active.size >= FEW_BATCHES:
            size = SIZE_BY_FIRST_BYTES[pairs[cursor]]
            (longer,) = (size == 0).nonzero()
            if longer.size:
                length, at = _read_varint(raw, cursor[longer], INT_BYTES)
                size[longer] = _record_size(length, at - cursor[longer])
            self.start[row] = cursor
            cursor = cursor + size
            row += 1
            left -= 1
            inside = cursor <= end
            goes_on = inside & (left > 0)
            if not goes_on.all():
                self.broken[active[~inside]] = record
                self.cursor[active] = cursor
                (kept,) = goes_on.nonzero()
                active, cursor, end, row, left = (each[kept] for each in (active, cursor, end, row, left))
            record += 1
        self.cursor[active] = cursor
        for batch in active.tolist():
            self._follow(buffer, batch, record, int(ends[batch]))

    def _follow(self, buffer: bytes, batch: int, record: int, end: int) -> None:
        at = int(self.cursor[batch])
        starts = []
        for index in range(record, int(self.counts[batch])):
            starts.append(at)
            # Nearly every length takes one byte or two.
            first, second = buffer[at], buffer[at + 1]
            if first < MORE:
                length = first >> 1 ^ -(first & 1)
                at += 1
            elif second < MORE:
                length = (first & 0x7F | second << 7) >> 1 ^ -(first & 1)
                at += 2
            else:
                length, at = _varint_at(buffer, at)
            if length < MIN_RECORD_SIZE - 1 or length > end - at:
                self.broken[batch] = index
                return
            at += length
        self.cursor[batch] = at
        row = int(self.first[batch]) + record
        self.start[row : row + len(starts)] = starts


def _fields(
    buffer: bytes, raw: npt.NDArray[np.uint8], start: IntArray, batch_of: IntArray
) -> tuple[RecordFields, npt.NDArray[np.bool_]]:
    length, start = _read_varint(raw, start, INT_BYTES)
    stop = start + length
    timestamp_delta, at = _read_varint(raw, start + 1, LONG_BYTES)
    offset_delta, at = _read_varint(raw, at, INT_BYTES)
    key_size, key_start = _read_varint(raw, at, INT_BYTES)
    wrong = (timestamp_delta == TOO_LONG) | (key_size < -1) | (key_size > stop - key_start) | (key_start > stop)
    # A wrong record stays parked on its first byte.
    at = np.where(wrong, start, key_start + np.maximum(key_size, 0))
    value_size, value_start = _read_varint(raw, at, INT_BYTES)
    wrong |= (value_size < -1) | (value_size > stop - value_start) | (value_start > stop)
    at = np.where(wrong, start, value_start + np.maximum(value_size, 0))
    header_count, at = _read_varint(raw, at, INT_BYTES)
    for row in np.flatnonzero((header_count > 0) & ~wrong).tolist():
        at[row] = _skip_headers(buffer, int(at[row]), int(stop[row]), int(header_count[row]))
    wrong |= (header_count < 0) | (at != stop)
    return RecordFields(batch_of, timestamp_delta, offset_delta, key_start, key_size, value_start, value_size), wrong


def _offsets_wrong(fields: RecordFields, last_offset_deltas: IntArray) -> npt.NDArray[np.bool_]:
    """Return which records have offsets outside the batch, or not in ascending order."""
    delta = fields.offset_delta
    wrong = (delta < 0) | (delta > last_offset_deltas[fields.batch])
    wrong[1:] |= (delta[1:] <= delta[:-1]) & (fields.batch[1:] == fields.batch[:-1])
    return wrong


def _read_varint(raw: npt.NDArray[np.uint8], at: IntArray, max_bytes: int) -> tuple[IntArray, IntArray]:
    """Read the zigzag varint at each position: return the values, and the positions after them."""
    byte = raw[at]
    value = (byte & 0x7F).astype(np.int64)
    at = at + 1
    (more,) = (byte & MORE).nonzero()
    shift = 7
    while more.size:
        if shift == 7 * max_bytes:
            value[more] = -1
            break
        byte = raw[at[more]]
        value[more] |= (byte & 0x7F).astype(np.int64) << shift
        at[more] += 1
        more = more[byte >= MORE]
        shift += 7
    return ((value >> 1) & MAX_LONG) ^ -(value & 1), at


def _varint_at(buffer: bytes, at: int) -> tuple[int, int]:
    byte = buffer[at]
    value = byte & 0x7F
    shift = 7
    while byte >= MORE:
        if shift == 7 * INT_BYTES:
            return TOO_LONG, at
        at += 1
        byte = buffer[at]
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), at + 1


def _skip_headers(buffer: bytes, at: int, stop: int, count: int) -> int:
    """Return the position after the headers (key, value), or -1 if they leave the record or a key is null."""
    for _ in range(count):
        for smallest in (0, -1):
            size, at = _varint_at(buffer, at)
            if size < smallest or size > stop - at:
                return -1
            at += max(size, 0)
    return at
