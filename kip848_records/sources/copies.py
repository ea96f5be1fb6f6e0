"""Rows that a log holds more than once: overlapping dumps, replicas, a dump that was saved twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.log_rows import is_readable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_CONFLICT = "another row has the same partition and offset, but other bytes"

# Both windows have the same order, so Spark sorts once.
_OFFSET = ("partition", "offset", "readable")
_RECORD = (*_OFFSET, "key", "value")


def drop_copies(log: DataFrame) -> DataFrame:
    """Keep one of several equal rows; rows that differ at one (partition, offset) all get an error.

    The kept one of several equal rows has the transaction's outcome, if one has it. Rows that already have an error,
    transaction markers and coverage rows of files do not change.
    """
    return _drop_copies(_by_offset(log), F.lit(_CONFLICT))


def merge_copies(log: DataFrame) -> DataFrame:
    """Drop copies of rows as `drop_copies` does across several copies; each kept row names all copies that hold it.

    A conflict's error names the copies of its row. Resolve transactions before: each copy is a log by itself.
    """
    all_copies = F.array_sort(F.collect_set(F.col("copies")[0]).over(Window.partitionBy(*_RECORD)))
    copies = F.when(F.col("readable"), all_copies).otherwise(F.col("copies"))
    named = F.concat(F.lit(f"{_CONFLICT}; this one is of "), F.array_join("copies", ", "))
    return _drop_copies(_by_offset(log).withColumn("copies", copies), named)


def _by_offset(log: DataFrame) -> DataFrame:
    """Bring the rows of one offset together, once: Spark itself would do so again for each window's columns.

    Also add the column ``readable``: Spark does not recognise the order of a computed expression.
    """
    return log.withColumn("readable", is_readable()).repartition("partition", "offset")


def _drop_copies(log: DataFrame, conflict: Column) -> DataFrame:
    is_decided = F.col("transaction").isin("none", "committed", "aborted")
    best = (F.desc(is_decided), "transaction", F.col("leader_epoch").isNull(), "timestamp")
    record_window = Window.partitionBy(*_RECORD).orderBy(*best)
    is_conflict = (F.count("*").over(Window.partitionBy(*_OFFSET)) > 1) & F.col("readable")
    return (
        log.withColumn("copy", F.row_number().over(record_window))
        .filter((F.col("copy") == 1) | ~F.col("readable"))
        .withColumn("is_conflict", is_conflict)
        .withColumns(
            {
                "error_code": F.when(F.col("is_conflict"), ErrorCode.CONFLICT.value).otherwise(F.col("error_code")),
                "error": F.when(F.col("is_conflict"), conflict).otherwise(F.col("error")),
            }
        )
        .drop("copy", "readable", "is_conflict")
    )
