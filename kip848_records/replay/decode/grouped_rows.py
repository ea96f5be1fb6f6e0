"""The columns of raw log rows in the form that records need, and the split of rows into groups."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.replay.decode.columns import int_objects, new
from kip848_records.replay.decode.latest import RawRecord
from kip848_records.replay.records import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from kip848_records.kinds import Role
    from kip848_records.replay.refusals import Refusal

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

LOG_SCHEMA: Final = pa.schema(
    [
        ("partition", pa.int32()),
        ("group_id", pa.string()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("error_code", pa.string()),
        ("error", pa.string()),
        ("leader_epoch", pa.int32()),
    ]
)
"""The log rows that a replay reads, sorted by partition, group_id and offset.

`group_id` comes from the key, null if the key has no readable one. `error_code` and `error` are set if the source could
not read a row; its `key` and `value` are the available bytes. Offset commits occur only as such rows.
"""

GROUP: Final = ("partition", "group_id")
"""The columns of a group."""

COMMIT_BEFORE: Final = "commit_before"
"""A column that a log may have besides (bigint): the offset of the group's last offset commit before the row."""

LARGEST_BYTES: Final = 2 << 20
"""How many bytes of rows are decoded at a time: large assignments take twenty times as much as Python values."""

_US_PER_MS: Final = 1000


class LogRows:
    """Log rows with the columns of `LOG_SCHEMA`; strings and bytes may have Arrow's large types."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.is_readable = ~_is_valid(batch["error_code"])
        self.is_placed = _is_valid(batch["partition"]) & _is_valid(batch["group_id"]) & _is_valid(batch["offset"])

    @cached_property
    def offset(self) -> NDArray[Any]:
        """Offsets, None if a damaged row has none."""
        return int_objects(self.batch["offset"])

    @cached_property
    def timestamp(self) -> NDArray[Any]:
        """Times in ms since 1970, or None."""
        micros = self.batch["timestamp"].cast(LOG_SCHEMA.field("timestamp").type).cast(pa.int64())
        millis = micros.fill_null(0).to_numpy() // _US_PER_MS
        return int_objects(pa.array(millis, mask=~_is_valid(micros)))

    @cached_property
    def size(self) -> Ints:
        """The size of key and value in bytes."""
        sizes: Ints = np.zeros(self.batch.num_rows, np.int64)
        for name in ("key", "value"):
            sizes += pc.binary_length(self.batch[name]).fill_null(0).to_numpy()
        return sizes

    @cached_property
    def leader_epoch(self) -> NDArray[Any]:
        """Partition leader epochs, or None."""
        return int_objects(self.batch["leader_epoch"])

    @cached_property
    def commit_before(self) -> NDArray[Any]:
        """Offsets of the last commits before the rows, or None."""
        if COMMIT_BEFORE in self.batch.schema.names:
            return int_objects(self.batch[COMMIT_BEFORE])
        return np.full(self.batch.num_rows, None)

    @cached_property
    def starts(self) -> Ints:
        """The start of each group, and the end of the last one."""
        is_first = np.ones(self.batch.num_rows + 1, bool)
        if self.batch.num_rows:
            groups = self.batch["group_id"].dictionary_encode().indices.fill_null(-1).to_numpy()
            partitions = self.batch["partition"].fill_null(-1).to_numpy()
            is_first[1:-1] = (groups[1:] != groups[:-1]) | (partitions[1:] != partitions[:-1])
        return np.flatnonzero(is_first)

    def groups(self) -> Iterator[tuple[int | None, str | None]]:
        """Yield partition and group id of each group, in the order of `starts`."""
        first = pa.array(self.starts[:-1])
        return zip(*(self.batch[name].take(first).to_pylist() for name in ("partition", "group_id")), strict=True)

    def records(  # noqa: PLR0913, PLR0917 - the fields of a record
        self,
        at: Ints,
        kind: str,
        role: Role,
        key_type: int,
        member_ids: Iterable[str | None],
        values: Iterable[Any],
        expressions: Iterable[str | None],
        refusals: Iterable[Refusal | None],
    ) -> Iterator[Record]:
        """Yield the records of these rows; the last four arguments have a value for each."""
        columns = (
            self.offset[at].tolist(),
            self.timestamp[at].tolist(),
            [kind] * len(at),
            [role] * len(at),
            [key_type] * len(at),
            member_ids,
            values,
            self.size[at].tolist(),
            expressions,
            self.leader_epoch[at].tolist(),
            refusals,
            self.commit_before[at].tolist(),
        )
        return map(new(Record), zip(*columns, strict=True))

    def latest(self) -> list[list[tuple[bytes, RawRecord | None]]]:
        """Return each group's keys with the last raw record of each: None for a tombstone or a lost record."""
        rows = self._last_of_keys()
        last = pa.array(rows)
        keys, values = (self.batch[name].take(last).to_numpy(zero_copy_only=False) for name in ("key", "value"))
        columns = (keys, values, self.is_readable[rows], self.offset[rows], self.timestamp[rows])
        raw_records = [
            (key, new(RawRecord)((offset, timestamp, value)) if value is not None and is_readable else None)
            for key, value, is_readable, offset, timestamp in zip(*(column.tolist() for column in columns), strict=True)
        ]
        return [raw_records[first:end] for first, end in pairwise(np.searchsorted(rows, self.starts).tolist())]

    def _last_of_keys(self) -> Ints:
        """Return the last row of each key in each group, ascending; rows without a key are skipped.

        One group id may be in several partitions.
        """
        codes = self.batch["key"].dictionary_encode().indices
        (rows,) = codes.is_valid().to_numpy(zero_copy_only=False).nonzero()
        groups = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        both = codes.drop_null().to_numpy() * len(self.starts) + groups[rows]
        places = pa.array(both).dictionary_encode().indices.to_numpy()
        last = np.zeros(int(places.max(initial=-1)) + 1, np.int64)
        last[places] = rows
        return np.sort(last)


def parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield slices of a batch, each of `LARGEST_BYTES` of keys and values or a single row."""
    sizes = LogRows(batch).size
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        end = max(int(np.searchsorted(ends, before + LARGEST_BYTES, side="right")), first + 1)
        yield batch.slice(first, end - first)
        first = end


def _is_valid(column: pa.Array) -> Bools:
    return column.is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
