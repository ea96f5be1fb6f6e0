"""Where the record batches of a log segment start, and what their headers say, one array per header field.

Source: Kafka's `DefaultRecordBatch` (magic 2) and `LegacyRecord` (magic 0 and 1).
"""

import struct
import zlib
from array import array
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

HEADER_SIZE: Final = 61
# baseOffset and batchLength, which batchLength does not count.
LOG_OVERHEAD: Final = 12
MAGIC_AT: Final = 16
CRC_AT: Final = 17
# The CRC covers everything from the attributes on.
ATTRIBUTES_AT: Final = 21
MAGIC: Final = 2
LEGACY_OVERHEAD: Final = 14

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20


class SegmentError(ValueError):
    """A file that cannot be read as a log segment; `position` is the byte that says so."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


class NotASegmentError(SegmentError):
    """The file holds no record batch of any magic."""


class UnsupportedMagicError(SegmentError):
    """The file holds messages of magic 0 or 1, which Kafka wrote before 0.11."""


@dataclass(frozen=True, slots=True)
class BatchHeaders:
    """The headers of a segment's batches in file order: `position` and `size` in bytes, offsets, times in ms."""

    position: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    base_offset: npt.NDArray[np.int64]
    magic: npt.NDArray[np.int8]
    crc: npt.NDArray[np.uint32]
    attributes: npt.NDArray[np.int16]
    last_offset_delta: npt.NDArray[np.int32]
    base_timestamp: npt.NDArray[np.int64]
    max_timestamp: npt.NDArray[np.int64]
    producer_id: npt.NDArray[np.int64]
    count: npt.NDArray[np.int32]

    @classmethod
    def read(cls, segment: memoryview, positions: npt.NDArray[np.int64]) -> "BatchHeaders":
        """Read the headers at these byte positions, each of which has `HEADER_SIZE` bytes before the file ends."""

        def field(at: int, dtype: str) -> npt.NDArray[Any]:
            wire = np.dtype(dtype)
            # The big-endian value at every byte of the file, without a copy.
            shape = (max(len(segment) - wire.itemsize + 1, 0),)
            view: npt.NDArray[Any] = np.ndarray(shape, wire, segment, strides=(1,))
            return view[positions + at].astype(wire.newbyteorder("="))

        return cls(
            position=positions,
            size=field(8, ">i4").astype(np.int64) + LOG_OVERHEAD,
            base_offset=field(0, ">i8"),
            magic=field(MAGIC_AT, ">i1"),
            crc=field(CRC_AT, ">u4"),
            attributes=field(ATTRIBUTES_AT, ">i2"),
            last_offset_delta=field(23, ">i4"),
            base_timestamp=field(27, ">i8"),
            max_timestamp=field(35, ">i8"),
            producer_id=field(43, ">i8"),
            count=field(57, ">i4"),
        )

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, selection: slice | npt.NDArray[np.int64]) -> "BatchHeaders":
        return BatchHeaders(*(getattr(self, name)[selection] for name in self.__slots__))

    @property
    def last_offset(self) -> npt.NDArray[np.int64]:
        """The last offset that each batch covers, whether or not a record is left there."""
        return self.base_offset + self.last_offset_delta

    def has(self, attribute: int) -> npt.NDArray[np.bool_]:
        """Which batches have this attribute bit."""
        having: npt.NDArray[np.bool_] = (self.attributes & attribute) != 0
        return having

    def faults(self, base_offset: int | None) -> dict[int, str]:
        """The batches whose headers cannot be right, with the reason; what is left can be added and compared safely.

        The CRC does not cover the base offset, so a batch that breaks the order of offsets is a fault too.
        """
        checks = (
            (self.magic != MAGIC, "magic is not 2"),
            (self.base_offset < 0, "negative base offset"),
            (self.last_offset_delta < 0, "negative last offset delta"),
            (self.last_offset < self.base_offset, "last offset past the largest offset"),
            (self.count < 0, "negative record count"),
        )
        found = {int(index): reason for mask, reason in reversed(checks) for index in np.flatnonzero(mask)}
        sound = np.setdiff1d(np.arange(len(self)), np.fromiter(found, np.int64, len(found)), assume_unique=True)
        found.update(
            (int(sound[index]), "offsets overlap the batch beside it")
            for index in self[sound].out_of_order(base_offset)
        )
        return found

    def out_of_order(self, base_offset: int | None) -> list[int]:
        """The batches that break the ascending order of offsets.

        Of two that overlap, the first is at fault if it left a gap behind the batch before it and the second fits
        there, else the second.
        """
        base, last = self.base_offset, self.last_offset
        start = base[:1] - 1 if base_offset is None else np.array([base_offset - 1])
        before = np.concatenate([start, last[:-1]])
        second = np.flatnonzero(base[1:] <= last[:-1]) + 1
        first = second - 1
        first_at_fault = (base[first] > before[first] + 1) & (base[second] > before[first])
        blamed: list[int] = np.where(first_at_fault, first, second).tolist()
        return blamed


@dataclass(frozen=True, slots=True)
class Tail:
    """What follows the last whole batch of a file; `reason` is None for nothing and for preallocated zeros."""

    position: int
    reason: str | None


def find_batches(segment: memoryview) -> tuple[npt.NDArray[np.int64], Tail]:
    """Follow the batch lengths from the start of the file: the position of every whole batch, and what is behind them.

    Raises `UnsupportedMagicError` for a message of magic 0 or 1 whose CRC holds, `NotASegmentError` for a file without
    any batch.
    """
    positions = array("q")
    size = len(segment)
    position = 0
    unpack_length = struct.Struct(">i").unpack_from
    while position + HEADER_SIZE <= size:
        (length,) = unpack_length(segment, position + 8)
        if length < HEADER_SIZE - LOG_OVERHEAD or position + LOG_OVERHEAD + length > size:
            break
        positions.append(position)
        position += LOG_OVERHEAD + length
    found = np.frombuffer(positions, np.int64) if positions else np.zeros(0, np.int64)
    magic = np.frombuffer(segment, np.int8)[found + MAGIC_AT]
    _refuse_legacy(segment, [*found[magic != MAGIC].tolist(), position])
    tail = _tail(segment, position)
    foreign = tail.reason is not None and not _starts_like_batch(segment)
    if not (magic == MAGIC).any() and (len(found) or foreign):
        raise NotASegmentError("not a log segment: it does not start with a record batch (magic 2)")
    return found, tail


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
    # Fewer zeros may as well be the first bytes of a base offset.
    if not len(rest) or (len(rest) >= LOG_OVERHEAD and not np.frombuffer(rest, np.uint8).any()):
        return Tail(position, None)
    if _starts_like_batch(rest) and (len(rest) < LOG_OVERHEAD or _length(rest) >= HEADER_SIZE - LOG_OVERHEAD):
        return Tail(position, f"the file is cut inside the batch at byte {position}")
    return Tail(position, f"no record batch at byte {position}")


def _starts_like_batch(rest: memoryview) -> bool:
    """Whether the first bytes, as far as they go, can be a batch of magic 2, with an offset below 2^56."""
    return rest[0] == 0 and (len(rest) <= MAGIC_AT or rest[MAGIC_AT] == MAGIC)


def _length(rest: memoryview) -> int:
    return int.from_bytes(rest[8:LOG_OVERHEAD], "big", signed=True)
