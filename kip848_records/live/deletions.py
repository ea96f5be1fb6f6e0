"""Keys that were deleted between two runs, unseen: their tombstones are gone, and so are they."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.replay import last_of_keys
from kip848_records.sources.log import key_of_types
from kip848_records.timeline.operations import EVENT_TYPES, GROUP, GROUP_EPOCH, GROUP_METADATA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from kip848_records.landing import Scratch
    from kip848_records.live.kept_log import Read
    from kip848_records.live.run import Reading
    from kip848_records.sources.topic import Ends

_DEFAULT_DELETE_RETENTION_MS: Final = 24 * 60 * 60 * 1000
_PLACE: Final = ("partition", "offset")


def with_deletions(
    reading: Reading, reads: list[Read], rows: DataFrame | None, folder: Scratch
) -> tuple[list[Read], DataFrame | None]:
    """Add a tombstone to `rows` for each key that is gone, and how many there are to the notes of `reads`.

    Partitions that compaction has been at are read again from their start if tombstones may be gone meanwhile.
    """
    before = reading.before
    compacted = [read for read in reads if read.stretch_from != before.get(read.partition, read).stretch_from]
    if not compacted:
        return reads, rows
    ends = reading.live.ends()  # by now: reading takes its time
    retention = _DEFAULT_DELETE_RETENTION_MS if ends.delete_retention_ms is None else ends.delete_retention_ms
    again = [before[read.partition] for read in compacted if ends.at_ms - before[read.partition].read_ms > retention]
    if not again:
        return reads, rows
    with reading.live.reading():
        deleted = folder.keep(_tombstones(reading, ends, again, rows), "deleted")
    found = deleted.groupBy("partition").agg(F.count("*").alias("count"), F.max("offset").alias("last"))
    of_partition = {row.partition: row for row in found.collect()}
    asked = {read.partition for read in again}
    reads = [_behind(read, of_partition.get(read.partition)) if read.partition in asked else read for read in reads]
    return reads, deleted if rows is None else rows.unionByName(deleted)


def _behind(read: Read, found: Row | None) -> Read:
    """Let a stretch begin behind the tombstones that were added, of which nobody knows what came before them.

    A key that was deleted and written again shows as neither.
    """
    if found is None:
        return replace(read, note=f"{read.note}; 0 keys are gone", is_break=True)
    first = max(read.stretch_from, found.last + 1)
    return replace(
        read,
        note=f"{read.note}; {found['count']:,} keys are gone",
        is_break=True,
        stretch_from=first,
        first_pair=None if read.first_pair is None else max(read.first_pair, first),
    )


def _tombstones(reading: Reading, ends: Ends, again: list[Read], rows: DataFrame | None) -> DataFrame:
    """Return a tombstone for each key that was there when a partition was read last, as `again` says, and is gone.

    Each took up an offset behind what had been read: so there are as many free ones, of which they get the first. A
    group is deleted with its type 3 last, as a coordinator does it; before it comes back as one of another type. Of a
    key whose last record lies before the log's start, cut off, nobody can tell whether it was deleted.
    """
    kept, partitions = reading.kept, [read.partition for read in again]
    still_there = reading.live.read({partition: ends.offsets[partition] for partition in partitions})
    is_kept = F.col("partition").isin(partitions)
    places = F.broadcast(_places(reading, ends, again))
    # Keys are unique here, and a new value of one counts as well as the old.
    gone = (
        last_of_keys(kept.rows().where(is_kept & F.col("key").isNotNull()))
        .where("value IS NOT NULL")
        .join(places.select("partition", "start"), "partition")
        .where("offset >= start")
        .drop("start")
        .join(still_there.select("partition", "key"), ["partition", "key"], "left_anti")
    )
    rows = kept.rows().where("false") if rows is None else rows
    gone = _with_return(gone.join(rows.select("partition", "key"), ["partition", "key"], "left_anti"), rows)
    # Those that are soonest back come first: if all can be behind what was read and before their return, all are.
    last_of_group = F.when(key_of_types([GROUP_EPOCH]), 1).otherwise(0)
    in_order = (F.asc_nulls_last("back_at"), "group_id", last_of_group, F.desc("key"))
    numbered = gone.withColumn("nth", F.row_number().over(Window.partitionBy("partition").orderBy(*in_order)))
    return (
        numbered.drop("offset")
        .join(_free_offsets(places, rows, numbered), ["partition", "nth"])
        .join(places.select("partition", "captured_ms"), "partition")
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


def _with_return(gone: DataFrame, rows: DataFrame) -> DataFrame:
    """Add `back_at` to keys: where a group that was deleted, or became one of another type, is written to again."""
    is_deleted = F.max(key_of_types([GROUP_METADATA, GROUP_EPOCH])).over(Window.partitionBy(*GROUP))
    back = rows.where(key_of_types(EVENT_TYPES)).groupBy(*GROUP).agg(F.min("offset").alias("written_at"))
    return (
        gone.withColumn("is_deleted", is_deleted)
        .join(back, [*GROUP], "left")
        .withColumn("back_at", F.when(F.col("is_deleted"), F.col("written_at")))
        .drop("is_deleted", "written_at")
    )


def _places(reading: Reading, ends: Ends, again: list[Read]) -> DataFrame:
    """Return of each partition where its log starts now, which offsets this run reads, and when it was read before."""
    now, this_run = ends.offsets, reading.ends.offsets
    places = [
        (read.partition, now[read.partition][0], read.until_offset, this_run[read.partition][1], read.captured_ms)
        for read in again
    ]
    return reading.kept.spark.createDataFrame(
        places, "partition int, start bigint, first bigint, until bigint, captured_ms bigint"
    )


def _free_offsets(places: DataFrame, rows: DataFrame, numbered: DataFrame) -> DataFrame:
    """Return ``partition, nth, offset``: the first offsets that no row has, as many as are needed.

    There are none behind what this run reads: a deletion there will be read by the next.
    """
    taken = rows.select(*_PLACE)
    counts = numbered.select("partition").unionByName(taken.select("partition")).groupBy("partition").count()
    in_order = Window.partitionBy("partition").orderBy("offset")
    return (
        places.join(counts, "partition")
        .select("partition", "until", F.explode(F.expr("sequence(first, first + count)")).alias("offset"))
        .where("offset < until")
        .join(taken, [*_PLACE], "left_anti")
        .withColumn("nth", F.row_number().over(in_order))
        .select("partition", "nth", "offset")
    )
