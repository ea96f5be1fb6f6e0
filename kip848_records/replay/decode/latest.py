"""The last live record of every key of a group, as Kafka's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.decoded_rows import json_records
from kip848_records.replay.arrow_rows import timestamps
from kip848_records.replay.rows import LatestState, row_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SCHEMA: Final = pa.schema(list(row_type(LatestState)))
_ROWS: Final = 10_000
_BYTES: Final = 4 << 20


class RawRecord(NamedTuple):
    """A record with a value, not decoded; `timestamp` is in ms."""

    offset: int
    timestamp: int | None
    value: bytes


class LatestStates:
    """Converts live keys to rows of `LatestState`, those of many small groups together."""

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._waiting: list[tuple[int, bytes, RawRecord]] = []
        self._bytes = 0

    def add(self, partition: int, live: Mapping[bytes, RawRecord]) -> Iterator[pa.RecordBatch]:
        """Add the last records of the live keys of a group that has ended; yield full batches."""
        for key, record in live.items():
            self._waiting.append((partition, key, record))
            self._bytes += len(key) + len(record.value)
            if len(self._waiting) >= _ROWS or self._bytes >= _BYTES:
                yield from self.flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yield the remaining rows. A key whose record does not decode, or has an unknown type, has no row."""
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        if not waiting:
            return
        partitions, keys, records = zip(*waiting, strict=True)
        offsets, times, values = zip(*records, strict=True)
        columns = {
            "partition": pa.array(partitions, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "timestamp": timestamps(times),
            # Here are no offset commits, and Kafka writes no other records in transactions.
            "transaction": pa.repeat("none", len(waiting)),
            "key": pa.array(keys, pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
        for rows in json_records(self._dialect, [pa.RecordBatch.from_pydict(columns)]):
            known = rows.filter(pc.and_(pc.is_null(rows["error"]), pc.is_valid(rows["record"])))
            if known.num_rows:
                yield known.select(_SCHEMA.names).cast(_SCHEMA)
