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
    place = ["partition", "offset", F.col("error").isNull()]
    outcome_known = F.col("transaction").isin("none", "committed", "aborted")
    one_record = Window.partitionBy(*place, "key", "value", "control").orderBy(F.desc(outcome_known), "transaction")
    one_place = Window.partitionBy(*place)
    first = log.withColumn("copy", F.row_number().over(one_record)).filter((F.col("copy") == 1) | F.col("error").isNotNull())
    conflict = (F.count("*").over(one_place) > 1) & F.col("error").isNull()
    return first.withColumn("error", F.when(conflict, CONFLICT).otherwise(F.col("error"))).drop("copy")
