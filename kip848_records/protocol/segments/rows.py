"""The rows of a log segment: their schema, and how a group of parsed batches fills it."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kip848_records.protocol.columnar.scatter import scatter
from kip848_records.protocol.columnar.slices import Slices
from kip848_records.protocol.segments import transactions
from kip848_records.protocol.segments.faults import BatchError
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
        ("producer_epoch", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("control", pa.string()),
        ("error_code", pa.string()),
        ("error", pa.string()),
    ]
)

# The row of an unreadable batch keeps so many of its bytes: a batch at Kafka's default message.max.bytes fits.
ERROR_VALUE_BYTES: Final = 1024 * 1024 + 12
NO_OFFSET: Final = -1
NO_TIMESTAMP_TYPE: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1

# Control record types 0 and 1 of Kafka's `ControlRecordType`, then any other.
CONTROL_NAMES: Final = ("abort", "commit", "unknown")
UNKNOWN_CONTROL: Final = 2
CONTROL_KEY_SIZE: Final = 4
KEY_TYPE_SIZE: Final = 2
COMPACTED: Final = "compacted"


@cache
def _array(names: tuple[str, ...]) -> pa.StringArray:
    """Return names as an array. It is built on demand, because `pa.array` imports pandas, which takes time."""
    return pa.array(names)


@dataclass(frozen=True, slots=True)
class BatchGroup:
    """Neighbouring batches: the records of the readable ones, and the others' errors by index in `headers`.

    `misplaced` batches have a header that cannot be right, and so a wrong offset. `every`: the records of all parts, if
    this is a part of a single batch.
    """

    headers: BatchHeaders
    buffer: bytes
    records: RecordFields
    errors: dict[int, BatchError]
    misplaced: frozenset[int]
    every: RecordFields

    def reached(self, at_start: int | None) -> int | None:
        """Return the offset after the last readable batch; `at_start` if there is none."""
        last = next((batch for batch in reversed(range(len(self.headers))) if batch not in self.errors), None)
        return at_start if last is None else int(self.headers.last_offset[last]) + 1

    def key_types(self) -> npt.NDArray[np.int64]:
        """The first int16 of each record's key, as an unsigned number; -1 for none."""
        return self._int16_of_keys(self.records, 0, KEY_TYPE_SIZE, -1)

    def control_types(self, records: RecordFields) -> npt.NDArray[np.int64]:
        """The control type of some of its records, read as control records: an index into `CONTROL_NAMES`."""
        # A control record's key is int16 version, int16 type.
        return np.minimum(self._int16_of_keys(records, 2, CONTROL_KEY_SIZE, UNKNOWN_CONTROL), UNKNOWN_CONTROL)

    def _int16_of_keys(self, records: RecordFields, place: int, smallest_key: int, none: int) -> npt.NDArray[np.int64]:
        raw = np.frombuffer(self.buffer, np.uint8)
        whole = records.key_size >= smallest_key
        at = np.where(whole, records.key_start + place, 0)
        return np.where(whole, (raw[at].astype(np.int64) << 8) | raw[at + 1], none)


@dataclass(frozen=True, slots=True)
class GroupColumns:
    """The columns of a group's records before any becomes a row: one element per record, in log order.

    `timestamp` is in ms since the epoch, `gap` as `compaction_gap` of `SEGMENT_SCHEMA`, `outcome` a code of
    `transactions.OUTCOMES`. `expected`: the offset of the first record if none is missing before it. `reached`: the
    offset after the last readable batch before it. Both are None if unknown. `unread`: the batches that could not be
    read. `unread_at`: the index of the record after each of them, or the number of records if there is none.
    """

    group: BatchGroup
    expected: int | None
    reached: int | None
    offset: npt.NDArray[np.int64]
    timestamp: npt.NDArray[np.int64]
    gap: npt.NDArray[np.bool_]
    outcome: npt.NDArray[np.int8]
    is_control: npt.NDArray[np.bool_]
    unread: list[int]
    unread_at: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def unread_offsets(self) -> list[int]:
        """The offset of each unreadable batch; for a misplaced one, the lowest possible offset."""
        headers, unread = self.group.headers, np.array(self.unread, np.int64)
        read = np.delete(np.arange(len(headers)), unread)
        at_start = NO_OFFSET if self.reached is None else self.reached
        least = np.append(at_start, headers.last_offset[read] + 1)[np.searchsorted(read, unread)]
        is_misplaced = np.isin(unread, list(self.group.misplaced)) & (least != NO_OFFSET)
        offsets: list[int] = np.where(is_misplaced, least, headers.base_offset[unread]).tolist()
        return offsets

    @property
    def ends_unread(self) -> bool:
        """Whether an unreadable batch follows all records."""
        return bool(self.unread) and int(self.unread_at[-1]) == len(self)

    @property
    def next_expected(self) -> int | None:
        """The offset of the record after the group if none is missing, None if unknown."""
        if self.ends_unread:
            return None
        return int(self.offset[-1]) + 1 if len(self) else self.expected


