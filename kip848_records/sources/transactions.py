"""Resolves transactions whose marker is in a later file than their records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation


def resolve_transactions(log: DataFrame) -> DataFrame:
    """Return log rows with the outcome of every transaction whose marker is in a later file than its records.

    Such records are `pending`. A transaction's records share the outcome of the next marker of their producer in the
    partition and in the copy. Another copy may lack that marker, and its next one may belong to a later transaction.
    The outcome is `unknown` if that marker cannot be read, or if unreadable bytes before it may have contained one.
    """
    in_error = F.col("error_code").isNotNull()
    is_open = (F.col("transaction") == "pending") & ~in_error
    is_marker = F.col("control").isNotNull()
    # The window runs backwards, so that it has seen the rows after a row: for a frame up to the last row, Spark starts
    # again at each row.
    backwards = Window.partitionBy("copies", "partition").orderBy(F.desc("offset"))
    producer_window = Window.partitionBy("copies", "partition", "producer_id").orderBy(F.desc("offset"))
    marker = F.last(F.when(is_marker, F.struct("control", "offset")), ignorenulls=True).over(producer_window)
    next_error = F.last(F.when(in_error, F.col("offset")), ignorenulls=True).over(backwards)
    is_hidden = F.col("next_error") < F.col("marker.offset")
    outcome = (
        F.when(is_hidden, "unknown")
        .when(F.col("marker.control") == "commit", "committed")
        .when(F.col("marker.control") == "abort", "aborted")
        .otherwise(F.when(F.col("marker").isNotNull(), "unknown").otherwise("pending"))
    )
    resolved = (
        log.filter(is_open | is_marker | in_error)
        .withColumn("next_error", next_error)
        .filter(is_open | is_marker)
        .withColumn("marker", marker)
        .withColumn("transaction", F.when(is_marker, F.col("transaction")).otherwise(outcome))
        .select(*log.columns)
    )
    return log.filter(~(F.coalesce(is_open, F.lit(False)) | is_marker)).unionByName(resolved)  # noqa: FBT003


def without_aborted(log: DataFrame, dropped: Observation | None = None) -> DataFrame:
    """Drop the records of aborted transactions; keep their markers, which resolve transactions of another file.

    `dropped` observes the number of dropped records as `aborted`: a record in several copies counts once per copy.
    """
    is_aborted = F.col("transaction").eqNullSafe("aborted") & F.col("control").isNull() & F.col("error_code").isNull()
    if dropped is not None:
        records = F.sum(F.when(is_aborted, F.size("copies")).otherwise(0))
        log = log.observe(dropped, F.coalesce(records, F.lit(0)).alias("aborted"))
    return log.filter(~is_aborted)
