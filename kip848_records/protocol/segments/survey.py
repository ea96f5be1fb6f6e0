"""A first scan of a whole segment: the positions of its batches, in windows of some MiB, and its validity.

A file may be larger than memory, and its batches smaller than 100 bytes: 5 bytes are kept for a good batch.

Source: Kafka's `DefaultRecordBatch` (magic 2) and `LegacyRecord` (magic 0 and 1).
"""

import struct
import zlib
from array import array
from dataclasses import dataclass
from typing import Final

import google_crc32c
import numpy as np
import numpy.typing as npt

from kip848_records.protocol.segments.compression import Decompressor
from kip848_records.protocol.segments.faults import BatchError, Fault
from kip848_records.protocol.segments.record_batch import (
    ATTRIBUTES_AT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    BatchHeaders,
)
from kip848_records.protocol.segments.window import Extent, next_window

LEGACY_OVERHEAD: Final = 14
_SEARCHED_BYTES: Final = 16 * 1024 * 1024
_MOST_OFFSETS: Final = 1 << 32
"""An upper limit for the offsets between two batches of a file: a segment has offsets of 31 bits."""


class SegmentError(ValueError):
    """A file that cannot be read as a log segment; `position` is the byte that shows it."""

    fault: Fault

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


class NotASegmentError(SegmentError):
    """The file holds no record batch of any magic."""

    fault = Fault.NOT_A_SEGMENT


class UnsupportedMagicError(SegmentError):
    """The file holds messages of magic 0 or 1, which Kafka wrote before 0.11."""

    fault = Fault.UNSUPPORTED_MAGIC


@dataclass(frozen=True, slots=True)
class Tail:
    """The bytes after the last whole batch of a file; `error` is None for nothing and for preallocated zeros."""

    position: int
    error: BatchError | None


@dataclass(frozen=True, slots=True)
class Survey:
    """The facts about a whole segment that its first row needs.

    `windows`: neighbouring batches that are read together. `out_of_order`: the positions of batches that break the
    order of offsets.
    """

    windows: list[Extent]
    out_of_order: npt.NDArray[np.int64]
    tail: Tail


def survey_segment(segment: memoryview, base_offset: int | None, decompressor: Decompressor) -> Survey:
    """Read the headers and check the CRCs from the start of the file to the last whole batch.

    Raises `UnsupportedMagicError` for a message of magic 0 or 1 whose CRC holds, `NotASegmentError` for a file without
    any batch.
    """
    windows: list[Extent] = []
    order = OffsetOrder(base_offset)
    any_batch = False
    end = 0
    while window := next_window(segment, end, decompressor):
        headers, end = window.headers, window.end
        windows.append(window.extent())
        other_magic = headers.magic != MAGIC
        _refuse_legacy(segment, headers.position[other_magic].tolist())
        any_batch |= not other_magic.all()
        if faults := headers.faults():
            headers = headers[np.delete(np.arange(len(headers)), list(faults))]
        order.add(headers)
        # The next window may be as large.
        del window
    _refuse_legacy(segment, [end])
    tail = _tail(segment, end)
    foreign = tail.error is not None and not _starts_like_batch(segment)
    if not any_batch and (windows or foreign):
        raise NotASegmentError("not a log segment: it does not start with a record batch (magic 2)")
    return Survey(windows, np.array(order.blamed, np.int64), tail)


