"""Rows that a log holds more than once: overlapping dumps, replicas, a dump that was saved twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.sources.log import is_readable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CONFLICT = "another row has the same partition and offset, but other bytes"

# Spark sorts once for both: the order of the one is that of the other too.
_PLACE = ("partition", "offset", "readable")
_RECORD = (*_PLACE, "key", "value")


def drop_copies(log: DataFrame) -> DataFrame:
    """Keep one of several equal rows; rows that differ at one (partition, offset) all get an error.

    Of equal rows the one stays that knows the transaction's outcome. Rows that have an error already stay as they are.
    """
    return _drop_copies(_by_place(log))


def _by_place(log: DataFrame) -> DataFrame:
    """Bring the rows of one place together, once: Spark by itself would do so anew for each window's columns.

    And add ``readable``: a column, for Spark sees no order in what is computed.
    """
    return log.withColumn("readable", is_readable()).repartition("partition", "offset")


def _drop_copies(log: DataFrame) -> DataFrame:
    outcome_known = F.col("transaction").isin("none", "committed", "aborted")
    of_record = Window.partitionBy(*_RECORD).orderBy(F.desc(outcome_known), "transaction", "timestamp")
    conflict = (F.count("*").over(Window.partitionBy(*_PLACE)) > 1) & F.col("readable")
    return (
        log.withColumn("copy", F.row_number().over(of_record))
        .filter((F.col("copy") == 1) | ~F.col("readable"))
        .withColumn("error", F.when(conflict, CONFLICT).otherwise(F.col("error")))
        .drop("copy", "readable")
    )


def merge_copies(log: DataFrame) -> DataFrame:
    """Do the same for the rows of several copies, and tell of each row that stays all the copies that hold it.

    A conflict's error names the copies that its row is of. `compaction_gap` is null where one of them does not tell.
    Settle transactions before: each copy is a log by itself.
    """
    one_record = Window.partitionBy(*_RECORD)
    all_copies = F.array_sort(F.collect_set(F.col("copies")[0]).over(one_record))
    all_tell = F.bool_and(F.col("compaction_gap").isNotNull()).over(one_record)
    told = _by_place(log).withColumns(
        {
            "copies": F.when(F.col("readable"), all_copies).otherwise(F.col("copies")),
            "compaction_gap": F.when(all_tell, F.col("compaction_gap")),
        }
    )
    named = F.concat(F.lit(f"{CONFLICT}; this one is of "), F.array_join("copies", ", "))
    is_conflict = F.col("error") == CONFLICT
    return _drop_copies(told).withColumn("error", F.when(is_conflict, named).otherwise(F.col("error")))
