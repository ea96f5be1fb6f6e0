"""The last live record of every key of a group, as Kafka's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from kip848_records.protocol.decoder import decode_records
from kip848_records.protocol.kafka_json import key_json, value_json
from kip848_records.protocol.messages import DIALECTS
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
        self._dialect = DIALECTS[dialect]
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
        decoded = decode_records(pa.array(keys, pa.binary()), pa.array(values, pa.binary()), self._dialect)
        places = {
            "partition": pa.array(partitions, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
            "timestamp": timestamps(times),
        }
        for group in decoded.groups:
            rows = pa.array(group.rows)
            fields = dict(zip(group.key.type.names, group.key.flatten(), strict=True))
            columns = {
                **{name: column.take(rows) for name, column in places.items()},
                "key_type": pa.repeat(pa.scalar(group.record.key_type, pa.int32()), len(rows)),
                "record": pa.repeat(group.record.name, len(rows)),
                "group_id": fields.get("group_id", fields.get("group")),
                "member_id": fields.get("member_id", pa.nulls(len(rows), pa.string())),
                "key": key_json(group),
                "value": value_json(group),
                # Here are no offset commits, and Kafka writes no other records in transactions.
                "transaction": pa.repeat("none", len(rows)),
            }
            yield pa.RecordBatch.from_arrays([columns[name] for name in _SCHEMA.names], schema=_SCHEMA)
