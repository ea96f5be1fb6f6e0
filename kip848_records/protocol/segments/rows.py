"""The rows that a log segment becomes: their schema, and how a group of parsed batches fills it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kip848_records.protocol.segments import transactions
from kip848_records.protocol.segments.record_batch import CONTROL, LOG_APPEND_TIME, BatchHeaders
from kip848_records.protocol.segments.record_fields import RecordFields

SEGMENT_SCHEMA: Final = pa.schema(
    [
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("timestamp_type", pa.int32()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("transaction", pa.string()),
        ("compaction_gap", pa.bool_()),
        ("producer_id", pa.int64()),
        ("control", pa.string()),
        ("error", pa.string()),
    ]
)

# What the row of an unreadable batch keeps of its bytes: a batch at Kafka's default message.max.bytes fits.
ERROR_VALUE_BYTES: Final = 1024 * 1024 + 12
OFFSET_SIZE: Final = 8
NO_TIMESTAMP_TYPE: Final = -1
NO_PRODUCER_ID: Final = -1

# Control record types 0 and 1 of Kafka's `ControlRecordType`, then any other.
CONTROL_NAMES: Final = pa.array(["abort", "commit", "unknown"])
UNKNOWN_CONTROL: Final = 2
CONTROL_KEY_SIZE: Final = 4
COMPACTED: Final = "compacted"
OUTCOME_NAMES: Final = pa.array(transactions.OUTCOMES)


@dataclass(frozen=True, slots=True)
class BatchGroup:
    """Neighbouring batches: the records of those that could be read, and the others' errors by index in `headers`."""

    headers: BatchHeaders
    buffer: bytes
    records: RecordFields
    errors: dict[int, str]

    def control_types(self) -> npt.NDArray[np.int64]:
        """Of each record, read as a control record: an index into `CONTROL_NAMES`."""
        # A control record's key is int16 version, int16 type.
        raw = np.frombuffer(self.buffer, np.uint8)
        whole = self.records.key_size >= CONTROL_KEY_SIZE
        at = np.where(whole, self.records.key_start + 2, 0)
        control_type = (raw[at].astype(np.int64) << 8) | raw[at + 1]
        return np.where(whole & (control_type < UNKNOWN_CONTROL), control_type, UNKNOWN_CONTROL)


def group_rows(
    segment: memoryview, group: BatchGroup, outcomes: npt.NDArray[np.int8], expected: int | None
) -> tuple[pa.RecordBatch, int | None]:
    """Return the rows of a group, and the offset that the row after it has if none is missing (None: not known).

    `outcomes` are the transaction codes of the group's batches, `expected` is what the group before returned.
    """
    batch_of = group.records.batch
    offset = group.headers.base_offset[batch_of] + group.records.offset_delta
    error_batches = sorted(group.errors)
    # An error's row goes before the first record of a later batch.
    error_at = np.searchsorted(batch_of, error_batches)

    gap = np.zeros(len(offset), np.bool_)
    gap[1:] = offset[1:] > offset[:-1] + 1
    gap[:1] = expected is not None and offset[:1] > expected
    gap[error_at[error_at < len(gap)]] = False
    if len(offset):
        expected = int(offset[-1]) + 1
    if not error_batches:
        return _record_rows(group, offset, gap, outcomes), expected

    if error_at[-1] == len(offset):
        expected = None
    order = np.argsort(np.concatenate([batch_of, error_batches]), kind="stable")
    rows = [_record_rows(group, offset, gap, outcomes), _error_rows(segment, group, error_batches)]
    return pa.concat_batches(rows).take(pa.array(order)), expected


def _error_rows(segment: memoryview, group: BatchGroup, batches: list[int]) -> pa.RecordBatch:
    batch_ends = group.headers.position + group.headers.size
    spans = zip(group.headers.position[batches].tolist(), batch_ends[batches].tolist(), strict=True)
    unread = [segment[start:end] for start, end in spans]
    return error_rows(unread, [group.errors[batch] for batch in batches])


def error_rows(unread: list[memoryview], reasons: list[str]) -> pa.RecordBatch:
    """Return a row for each stretch of bytes that could not be read as records."""
    return _rows(
        {
            "offset": int.from_bytes(data[:OFFSET_SIZE], "big", signed=True) if len(data) >= OFFSET_SIZE else -1,
            "value": bytes(data[:ERROR_VALUE_BYTES]),
            "timestamp_type": NO_TIMESTAMP_TYPE,
            "error": reason,
        }
        for data, reason in zip(unread, reasons, strict=True)
    )


def compacted_row(last_batch: BatchHeaders) -> pa.RecordBatch:
    """Return the row that says how far a file reaches whose last batch has lost its last records."""
    row = {
        "offset": int(last_batch.last_offset[0]),
        "timestamp": int(last_batch.max_timestamp[0]),
        "timestamp_type": int(last_batch.has(LOG_APPEND_TIME)[0]),
        "compaction_gap": True,
        "control": COMPACTED,
    }
    return _rows([row])


def _rows(rows: Iterable[dict[str, object]]) -> pa.RecordBatch:
    defaults = {
        "transaction": transactions.OUTCOMES[transactions.NONE],
        "compaction_gap": False,
        "producer_id": NO_PRODUCER_ID,
    }
    return pa.RecordBatch.from_pylist([defaults | row for row in rows], SEGMENT_SCHEMA)


def _record_rows(
    group: BatchGroup, offset: npt.NDArray[np.int64], gap: npt.NDArray[np.bool_], outcomes: npt.NDArray[np.int8]
) -> pa.RecordBatch:
    headers, records = group.headers, group.records
    batch_of = records.batch
    log_append_time = headers.has(LOG_APPEND_TIME)[batch_of]
    # With a delete horizon baseTimestamp is the horizon, and the deltas count from there all the same.
    timestamp = np.where(
        log_append_time, headers.max_timestamp[batch_of], headers.base_timestamp[batch_of] + records.timestamp_delta
    )
    key_size, value_size = records.key_size, records.value_size
    control = pa.nulls(len(records), pa.string())
    is_control = headers.has(CONTROL)[batch_of]
    if is_control.any():
        control = CONTROL_NAMES.take(pa.array(group.control_types(), mask=~is_control))
        key_size, value_size = np.where(is_control, -1, key_size), np.where(is_control, -1, value_size)
    buffer = pa.py_buffer(group.buffer)
    columns = [
        pa.array(offset),
        pa.array(timestamp),
        pa.array(log_append_time.astype(np.int32)),
        _slices(buffer, records.key_start, key_size),
        _slices(buffer, records.value_start, value_size),
        OUTCOME_NAMES.take(pa.array(outcomes[batch_of])),
        pa.array(gap),
        pa.array(headers.producer_id[batch_of]),
        control,
        pa.nulls(len(records), pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SEGMENT_SCHEMA)


def _slices(buffer: pa.Buffer, start: npt.NDArray[np.int64], size: npt.NDArray[np.int64]) -> pa.BinaryArray:
    """Copy the slices of a buffer, in ascending order, into an array; a negative size is null.

    The offsets start, end, start, end, … make an array of the slices and of what lies between them; `take` picks the
    slices.
    """
    offsets = np.empty(2 * len(start), np.int32)
    offsets[::2] = start
    offsets[1::2] = start + np.maximum(size, 0)
    if not len(start):
        return pa.array([], pa.binary())
    interleaved = pa.BinaryArray.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), buffer])
    return interleaved.take(pa.array(np.arange(0, len(offsets), 2), mask=size < 0))
