"""Rows that a log holds more than once: overlapping dumps, replicas, a dump that was saved twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CONFLICT = "another row has the same partition and offset, but other bytes"


def drop_copies(log: DataFrame) -> DataFrame:
    """Keep one of several equal rows; rows that differ at one (partition, offset) all get an error.

    Of equal rows the one stays that knows the transaction's outcome. Rows that have an error already stay as they are.
    """
    readable = F.col("error").isNull() & F.col("control").isNull()
    outcome_known = F.col("transaction").isin("none", "committed", "aborted")
    one_place = Window.partitionBy("partition", "offset", readable)
    one_record = Window.partitionBy("partition", "offset", readable, "key", "value")
    copy = F.row_number().over(one_record.orderBy(F.desc(outcome_known), "transaction"))
    distinct = log.withColumn("copy", copy).filter((F.col("copy") == 1) | ~readable).drop("copy")
    conflict = (F.count("*").over(one_place) > 1) & readable
    return distinct.withColumn("error", F.when(conflict, CONFLICT).otherwise(F.col("error")))