def group_columns(
    group: BatchGroup, outcomes: npt.NDArray[np.int8], expected: int | None, reached: int | None
) -> GroupColumns:
    """Return the columns of a group's records; `outcomes` are the transaction codes of its batches."""
    headers, batch_of = group.headers, group.records.batch
    offset = headers.base_offset[batch_of] + group.records.offset_delta
    unread = sorted(group.errors)
    unread_at = np.searchsorted(batch_of, unread)

    gap = np.zeros(len(offset), np.bool_)
    gap[1:] = offset[1:] > offset[:-1] + 1
    gap[:1] = expected is not None and offset[:1] > expected
    gap[unread_at[unread_at < len(gap)]] = False
    # With a delete horizon, baseTimestamp is the horizon, and the deltas still count from it.
    timestamp = headers.base_timestamp[batch_of] + group.records.timestamp_delta
    if (is_append_time := headers.has(LOG_APPEND_TIME)).any():
        timestamp = np.where(is_append_time[batch_of], headers.max_timestamp[batch_of], timestamp)
    return GroupColumns(
        group=group,
        expected=expected,
        reached=reached,
        offset=offset,
        timestamp=timestamp,
        gap=gap,
        outcome=outcomes[batch_of],
        is_control=headers.has(CONTROL)[batch_of],
        unread=unread,
        unread_at=unread_at,
    )


def group_rows(segment: memoryview, columns: GroupColumns, chosen: npt.NDArray[np.bool_] | None) -> pa.RecordBatch:
    """Return the rows of a group's chosen records, None for all, and of unreadable batches."""
    chosen_rows = slice(None) if chosen is None else np.flatnonzero(chosen)
    rows = _record_rows(columns, chosen_rows)
    if not columns.unread:
        return rows
    # The row of an error precedes the first record of a later batch.
    order = np.argsort(np.concatenate([columns.group.records.batch[chosen_rows], columns.unread]), kind="stable")
    errors = _error_rows(segment, columns)
    return pa.concat_batches([rows, errors]).take(pa.array(order))


def _error_rows(segment: memoryview, columns: GroupColumns) -> pa.RecordBatch:
    headers, batches = columns.group.headers, columns.unread
    spans = zip(headers.position[batches].tolist(), headers.size[batches].tolist(), strict=True)
    unread = [segment[start : start + size] for start, size in spans]
    return error_rows(unread, [columns.group.errors[batch] for batch in batches], columns.unread_offsets)


def error_rows(unread: list[memoryview], errors: list[BatchError], offsets: list[int]) -> pa.RecordBatch:
    """Return a row for each section of a file that could not be read as records."""
    return _rows(
        {
            "offset": offset,
            "value": bytes(data[:ERROR_VALUE_BYTES]),
            "timestamp_type": NO_TIMESTAMP_TYPE,
            "error_code": error.fault.value,
            "error": error.reason,
        }
        for data, error, offset in zip(unread, errors, offsets, strict=True)
    )


def compacted_row(last_batch: BatchHeaders) -> pa.RecordBatch:
    """Return the row with the end of a file whose last batch has lost its last records."""
    row = {
        "offset": int(last_batch.last_offset[0]),
        "timestamp": int(last_batch.max_timestamp[0]),
        "timestamp_type": int(last_batch.has(LOG_APPEND_TIME)[0]),
        "leader_epoch": int(last_batch.leader_epoch[0]),
        "compaction_gap": True,
        "control": COMPACTED,
    }
    return _rows([row])


def _rows(rows: Iterable[dict[str, object]]) -> pa.RecordBatch:
    defaults = {
        "transaction": transactions.OUTCOMES[transactions.NONE],
        "compaction_gap": False,
        "producer_id": NO_PRODUCER_ID,
        "producer_epoch": NO_PRODUCER_EPOCH,
    }
    return pa.RecordBatch.from_pylist([defaults | row for row in rows], SEGMENT_SCHEMA)


def _record_rows(columns: GroupColumns, chosen: slice | npt.NDArray[np.int64]) -> pa.RecordBatch:
    group, records = columns.group, columns.group.records[chosen]
    batch_of = records.batch
    key_size, value_size = records.key_size, records.value_size
    control = pa.nulls(len(records), pa.string())
    is_control = columns.is_control[chosen]
    if is_control.any():
        at = np.flatnonzero(is_control)
        names = _array(CONTROL_NAMES).take(pa.array(group.control_types(records[at])))
        control = scatter(names, at, len(records))
        key_size, value_size = np.where(is_control, -1, key_size), np.where(is_control, -1, value_size)
    buffer = pa.py_buffer(group.buffer)
    arrays = [
        pa.array(columns.offset[chosen]),
        pa.array(columns.timestamp[chosen]),
        pa.array(group.headers.has(LOG_APPEND_TIME)[batch_of].astype(np.int32)),
        *(
            Slices.of(buffer, start, start + np.maximum(size, 0)).array(pa.binary(), size < 0)
            for start, size in ((records.key_start, key_size), (records.value_start, value_size))
        ),
        _array(transactions.OUTCOMES).take(pa.array(columns.outcome[chosen])),
        pa.array(columns.gap[chosen]),
        pa.array(group.headers.producer_id[batch_of]),
        pa.array(group.headers.producer_epoch[batch_of].astype(np.int32)),
        pa.array(group.headers.leader_epoch[batch_of]),
        control,
        pa.nulls(len(records), pa.string()),
        pa.nulls(len(records), pa.string()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SEGMENT_SCHEMA)