class OffsetOrder:
    """Finds batches that break the ascending order of offsets; `add` takes a file's batches in portions of any size.

    The CRC does not cover the base offset, so a batch with a wrong one may look right otherwise.

    If two batches overlap, one is at fault: the first, if it left a gap after its predecessor and the second fits into
    that gap; else the second. `blamed` has the positions of the batches at fault, ascending.
    """

    def __init__(self, base_offset: int | None) -> None:
        self.blamed = array("q")
        self._base_offset = base_offset
        # The last two batches: position, first offset and last.
        self._seen: npt.NDArray[np.int64] = np.zeros((3, 0), np.int64)

    def add(self, batches: BatchHeaders) -> None:
        """Compare the next batches, whose headers have no faults."""
        if not len(batches):
            return
        added = np.stack([batches.position, batches.base_offset, batches.last_offset])
        position, base, last = both = np.concatenate([self._seen, added], axis=1)
        start = base[0] if self._base_offset is None else self._base_offset
        before = np.concatenate([[start - 1], last[:-1]])
        # Earlier batches have been compared with each other.
        new = max(self._seen.shape[1], 1)
        second = np.flatnonzero(base[new:] <= last[new - 1 : -1]) + new
        first = second - 1
        first_at_fault = (base[first] > before[first] + 1) & (base[second] > before[first])
        self.blamed.extend(position[np.where(first_at_fault, first, second)].tolist())
        self._seen = both[:, -2:]


def _refuse_legacy(segment: memoryview, positions: list[int]) -> None:
    for position in positions:
        if position + MAGIC_AT >= len(segment) or segment[position + MAGIC_AT] not in (0, 1):
            continue
        length, crc = struct.unpack_from(">iI", segment, position + 8)
        message_end = position + LOG_OVERHEAD + length
        if (
            length >= LEGACY_OVERHEAD
            and message_end <= len(segment)
            and zlib.crc32(segment[position + MAGIC_AT : message_end]) == crc
        ):
            raise UnsupportedMagicError(
                f"message of magic {segment[position + MAGIC_AT]} at byte {position}: only magic 2 is read",
                position,
            )


def _tail(segment: memoryview, position: int) -> Tail:
    rest = segment[position:]
    # Fewer zeros may also be the first bytes of a base offset.
    if not len(rest) or (len(rest) >= LOG_OVERHEAD and not np.frombuffer(rest, np.uint8).any()):
        return Tail(position, None)
    if _starts_like_batch(rest) and (len(rest) < LOG_OVERHEAD or _length(rest) >= HEADER_SIZE - LOG_OVERHEAD):
        if _holds_batch(rest[1:], int.from_bytes(rest[:8], "big")):
            reason = f"the batch at byte {position} has a wrong length, because others follow it"
            return Tail(position, BatchError(Fault.BAD_LENGTH, reason))
        return Tail(position, BatchError(Fault.CUT_OFF, f"the file is cut inside the batch at byte {position}"))
    return Tail(position, BatchError(Fault.NO_BATCH, f"no record batch at byte {position}"))


def _holds_batch(data: memoryview, base_offset: int) -> bool:
    """Return whether some bytes contain a whole batch of a higher offset, by its header and its CRC.

    Also true if there are more candidates than can be tried: truncated records rarely contain any.
    """
    to_try = 2 * len(data)
    for start in range(0, len(data) - HEADER_SIZE, _SEARCHED_BYTES):
        found = np.frombuffer(data[start : start + _SEARCHED_BYTES + MAGIC_AT], np.uint8)
        for place in np.flatnonzero((found[:-MAGIC_AT] == 0) & (found[MAGIC_AT:] == MAGIC)).tolist():
            end = start + place + LOG_OVERHEAD + _length(data[start + place :])
            if not start + place + HEADER_SIZE <= end <= len(data):
                continue
            batch = data[start + place : end]
            header = BatchHeaders.read(batch, np.zeros(1, np.int64))
            if header.faults() or not 0 < int(header.base_offset[0]) - base_offset < _MOST_OFFSETS:
                continue
            if google_crc32c.value(bytes(batch[ATTRIBUTES_AT:])) == header.crc[0]:
                return True
            to_try -= len(batch)
            if to_try < 0:
                return True
    return False


def _starts_like_batch(rest: memoryview) -> bool:
    """Return whether the first bytes, if complete, can be a batch of magic 2 with an offset below 2^56."""
    return rest[0] == 0 and (len(rest) <= MAGIC_AT or rest[MAGIC_AT] == MAGIC)


def _length(rest: memoryview) -> int:
    return int.from_bytes(rest[8:LOG_OVERHEAD], "big", signed=True)
