"""The headers of record batches, one array per header field.

Source: Kafka's `DefaultRecordBatch` (magic 2).
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from kip848_records.protocol.segments.faults import BatchError, Fault

# The names are Kafka's (`leader_epoch`: `partitionLeaderEpoch`); `length` does not count the first two fields, `crc`
# covers all bytes after it.
HEADER: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", ">i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
HEADER_SIZE: Final = HEADER.itemsize
LOG_OVERHEAD: Final = 12
MAGIC_AT: Final = 16
ATTRIBUTES_AT: Final = 21
MAGIC: Final = 2

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20


@dataclass(frozen=True, slots=True)
class BatchHeaders:
    """The headers of a segment's batches in file order: `position` and `size` in bytes, offsets, times in ms."""

    position: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    base_offset: npt.NDArray[np.int64]
    leader_epoch: npt.NDArray[np.int32]
    magic: npt.NDArray[np.int8]
    crc: npt.NDArray[np.uint32]
    attributes: npt.NDArray[np.int16]
    last_offset_delta: npt.NDArray[np.int32]
    base_timestamp: npt.NDArray[np.int64]
    max_timestamp: npt.NDArray[np.int64]
    producer_id: npt.NDArray[np.int64]
    producer_epoch: npt.NDArray[np.int16]
    count: npt.NDArray[np.int32]

    @classmethod
    def read(cls, data: bytes | memoryview, starts: npt.NDArray[np.int64], position: int = 0) -> "BatchHeaders":
        """Read the headers that start in some bytes of a file, of which the first is at a position.

        Each has `HEADER_SIZE` bytes before the end of the bytes.
        """
        # A view of the header at every byte, without a copy; plain bytes are gathered faster than fields.
        shape = (max(len(data) - HEADER_SIZE + 1, 0),)
        every: npt.NDArray[Any] = np.ndarray(shape, f"V{HEADER_SIZE}", data, strides=(1,))
        headers = every[starts].view(HEADER)
        size = headers["length"].astype(np.int64) + LOG_OVERHEAD
        columns = (headers[name].astype(HEADER[name].newbyteorder("=")) for name in cls.__slots__[2:])
        return cls(starts + position, size, *columns)

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, selection: slice | npt.NDArray[np.int64]) -> "BatchHeaders":
        return BatchHeaders(*(getattr(self, name)[selection] for name in self.__slots__))

    @property
    def last_offset(self) -> npt.NDArray[np.int64]:
        """The last offset that each batch covers, with or without a record at it."""
        return self.base_offset + self.last_offset_delta

    def has(self, attribute: int) -> npt.NDArray[np.bool_]:
        """Return which batches have this attribute bit."""
        having: npt.NDArray[np.bool_] = (self.attributes & attribute) != 0
        return having

    def faults(self) -> dict[int, BatchError]:
        """The batches whose headers cannot be right; the offsets of the others can be added without overflow."""
        checks = (
            (self.magic != MAGIC, "magic is not 2"),
            (self.base_offset < 0, "negative base offset"),
            (self.last_offset_delta < 0, "negative last offset delta"),
            (self.last_offset < self.base_offset, "last offset past the largest offset"),
            (self.count < 0, "negative record count"),
        )
        return {
            int(index): BatchError(Fault.BAD_HEADER, reason)
            for mask, reason in reversed(checks)
            for index in np.flatnonzero(mask)
        }
