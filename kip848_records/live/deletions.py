"""Keys that were deleted between two runs, unseen: their tombstones are gone, and so are they."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.live.kept_log import latest
from kip848_records.replay import last_of_keys
from kip848_records.sources.log import key_of_types
from kip848_records.timeline.operations import GROUP_EPOCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.live.kept_log import KeptLog, Read
    from kip848_records.live.topic import LiveLog

_DEFAULT_DELETE_RETENTION_MS: Final = 24 * 60 * 60 * 1000
_PLACE: Final = ("partition", "offset")


def to_be_read_again(live: LiveLog, reads: list[Read], before: Mapping[int, Read]) -> list[Read]:
    """Return the reads of partitions whose tombstones may be gone: compacted, and later than they are kept for."""
    compacted = [
        read for read in reads if read.partition in before and read.stretch_from != before[read.partition].stretch_from
    ]
    if not compacted:
        return []
    ends = live.ends()  # by now: reading takes its time
    retention = _DEFAULT_DELETE_RETENTION_MS if ends.delete_retention_ms is None else ends.delete_retention_ms
    return [read for read in compacted if ends.at_ms - before[read.partition].read_ms > retention]


def deleted_keys(kept: KeptLog, live: LiveLog, rows: DataFrame | None, again: list[Read]) -> DataFrame:
    """Return a tombstone for each key that was there when a partition was read last, and is gone.

    Each took up an offset behind what had been read: so there are as many free ones, of which they get the first. A
    group is deleted with its type 3 last, as a coordinator does it.
    """
    partitions = [read.partition for read in again]
    now = live.ends().offsets
    with live.reading():
        still_there = live.read({read.partition: (now[read.partition][0], now[read.partition][1]) for read in again})
        is_kept = F.col("partition").isin(partitions)
        # Keys are unique here, and a new value of one counts as well as the old.
        gone = (
            last_of_keys(kept.rows().where(is_kept & F.col("key").isNotNull()))
            .where("value IS NOT NULL")
            .join(still_there.select("partition", "key"), ["partition", "key"], "left_anti")
        )
    if rows is not None:
        gone = gone.join(rows.select("partition", "key"), ["partition", "key"], "left_anti")
    last_of_group = F.when(key_of_types([GROUP_EPOCH]), 1).otherwise(0)
    in_order = Window.partitionBy("partition").orderBy("group_id", last_of_group, F.desc("key"))
    numbered = gone.withColumn("nth", F.row_number().over(in_order))
    free = _free_offsets(kept.spark, rows, again, numbered)
    before = {read.partition: read for read in latest(kept.reads()).values()}
    times = kept.spark.createDataFrame(
        [(p, before[p].captured_ms) for p in partitions], "partition int, captured_ms bigint"
    )
    return (
        numbered.drop("offset")
        .join(free, ["partition", "nth"])
        .join(F.broadcast(times), "partition")
        .select(
            *_PLACE,
            F.timestamp_millis("captured_ms").alias("timestamp"),
            "timestampType",
            "key",
            F.lit(None).cast("binary").alias("value"),
            "transaction",
            F.lit(None).cast("string").alias("error"),
            "group_id",
            F.lit(True).alias("is_inferred"),  # noqa: FBT003
        )
    )


def _free_offsets(spark: SparkSession, rows: DataFrame | None, again: list[Read], numbered: DataFrame) -> DataFrame:
    """Return ``partition, nth, offset``: the first offsets of what was read that no row has, as many as are needed."""
    starts = spark.createDataFrame(
        [(read.partition, read.from_offset) for read in again], "partition int, first bigint"
    )
    taken = spark.createDataFrame([], "partition int, offset bigint") if rows is None else rows.select(*_PLACE)
    counts = numbered.select("partition").unionByName(taken.select("partition")).groupBy("partition").count()
    in_order = Window.partitionBy("partition").orderBy("offset")
    return (
        starts.join(counts, "partition")
        .select("partition", F.explode(F.expr("sequence(first, first + count)")).alias("offset"))
        .join(taken, [*_PLACE], "left_anti")
        .withColumn("nth", F.row_number().over(in_order))
    )
