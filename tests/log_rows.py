"""Log rows as plain Python values, in log order; and log rows made of them."""

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from kip848_records.engines.frames import engine_of
from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.log.coverage import LogCoverage, read_coverage
from kip848_records.protocol.keys import key_columns
from kip848_records.queries.tables import named_rows
from kip848_records.sources.topic.log_rows import LOG_SCHEMA

_WITH_MS = StructType([StructField(f.name, LongType()) if f.name == "timestamp" else f for f in LOG_SCHEMA])


class Unstaged(SparkEngine):
    """Computes rows again for each reader, so that it needs no folder."""

    def materialize(self, rows: DataFrame, name: str) -> DataFrame:  # noqa: ARG002 - of no file
        return rows


def in_log_order(log: DataFrame) -> list[dict[str, Any]]:
    """The rows of a log, by partition and offset, with bytes as `bytes` and the timestamp in µs.

    Not of which copy they are, nor what files cover.
    """
    rows = (log.filter(F.col("file").isNull()) if "file" in log.columns else log).drop("copies", "file")
    rows = rows.withColumn("timestamp", F.unix_micros("timestamp"))
    return sorted(
        rows.toArrow().to_pylist(), key=lambda row: (row["partition"] is None, row["partition"], row["offset"] or -1)
    )


def asked_by_spark(log: DataFrame) -> Callable[..., list[Any]]:
    """What answers SQL over these rows, as `LogTable.ask` does over those of a cluster."""
    added = {name: F.lit(None).cast("string") for name in ("run_info", "read") if name not in log.columns}
    view = f"log_{id(log)}"
    log.withColumns({"cluster": F.lit("c"), **added}).createOrReplaceTempView(view)

    def ask(text: str, **parameters: object) -> list[Any]:
        named = f"WITH log AS (SELECT * FROM {view}) {text}"  # noqa: S608 - a view of ours
        return named_rows(log.sparkSession.sql(named, args={"cluster": "c", **parameters}).toArrow())

    return ask


def coverage_of(log: DataFrame) -> LogCoverage:
    """What these rows of a log hold of each partition."""
    return read_coverage(engine_of(log), asked_by_spark(log), log)


def assert_same_rows(found: DataFrame, expected: DataFrame) -> None:
    """Fail, with both shown side by side, unless two logs have equal rows: not of which copy, nor what files cover."""
    logs = [log.filter(F.col("file").isNull()).drop("copies", "file") for log in (found, expected)]
    in_order = [log.orderBy("partition", "offset", "error") for log in logs]
    assert_df_equality(*in_order, ignore_nullable=True)


def files_of(log: DataFrame) -> list[dict[str, Any]]:
    """What files cover, by partition and copy, with partition and copy, and the newest skipped in ms."""
    files = log.filter(F.col("file").isNotNull()).withColumn("newest_skipped", F.unix_millis("file.newest_skipped"))
    fields = (F.col(f"file.{name}") for name in LOG_SCHEMA["file"].dataType.names if name != "newest_skipped")
    rows = files.select("partition", F.col("copies")[0].alias("copy"), *fields, "newest_skipped")
    told = [row.asDict(recursive=True) for row in rows.collect()]
    return sorted(told, key=lambda row: (row["partition"], row["copy"], row["base_offset"] or 0))


def log_of(spark: SparkSession, rows: Iterable[dict[str, Any]]) -> DataFrame:
    """A log of rows that name only what matters; offsets count up unless given, timestamps are in ms."""
    defaults = {"partition": 0, "transaction": "none", "timestamp_type": 0, "copies": ["a"]}
    full = [{"offset": offset, "timestamp": 1_000_000 + offset, **defaults, **row} for offset, row in enumerate(rows)]
    tuples = [tuple(_completed(row).get(name) for name in LOG_SCHEMA.names) for row in full]
    return spark.createDataFrame(tuples, _WITH_MS).withColumn("timestamp", F.timestamp_millis("timestamp"))


def _completed(row: dict[str, Any]) -> dict[str, Any]:
    if row.get("file") is not None:
        nothing = dict.fromkeys(("timestamp", "timestamp_type", "transaction"))
        return row | nothing | {"file": tuple(row["file"].get(name) for name in LOG_SCHEMA["file"].dataType.names)}
    return {"error_code": "bad_crc" if row.get("error") else None} | row | keyed(row.get("key"))


def keyed(key: bytes | None) -> dict[str, Any]:
    """The columns that a key tells."""
    key_type, group_id = key_columns(pa.array([key], pa.binary()))
    return {"key_type": key_type[0].as_py(), "group_id": group_id[0].as_py()}
