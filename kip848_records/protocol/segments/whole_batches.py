"""Cuts the bytes of a Fetch response, which a broker cuts at a size, at the last whole batch.

Source: Kafka's `DefaultRecordBatch`.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from kip848_records.protocol.segments.faults import Fault, UnreadableBatchError
from kip848_records.protocol.segments.record_batch import HEADER_SIZE, LOG_OVERHEAD

_START: Final = struct.Struct(">qi")
_DELTA_AT: Final = 23
_DELTA: Final = struct.Struct(">i")


class Cut(NamedTuple):
    """Whole batches at the start of some bytes.

    `end`: where they end; `last`: where the last of them begins. `following`: the offset to read on from; None without
    a whole batch.
    """

    end: int
    last: int
    following: int | None


def whole_batches(content: memoryview | bytes, first: int, until: int) -> Cut:
    """Return the whole batches that begin before the offset `until`, of an answer to a request for the offset `first`.

    `following` is `until` if the next batch begins there or behind: the range was read to its end. Raises
    UnreadableBatchError for a length that no batch has, and if all whole batches end before `first`: reading on would
    never end.
    """
    position, last, size = 0, -1, len(content)
    while position + LOG_OVERHEAD <= size:
        offset, length = _START.unpack_from(content, position)
        if offset >= until:
            return Cut(position, max(last, 0), until)
        if length < HEADER_SIZE - LOG_OVERHEAD:
            raise UnreadableBatchError(Fault.BAD_LENGTH, f"a batch of {length} bytes is too short")
        if (following := position + LOG_OVERHEAD + length) > size:
            break
        last, position = position, following
    if last < 0:
        return Cut(0, 0, None)
    if (reached := offset_behind(content, last)) <= first:
        raise UnreadableBatchError(Fault.BAD_HEADER, f"asked for offset {first}, it ends before offset {reached}")
    return Cut(position, last, reached)


def base_offset(content: memoryview | bytes, position: int = 0) -> int:
    """Return the offset with which the batch at a position begins."""
    return int(_START.unpack_from(content, position)[0])


def offset_behind(content: memoryview | bytes, position: int = 0) -> int:
    """Return the offset behind the last one of the batch at a position; compaction keeps both in its header."""
    return base_offset(content, position) + int(_DELTA.unpack_from(content, position + _DELTA_AT)[0]) + 1
