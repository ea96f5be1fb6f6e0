"""Log rows as plain Python values, in log order; and log rows made of them. All of it runs on either engine."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from kip848_records.engines.embedded.relations import Relation
from kip848_records.engines.engine import Engine
from kip848_records.log.coverage import LogCoverage, read_coverage
from kip848_records.protocol.keys import key_columns
from kip848_records.queries.texts import literal
from kip848_records.sources.predicates import NEWEST_MS
from kip848_records.specs.log_columns import LOG_COLUMNS
from kip848_records.times import utc
from tests.equal_rows import Rows

AnyRows = pa.Table | Relation | DataFrame


def table_of(rows: AnyRows) -> pa.Table:
    """Rows of either engine, computed."""
    if isinstance(rows, pa.Table):
        return rows
    return pa.Table.from_batches(rows.batches(), rows.schema) if isinstance(rows, Relation) else rows.toArrow()


def in_log_order(log: AnyRows) -> list[dict[str, Any]]:
    """The rows of a log, by partition and offset, with the timestamp in µs.

    Not of which copy they are, nor what files cover.
    """
    rows = [row for row in table_of(log).to_pylist() if row.pop("file", None) is None]
    for row in rows:
        row.pop("copies", None)
        row["timestamp"] = row["timestamp"] and round(row["timestamp"].timestamp() * 1_000_000)
    return sorted(rows, key=lambda row: (row["partition"] is None, row["partition"], row["offset"] or -1))


def coverage_of(engine: Engine, log: AnyRows) -> LogCoverage:
    """What these rows of a log hold of each partition."""
    rows = engine.relation(log) if isinstance(log, pa.Table) else log
    of_cluster = engine.sql("SELECT 'c' AS cluster, 1 AS run, rows.* FROM {rows} AS rows", rows=rows)

    def ask(text: str, **parameters: str) -> list[Any]:
        """Answer SQL over these rows, as `LogTable.ask` does over those of a cluster."""
        for name, value in {"cluster": "c", **parameters}.items():
            text = re.sub(rf":{name}\b", literal(value).replace("\\", r"\\"), text)
        return engine.collect(engine.sql(f"WITH log AS (SELECT * FROM {{log}}) {text}", log=of_cluster))  # noqa: S608

    return read_coverage(engine, ask, rows)


def assert_same_rows(found: AnyRows, expected: AnyRows) -> None:
    """Fail, and show what differs, unless two logs have equal rows: not of which copy, nor what files cover."""
    types, rows = [], []
    for log in map(table_of, (found, expected)):
        types.append({field.name: field.type for field in log.schema if field.name not in {"copies", "file"}})
        rows.append(Rows(in_log_order(log)))
    assert types[0] == types[1]
    assert rows[0] == rows[1]


def files_of(log: AnyRows) -> list[dict[str, Any]]:
    """What files cover, by partition and copy, with partition and copy, and the newest skipped in ms."""
    told = [
        {"partition": row["partition"], "copy": (row["copies"] or [None])[0], **row["file"]}
        | {"newest_skipped": _ms(row["file"]["newest_skipped"])}
        for row in table_of(log).to_pylist()
        if row["file"] is not None
    ]
    return sorted(told, key=lambda row: (row["partition"], row["copy"], row["base_offset"] or 0))


def newest_ms(engine: Engine, log: pa.Table) -> int | None:
    """The newest time of a log, in ms."""
    (row,) = engine.collect(engine.sql(f"SELECT {NEWEST_MS} AS ms FROM {{log}}", log=engine.relation(log)))  # noqa: S608
    return row.ms


def _ms(at: datetime | None) -> int | None:
    return at and round(at.timestamp() * 1000)


def log_of(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """A log of rows that name only what matters; offsets count up unless given, timestamps are in ms."""
    defaults = {"partition": 0, "transaction": "none", "timestamp_type": 0, "copies": ["a"]}
    full = [{"offset": offset, "timestamp": 1_000_000 + offset, **defaults, **row} for offset, row in enumerate(rows)]
    return pa.Table.from_pylist([_completed(row) for row in full], LOG_COLUMNS)


def _completed(row: dict[str, Any]) -> dict[str, Any]:
    if row.get("file") is not None:
        return row | dict.fromkeys(("timestamp", "timestamp_type", "transaction"))
    at = {"timestamp": row["timestamp"] if row["timestamp"] is None else utc(row["timestamp"])}
    return {"error_code": "bad_crc" if row.get("error") else None} | row | at | keyed(row.get("key"))


def keyed(key: bytes | None) -> dict[str, Any]:
    """The columns that a key tells."""
    key_type, group_id = key_columns(pa.array([key], pa.binary()))
    return {"key_type": key_type[0].as_py(), "group_id": group_id[0].as_py()}
