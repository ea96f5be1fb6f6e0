"""The last offset of a segment, from its last batch alone."""

from typing import Final

import google_crc32c
import numpy as np
import numpy.typing as npt

from kip848_records.protocol.segments.record_batch import (
    ATTRIBUTES_AT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    BatchHeaders,
)

LARGEST_BATCH_BYTES: Final = 1 << 21
"""The size of the file's end that is searched for the last batch: the default limit is 1 MiB."""
_SEARCHED_BYTES: Final = (1 << 16, LARGEST_BATCH_BYTES)
"""Most are small."""
_LENGTH_AT: Final = 8


def last_offset(segment: memoryview) -> int | None:
    """Return the last offset of the batch that ends at the segment's end; None if no batch of up to 1 MiB does."""
    for size in _SEARCHED_BYTES:
        tail = segment[max(len(segment) - size, 0) :]
        for start in _candidates(tail):
            header = BatchHeaders.read(tail, np.array([start], np.int64))
            checked = bytes(tail[start + ATTRIBUTES_AT :])
            if not header.faults() and google_crc32c.value(checked) == header.crc[0]:
                return int(header.last_offset[0])
    return None


def _candidates(tail: memoryview) -> list[int]:
    """Return possible starts of a batch that ends at the end of these bytes, by its length and its magic."""
    count = len(tail) - HEADER_SIZE + 1
    if count <= 0:
        return []
    length: npt.NDArray[np.int32] = np.ndarray((count,), ">i4", tail, offset=_LENGTH_AT, strides=(1,))
    magic = np.frombuffer(tail, np.uint8)[MAGIC_AT : MAGIC_AT + count]
    ends_there = length == len(tail) - LOG_OVERHEAD - np.arange(count)
    found: list[int] = np.flatnonzero(ends_there & (magic == MAGIC)).tolist()
    return found
