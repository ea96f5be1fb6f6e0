"""Log rows as plain Python values, in log order; and log rows made of them."""

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kip848_records.sources.log import LOG_SCHEMA


def in_log_order(log: DataFrame) -> list[dict[str, Any]]:
    """The rows of a log, by partition and offset, with bytes as `bytes` and the timestamp in µs; not of which copy."""
    rows = log.drop("copies").withColumn("timestamp", F.unix_micros("timestamp")).toArrow().to_pylist()
    return sorted(rows, key=lambda row: (row["partition"] is None, row["partition"], row["offset"] or -1))


def log_of(spark: SparkSession, rows: Iterable[dict[str, Any]]) -> DataFrame:
    """A log of rows that name only what matters; offsets count up unless given."""
    defaults = {"topic": "__consumer_offsets", "partition": 0, "transaction": "none", "timestampType": 0}
    defaults["copies"] = ["a"]
    full = [{"offset": offset, "timestamp": 1_000_000 + offset, **defaults, **row} for offset, row in enumerate(rows)]
    tuples = [tuple(row.get(name) for name in LOG_SCHEMA.names) for row in full]
    schema = ", ".join(
        f"{f.name} {'bigint' if f.name == 'timestamp' else f.dataType.simpleString()}" for f in LOG_SCHEMA
    )
    return spark.createDataFrame(tuples, schema).withColumn("timestamp", F.timestamp_millis("timestamp"))
