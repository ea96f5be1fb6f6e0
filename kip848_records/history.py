"""How much of a partition's history a copy of its log holds.

Compaction keeps the last value of every key, so a copy always gives the present state, unless its head is missing. What
happened on the way is told in full only from some offset on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.sources.log import is_record

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def known_history(log: DataFrame) -> DataFrame:
    """Return one row per partition: `partition`, `complete_from`, `head_missing`.

    `complete_from` is the offset from which on no record is missing; null where that cannot be told. Segment files show
    their gaps. Rows of the Kafka source do not; but had compaction ever reached the second of two records of one key,
    the first would be gone, so from the second on nothing was cleaned. Offset commits may be left out of `log`.

    `head_missing`: the copy starts behind offset 0 though compaction keeps the start of a log. Of a group in it nothing
    is known before its first deletion.
    """
    control = F.col("control")
    shown = log.groupBy("partition").agg(
        F.max(F.when(control == "gap", F.col("offset"))).alias("last_gap"),
        F.coalesce(F.bool_or(control == "truncated"), F.lit(False)).alias("head_missing"),  # noqa: FBT003
        F.bool_or(F.col("compaction_gap").isNotNull()).alias("shows_gaps"),
    )
    of_key = Window.partitionBy("partition", "key").orderBy("offset")
    uncleaned = (
        # Commits in transactions are removed by other rules; no other record is ever written in one.
        log.filter(is_record() & (F.col("transaction") == "none"))
        .withColumn("nth", F.row_number().over(of_key))
        .filter("nth = 2")
        .groupBy("partition")
        .agg(F.min("offset").alias("second_of_key"))
    )
    complete_from = F.when(F.col("shows_gaps"), F.coalesce("last_gap", F.lit(0))).otherwise(F.col("second_of_key"))
    known = shown.join(uncleaned, "partition", "left")
    return known.select("partition", complete_from.cast("bigint").alias("complete_from"), "head_missing")
