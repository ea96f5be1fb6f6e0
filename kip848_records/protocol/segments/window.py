"""Neighbouring batches of a segment, some MiB of them, whose records are read in groups."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import google_crc32c
import numpy as np
import numpy.typing as npt

from kip848_records.protocol.segments import transactions
from kip848_records.protocol.segments.compression import NONE, Decompressor
from kip848_records.protocol.segments.faults import BatchError, Fault, UnreadableBatchError
from kip848_records.protocol.segments.record_batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL,
    HEADER_SIZE,
    LOG_OVERHEAD,
    TRANSACTIONAL,
    BatchHeaders,
)
from kip848_records.protocol.segments.record_fields import PADDING, RecordFields, parse_records
from kip848_records.protocol.segments.rows import BatchGroup

# With fewer bytes a file takes more NumPy steps; more do not stay in the processor's cache.
GROUP_BYTES: Final = 3 * 1024 * 1024
# The outcomes in control records of type abort, commit and any other.
MARKER_OUTCOMES: Final = np.array([transactions.ABORTED, transactions.COMMITTED, transactions.UNKNOWN], np.int8)

_ALL: Final = 1 << 62
"""More records than any window has."""


@dataclass(frozen=True, slots=True)
class Extent:
    """A window in its segment: `start` and `size` in bytes, the start of each batch in it, and which are `sound`.

    It has 5 bytes for each batch, because a file may have millions. `transactional`: whether it contains a batch of a
    transaction, or a control batch.
    """

    start: int
    size: int
    starts: npt.NDArray[np.int32]
    sound: npt.NDArray[np.bool_]
    transactional: bool

    def read(self, segment: memoryview, decompressor: Decompressor) -> "Window":
        """Return the window, read again."""
        data, starts = _copied(segment, self.start, self.size), self.starts.astype(np.int64)
        return Window(BatchHeaders.read(data, starts, self.start), data, starts, self.sound, decompressor)


@dataclass(frozen=True, slots=True)
class Window:
    """Neighbouring whole batches of a segment: their headers, a copy of their bytes, and the start of each in it.

    `sound`: which of them have a correct CRC, so that their headers contain what was written. Batches with more bytes
    of records than the limit of the decompressor are not checked.
    """

    headers: BatchHeaders
    data: bytes
    starts: npt.NDArray[np.int64]
    sound: npt.NDArray[np.bool_]
    decompressor: Decompressor

    @property
    def end(self) -> int:
        """The position of the batch after the last one."""
        return int(self.headers.position[-1] + self.headers.size[-1])

    def extent(self) -> Extent:
        """Return what it takes to read the window again."""
        start, size = int(self.headers.position[0]), len(self.data) - PADDING
        transactional = bool(self.headers.has(TRANSACTIONAL | CONTROL).any())
        return Extent(start, size, self.starts.astype(np.int32), self.sound, transactional)

    def markers(self, misplaced: dict[int, BatchError]) -> npt.NDArray[np.int8]:
        """Return the outcome in each batch that is a transaction marker; NONE for all others."""
        control = self.headers.has(CONTROL)
        marker = np.where(control, transactions.UNKNOWN, transactions.NONE).astype(np.int8)
        done = 0
        for group in self.groups(_ALL, misplaced, control) if control.any() else ():
            marker[done + group.records.batch] = MARKER_OUTCOMES[group.control_types(group.records)]
            done += len(group.headers)
        return marker

    def groups(
        self, batch_rows: int, misplaced: dict[int, BatchError], chosen: npt.NDArray[np.bool_] | None = None
    ) -> Iterator[BatchGroup]:
        """Split the batches into groups of at most `batch_rows` records and a few MiB, or of one batch.

        `misplaced`: the faults of batches with a header that cannot be right, by index. `chosen`: the batches whose
        records are read; None: all.
        """
        errors = {batch: self._unsound(batch) for batch in np.flatnonzero(~self.sound).tolist()} | misplaced
        is_read = np.ones(len(self.headers), np.bool_) if chosen is None else chosen.copy()
        is_read[list(errors)] = False
        records_up_to = np.cumsum(np.maximum(self.headers.count, 1), dtype=np.int64)
        start = 0
        while start < len(is_read):
            enough = records_up_to[start - 1] * (start > 0) + batch_rows
            stop = max(int(np.searchsorted(records_up_to, enough, side="right")), start + 1)
            headers, data, records, faults = self._records(slice(start, stop), is_read[start:stop])
            faults |= {at - start: errors[at] for at in errors if start <= at < start + len(headers)}
            located = {
                at: error._replace(reason=f"batch at byte {headers.position[at]}: {error.reason}")
                for at, error in faults.items()
            }
            yield BatchGroup(headers, data, records, located, frozenset(at - start for at in misplaced), records)
            start += len(headers)
            # The next group may be as large.
            del data, records

    def _records(
        self, batches: slice, is_read: npt.NDArray[np.bool_]
    ) -> tuple[BatchHeaders, bytes, RecordFields, dict[int, BatchError]]:
        """Return the headers of batches, as many as make up a group, with their records, and why some have none."""
        headers, data = self.headers[batches], self.data
        starts = self.starts[batches] + HEADER_SIZE
        ends = np.where(is_read, starts - HEADER_SIZE + headers.size, starts)
        counts = np.where(is_read, headers.count, 0).astype(np.int64)
        codecs = np.where(is_read, headers.attributes & CODEC_MASK, NONE)
        errors: dict[int, BatchError] = {}
        if codecs.any():
            contents, errors = self._decompressed(starts, ends, codecs)
            sizes = np.fromiter(map(len, contents), np.int64, len(contents))
            headers, counts, ends = headers[: len(sizes)], counts[: len(sizes)], PADDING + np.cumsum(sizes)
            counts[list(errors)] = 0
            starts = ends - sizes
            # A hash of a key may begin before it (`sources.key_hashes`), as a header does.
            data = b"".join((bytes(PADDING), *contents, bytes(PADDING)))
            del contents
        records, faults = parse_records(data, starts, ends, counts, headers.last_offset_delta.astype(np.int64))
        return headers, data, records, errors | faults

    def _decompressed(
        self, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], codecs: npt.NDArray[np.int16]
    ) -> tuple[list[bytes], dict[int, BatchError]]:
        """Return the records of batches, as many as make up a group, and the errors of those without any."""
        contents: list[bytes] = []
        errors: dict[int, BatchError] = {}
        size = 0
        for start, end, codec in zip(starts.tolist(), ends.tolist(), codecs.tolist(), strict=True):
            try:
                contents.append(self.decompressor.decompress(codec, self.data[start:end]))
            except UnreadableBatchError as unreadable:
                errors[len(contents)] = unreadable.error
                contents.append(b"")
            size += len(contents[-1])
            if size >= GROUP_BYTES:
                break
        return contents, errors

    def _unsound(self, batch: int) -> BatchError:
        """Return why a batch is not sound."""
        start, size = int(self.starts[batch]), int(self.headers.size[batch])
        if size - HEADER_SIZE > self.decompressor.limit:
            return BatchError(Fault.TOO_LARGE, f"refused: more than {self.decompressor.limit} bytes of records")
        actual = google_crc32c.value(self.data[start + ATTRIBUTES_AT : start + size])
        reason = f"its CRC-32C is {actual:#010x}, but the header has {self.headers.crc[batch]:#010x}"
        return BatchError(Fault.BAD_CRC, reason)


def next_window(segment: memoryview, start: int, decompressor: Decompressor) -> Window | None:
    """Return the whole batches in the next `GROUP_BYTES`, or a larger one; None if no whole batch starts there."""
    size = min(GROUP_BYTES, len(segment) - start)
    data = _copied(segment, start, size)
    starts, checksums = _checked_batches(data, size)
    if not starts:
        size = LOG_OVERHEAD + int.from_bytes(segment[start + 8 : start + LOG_OVERHEAD], "big", signed=True)
        if size < HEADER_SIZE or start + size > len(segment):
            return None
        # The records of a batch that is too large are not read.
        data = _copied(segment, start, size if size - HEADER_SIZE <= decompressor.limit else HEADER_SIZE)
        starts, checksums = [0], [google_crc32c.value(data[ATTRIBUTES_AT:size])]
    at = np.array(starts, np.int64)
    headers = BatchHeaders.read(data, at, start)
    sound = (np.array(checksums, np.uint32) == headers.crc) & (headers.size - HEADER_SIZE <= decompressor.limit)
    return Window(headers, data, at, sound, decompressor)


def _checked_batches(data: bytes, size: int) -> tuple[list[int], list[int]]:
    """Return the start of each whole batch in the first `size` bytes, and the CRC of its bytes.

    Everything that takes a step of Python for each batch is in this loop: it is half the time for small batches.
    """
    length_at, checksum = struct.Struct(">8xi").unpack_from, google_crc32c.value
    starts: list[int] = []
    checksums: list[int] = []
    start = 0
    # The zeros after them are no length.
    while start < size:
        (length,) = length_at(data, start)
        end = start + LOG_OVERHEAD + length
        if length < HEADER_SIZE - LOG_OVERHEAD or end > size:
            break
        starts.append(start)
        checksums.append(checksum(data[start + ATTRIBUTES_AT : end]))
        start = end
    return starts, checksums


def _copied(segment: memoryview, start: int, size: int) -> bytes:
    """Return bytes of a segment with padding. A copy, because a mapped file may change between check and use."""
    return b"".join((segment[start : start + size], bytes(PADDING)))
