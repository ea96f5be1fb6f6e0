"""Finds keys that were deleted between two runs and whose tombstones are already removed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.kinds import ROLES, Role
from kip848_records.log.state import last_of_keys
from kip848_records.sources.topic.log_rows import key_of_types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, Row

    from kip848_records.log.runs import PartitionRead
    from kip848_records.log.table import LogTable
    from kip848_records.sources.topic.ends import Ends

DEFAULT_DELETE_RETENTION_MS: Final = 24 * 60 * 60 * 1000
"""How long a topic keeps tombstones if its settings cannot be read: Kafka's default of `delete.retention.ms`."""

_POSITION: Final = ("partition", "offset")
_GROUP: Final = ("partition", "group_id")
_LAST_OF_GROUP: Final = tuple(key_type for key_type, (_, role) in ROLES.items() if role == Role.GROUP_EPOCH)
_DELETED_LAST: Final = (2, *_LAST_OF_GROUP)


@dataclass(frozen=True)
class DeletionSearch:
    """The input of the search for deletions: the partitions `again`, with the last read of each.

    `live_rows`: all present rows of these partitions. `ends`: the topic's present starts and ends. `new_ends`: the ends
    of the offsets that this run reads.
    """

    log: LogTable
    again: Sequence[PartitionRead]
    live_rows: DataFrame
    ends: Ends
    new_ends: Mapping[int, int]


def without_inferred(read: PartitionRead, found: Row | None) -> PartitionRead:
    """Begin a complete range after the added tombstones, because the records before them are unknown.

    A key that was deleted and written again shows neither. `found`: the number of tombstones in the partition
    (`count`), and their last offset (`last`); None if there are none.
    """
    if found is None:
        return replace(read, note=f"{read.note}; 0 keys are gone", is_tombstone_gap=True)
    first = max(read.range_from, found.last + 1)
    return replace(
        read,
        note=f"{read.note}; {found['count']:,} keys are gone",
        is_tombstone_gap=True,
        range_from=first,
        first_repeated_key=None if read.first_repeated_key is None else max(read.first_repeated_key, first),
    )


def inferred_tombstones(search: DeletionSearch, rows: DataFrame) -> DataFrame:
    """Return a tombstone for each key that a partition had at its last read and no longer has.

    `rows` are the new ones. Each removed tombstone had an offset after the last read, so there are enough free offsets;
    the tombstones get the first of these. A group's epoch record is deleted last, as a coordinator does it, and before
    the group returns with another type. A key whose last record lies before the log's start does not count as deleted:
    it may have been cut off.
    """
    partitions = [read.partition for read in search.again]
    bounds = F.broadcast(_bounds(search))
    known = search.log.records().where(F.col("partition").isin(partitions) & F.col("key").isNotNull())
    # Keys are unique here; the old and the new value of one are equivalent.
    gone = (
        last_of_keys(search.log.engine, known)
        .where("value IS NOT NULL")
        .join(bounds.select("partition", "start"), "partition")
        .where("offset >= start")
        .drop("start")
        .join(search.live_rows.select("partition", "key"), ["partition", "key"], "left_anti")
    )
    gone = _with_return(gone.join(rows.select("partition", "key"), ["partition", "key"], "left_anti"), rows)
    # Groups that return first come first: if all tombstones fit before their groups' return at all, they do so here.
    last_of_group = F.when(key_of_types(_LAST_OF_GROUP), 1).otherwise(0)
    in_order = (F.asc_nulls_last("back_at"), "group_id", last_of_group, F.desc("key"))
    numbered = gone.withColumn("nth", F.row_number().over(Window.partitionBy("partition").orderBy(*in_order)))
    captured_at = F.timestamp_millis("captured_ms")
    return (
        numbered.drop("offset", "timestamp")
        .join(_free_offsets(bounds, rows, numbered), ["partition", "nth"])
        .join(bounds.select("partition", "captured_ms"), "partition")
        .withColumns({"timestamp": captured_at, "value": F.lit(None).cast("binary")})
        .withColumn("is_inferred", F.lit(True))  # noqa: FBT003
        .select(*rows.columns, *(() if "is_inferred" in rows.columns else ("is_inferred",)))
    )


def _with_return(gone: DataFrame, rows: DataFrame) -> DataFrame:
    """Add `back_at` to keys: the offset at which a group that was deleted, or changed its type, is written again."""
    is_deleted = F.max(key_of_types(_DELETED_LAST)).over(Window.partitionBy(*_GROUP))
    back = rows.where(key_of_types(ROLES)).groupBy(*_GROUP).agg(F.min("offset").alias("written_at"))
    return (
        gone.withColumn("is_deleted", is_deleted)
        .join(back, [*_GROUP], "left")
        .withColumn("back_at", F.when(F.col("is_deleted"), F.col("written_at")))
        .drop("is_deleted", "written_at")
    )


def _bounds(search: DeletionSearch) -> DataFrame:
    """Return for each partition the present start of its log, the new offsets, and up to when it was known before."""
    bounds = [
        (
            *(read.partition, search.ends.offsets[read.partition][0], read.until_offset),
            *(search.new_ends[read.partition], read.captured_ms),
        )
        for read in search.again
    ]
    schema = "partition int, start bigint, first bigint, until bigint, captured_ms bigint"
    return search.log.spark.createDataFrame(bounds, schema)


def _free_offsets(bounds: DataFrame, rows: DataFrame, numbered: DataFrame) -> DataFrame:
    """Return ``partition, nth, offset``: the first offsets without a row, as many as are needed.

    None are after the range of this run: the next run will read a deletion there.
    """
    taken = rows.select(*_POSITION)
    counts = numbered.select("partition").unionByName(taken.select("partition")).groupBy("partition").count()
    in_order = Window.partitionBy("partition").orderBy("offset")
    return (
        bounds.join(counts, "partition")
        .select("partition", "until", F.explode(F.expr("sequence(first, first + count)")).alias("offset"))
        .where("offset < until")
        .join(taken, [*_POSITION], "left_anti")
        .withColumn("nth", F.row_number().over(in_order))
        .select("partition", "nth", "offset")
    )
