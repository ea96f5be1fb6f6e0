"""Tables of an audit that never was: rows name only what matters."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import Schema
from pyspark.sql import DataFrame, SparkSession

from kip848_records.engines.spark.tables import spark_schema
from kip848_records.kinds import CONSUMER
from kip848_records.tables.registry import TABLES
from tests.made_blockers import with_blockers

OF_KINDS = (
    *("classic_generation", "classic_member", "connect_assignment", "group_migration", "protocol_comparison"),
    *("task_handover", "ownership", "share_partition_state"),
)
"""The tables of single kinds of groups, which have no row of a consumer group. An audit writes them all the same."""

_EMPTY = {
    "bool": False,
    "int32": 0,
    "int64": 0,
    "timestamp[us, tz=UTC]": 0,
    "string": "",
}

Rows = Iterable[dict[str, Any]]


def rows_of(spark: SparkSession, table: str, rows: Rows) -> DataFrame:
    """Rows of a table; what a row does not name is null, or empty where null may not be."""
    tuples = [tuple((_empty(table) | row).values()) for row in rows]
    return spark.createDataFrame(tuples, spark_schema(TABLES[table]))


def write(out: Path, cluster: str, **tables: Rows) -> None:
    """Write tables as an audit would, without Spark; beside the rows of other clusters that are there.

    With a run, every partition is known up to its time, if the rows name no other. A group rebalances if its state or
    an open rebalance shows it, and its row does not say; so it is with `rebalance.is_measured`.
    """
    if "audit_runs" in tables:
        tables = {
            **dict.fromkeys((*OF_KINDS, "partition_handover", "rebalance_lag", "member_state_timeline"), ()),
            "group_state_timeline": (),
            "diagnosis": (),
            "member_assignment": (),
            "membership": (),
            "open_transaction": (),
            "commit_progress": (),
            "commit_jump": (),
            "end_offset": (),
            "partition_content": (),
            "topic_content": (),
            "topic_name": (),
            "regex_resolution": (),
            "latest_state": (),
            "refused_record": (),
            "consumption_stop": (),
        } | tables  # summary, explain and page read them
    derived = _captured(_derived({name: list(rows) for name, rows in tables.items()}))
    with_blockers(derived, {name: _empty(name) for name in TABLES})
    for name, rows in derived.items():
        made = pa.Table.from_pylist([{**_empty(name), **row, "cluster": cluster} for row in rows], TABLES[name].schema)
        if (out / name).exists():
            deltalake.write_deltalake(str(out / name), made, mode="append", partition_by=["cluster"])
        else:
            _create(out / name, cluster, made)


def _create(folder: Path, cluster: str, rows: pa.Table) -> None:
    """Write the first version of a table: delta-rs takes ten times as long for it, and there are thousands."""
    (folder / "_delta_log").mkdir(parents=True)
    first = _FIRST.format(schema=json.dumps(_delta_schema(folder.name)))
    if rows.num_rows:
        file = folder / "0.parquet"
        pq.write_table(rows.drop_columns(["cluster"]), file)
        added = {"path": file.name, "partitionValues": {"cluster": cluster}, "size": file.stat().st_size}
        first += json.dumps({"add": added | {"modificationTime": 0, "dataChange": True}}) + "\n"
    (folder / "_delta_log" / f"{0:020}.json").write_text(first)


_FIRST = """\
{{"protocol":{{"minReaderVersion":1,"minWriterVersion":2}}}}
{{"metaData":{{"id":"made","format":{{"provider":"parquet","options":{{}}}},"schemaString":{schema},\
"partitionColumns":["cluster"],"configuration":{{}},"createdTime":0}}}}
"""


@cache
def _delta_schema(table: str) -> str:
    return Schema.from_arrow(TABLES[table].schema).to_json()


def _captured(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    if not tables.get("audit_runs"):
        return tables
    captured_at = max(tables["audit_runs"], key=lambda run: run.get("run", 0)).get("captured_at")
    rows = [row for name in tables.keys() - {"audit_runs", "log"} for row in tables[name]]
    partitions = sorted({row.get("offsets_partition", row.get("partition")) or 0 for row in rows})
    history = tables.get("partition_history") or [{"partition": each, "is_base": True} for each in partitions or [0]]
    tables |= {"partition_history": history}
    known = {"captured_at": captured_at}
    return tables | {
        name: [known | row for row in tables[name]] for name in ("group_state", "partition_history") if name in tables
    }


def _derived(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    ongoing = {_group(row): row for row in tables.get("rebalance", ()) if row.get("outcome") == "open"}
    for row in tables.get("group_state", ()):
        rebalance = ongoing.get(_group(row))
        is_shown = row.get("state") in {"Assigning", "Reconciling", "NotReady"}
        if row.get("state") != "unknown" and (rebalance is not None or is_shown):
            rebalance = rebalance or {}
            is_censored = rebalance.get("history") == "censored" and row.get("group_type") != "classic"
            began_at = None if is_censored else rebalance.get("began_at")
            row.setdefault("rebalancing_since", began_at or (row.get("since") if is_shown or is_censored else None))
            row.setdefault("rebalancing_history", rebalance.get("history") or row.get("history") or "right_censored")
    for row in tables.get("rebalance", ()):
        is_whole = row.get("outcome") == "converged" and row.get("history") == "observed"
        is_whole = is_whole and not row.get("clock_skew") and not row.get("duration_is_minimum")
        row.setdefault("is_measured", is_whole and not row.get("started_empty") and row.get("members_before") != 0)
    return tables


def _group(row: dict[str, Any]) -> tuple[Any, ...]:
    return row.get("group_id"), row.get("partition") or 0, row.get("incarnation") or 0, row.get("group_type")


def _empty(table: str) -> dict[str, Any]:
    columns = TABLES[table].columns
    empty = {column.name: _least(column.type) if column.required else None for column in columns}
    return empty | ({"group_type": CONSUMER} if empty.get("group_type") == "" else {})


def _least(kind: pa.DataType) -> Any:
    """The value of a column that may not be null, if a row does not name it: a struct has fields without values."""
    if pa.types.is_struct(kind):
        return {field.name: None for field in kind}
    return [] if pa.types.is_list(kind) else _EMPTY[str(kind)]
