"""The tables of a log of Kafka rows, as an audit of that log would write them: without Spark, in a second.

The rows are one copy. Offset commits are left out.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kip848_records.log.bases import CopyCoverage, coverage_of
from kip848_records.log.extents import FileRow, extent
from kip848_records.pipeline.comparison import protocol_comparison
from kip848_records.pipeline.names import topic_names
from kip848_records.protocol.keys import key_columns
from kip848_records.queries.duck import DuckTables
from kip848_records.replay.decode.grouped_rows import LOG_SCHEMA
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.rows import ROW_CLASSES
from kip848_records.replay.worker import replay_batches
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.specs.log_columns import TOPIC
from kip848_records.specs.protocol_comparison import PROTOCOL_COMPARISON
from kip848_records.specs.registry import REPLAYED
from kip848_records.tables.arrow import replace_rows
from tests import made_tables

Row = dict[str, Any]

_COMMITS = (b"\0\0", b"\0\1")
_COPY = "log.parquet"


def write(  # noqa: PLR0913 - what an audit is told
    out: Path,
    cluster: str,
    rows: Iterable[Row],
    captured_at: datetime,
    *,
    dialect: str = "kafka",
    topics: Mapping[str, str] | None = None,
    earlier: Iterable[Row] = (),
    has_capture_time: bool = True,
) -> None:
    """Write the tables of rows (`simulate.log.KAFKA_ROWS`, timestamps in µs); `topics`: their names by id.

    `earlier`: rows of `audit_runs`, of runs before run 1. Not `has_capture_time`: no user named the time of the copy.
    """
    rows = [row | _error(row) for row in rows]
    copies = _copies(row for row in rows if row["error"] is None)
    coverage = {
        copy.partition: PartitionCoverage(
            ((copy.complete_from, copy.last_offset + 1),) if copy.complete_from <= copy.last_offset else (),
            log_start_missing=bool(copy.log_start_missing),
            last_offset=copy.last_offset,
        )
        for copy in copies
    }
    inputs = ReplayInputs(dialect, round(captured_at.timestamp() * 1000), coverage)
    found: dict[type[NamedTuple], list[pa.RecordBatch]] = defaultdict(list)
    for row_class, batch in replay_batches(inputs, [_in_order(rows)]):
        found[row_class].append(batch)
    given = [(topic_id, topic, "cluster") for topic_id, topic in (topics or {}).items()]
    named = topic_names(given, found[ROW_CLASSES["topic_name"]])
    for name, spec in REPLAYED.items():
        batches = found[ROW_CLASSES[name]]
        if spec.complete is not None:
            batches = [spec.complete(named, batch) for batch in batches]
        replace_rows(out / name, spec, cluster, batches)
    made_tables.write(out, cluster, consumption_stop=[])
    compared = protocol_comparison(DuckTables(str(out)).newest, cluster).to_batches()
    replace_rows(out / PROTOCOL_COMPARISON.name, PROTOCOL_COMPARISON, cluster, compared)
    run = {"run": 1, "dialect": dialect, "captured_at": captured_at, "has_capture_time": has_capture_time}
    run["is_copy"] = not has_capture_time
    held = [copy._asdict() | {"captured_at": captured_at} for copy in copies]
    made_tables.write(out, cluster, audit_runs=[*earlier, run], partition_history=held)


def write_file(out: Path, file: Path) -> None:
    """Write the tables of a Parquet file, as the cluster of its name; the newest record is the time of the capture."""
    rows = pq.read_table(file)
    micros = rows["timestamp"].cast("int64").to_pylist()
    timed = [{**row, "timestamp": at, "topic": TOPIC} for row, at in zip(rows.to_pylist(), micros, strict=True)]
    captured_at = datetime.fromtimestamp(max(micros) / 1_000_000, UTC)
    write(out, file.stem, timed, captured_at, has_capture_time=False)


def _error(row: Row) -> Row:
    if row["topic"] == TOPIC:
        return {"error_code": None, "error": None}
    return {"error_code": ErrorCode.OTHER_TOPIC.value, "error": f"a row of topic {row['topic']}"}


def _in_order(rows: Iterable[Row]) -> pa.RecordBatch:
    of_groups = [row for row in rows if row["key"][:2] not in _COMMITS]
    _, group_ids = key_columns(pa.array([row["key"] for row in of_groups], pa.binary()))
    keyed = [{**row, "group_id": group_id} for row, group_id in zip(of_groups, group_ids.to_pylist(), strict=True)]
    keyed.sort(key=lambda row: (row["partition"], row["group_id"], row["offset"]))
    return pa.RecordBatch.from_pylist([{name: row.get(name) for name in LOG_SCHEMA.names} for row in keyed], LOG_SCHEMA)


def _copies(rows: Iterable[Row]) -> list[CopyCoverage]:
    by_partition: dict[int, dict[int, bytes]] = defaultdict(dict)
    for row in rows:
        by_partition[row["partition"]][row["offset"]] = row["key"]
    return [_copy(partition, keys) for partition, keys in sorted(by_partition.items())]


def _copy(partition: int, keys: Mapping[int, bytes]) -> CopyCoverage:
    first, last = min(keys), max(keys)
    file = FileRow(None, first, last, len(keys) != last - first + 1, None, None, None, ())
    held = extent(partition, _COPY, [file])
    assert held is not None
    seen: set[bytes] = set()
    for offset in sorted(keys):
        if keys[offset] in seen and offset >= (held.gapless_from or 0):
            held = held.with_repeated(offset)
            break
        if keys[offset][:2] not in _COMMITS:
            seen.add(keys[offset])
    (copy,) = coverage_of([held], held, lacks_records=False)
    return copy
