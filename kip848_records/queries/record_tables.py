"""Typed records for a query without Spark: the records of one type, decoded from the log into a Parquet file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.machine.parquet import Writer
from kip848_records.protocol.columns import OFFSET_COMMIT_TABLE, TIMES, record_columns
from kip848_records.protocol.decoded_rows import typed_records
from kip848_records.protocol.messages import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

_ROWS: Final = """
SELECT log.partition, log.offset, log.timestamp, log.key, log.value FROM log
WHERE log.cluster = $cluster AND log.content = 'record' AND log.error_code IS NULL AND log.transaction <> 'aborted'
  AND list_contains($key_types, log.key_type)
"""
DECODED: Final = frozenset(
    record.table for dialect in DIALECTS.values() for record in dialect.records if record.table != OFFSET_COMMIT_TABLE
)
"""The record types that a query decodes. Whether an offset commit counts depends on markers: an audit resolves it."""


def write_records(connection: duckdb.DuckDBPyConnection, table: str, dialects: dict[str, str], file: Path) -> None:
    """Write the records of a type as Parquet. `dialects`: by cluster; `log`, a view of the log, must exist."""
    schema = record_columns(table)
    with Writer(file, schema.insert(0, pa.field("cluster", pa.string()))) as writer:
        for cluster, dialect in dialects.items():
            key_types = [record.key_type for record in DIALECTS[dialect].of_table(table)]
            if not key_types:
                continue
            rows = connection.sql(_ROWS, params={"cluster": cluster, "key_types": key_types})
            for decoded in typed_records(table, dialect, _batches(rows)):
                named = decoded.cast(schema)
                columns = [pa.repeat(cluster, named.num_rows), *named.columns]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=writer.schema))


def _batches(rows: duckdb.DuckDBPyRelation) -> Iterator[pa.RecordBatch]:
    for batch in rows.to_arrow_reader(10_000):
        at = batch.schema.get_field_index("timestamp")
        yield batch.set_column(at, "timestamp", batch["timestamp"].cast(TIMES))
