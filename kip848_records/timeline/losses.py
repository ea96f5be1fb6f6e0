"""Where records of groups were lost, not compacted: bytes that could not be read, and records that did not decode.

Compaction keeps the last value of every key; a damaged record may have been the last of its own. From there on nobody
can tell the state of the group, until it is deleted and begins anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.protocol.segments.survey import CUT
from kip848_records.sources.log import OTHER_TOPIC, group_id, key_of_types, key_type
from kip848_records.timeline.operations import (
    EVENT_TYPES,
    GROUP,
    GROUP_METADATA,
    LOST,
    LOST_CLASSIC,
    LOST_TO_ANY,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from kip848_records.timeline.censoring import PartitionHistory


def lost_records(quarantine: DataFrame) -> DataFrame:
    """Return ``partition, offset, timestamp, is_tombstone, group_id, key_type`` of records that did not decode.

    ``key_type`` is `operations.LOST`, or LOST_CLASSIC. Those of which nobody can tell the group are left out: see
    `partition_losses`.

    Args:
        quarantine: the rows of the table `quarantine`.
    """
    return (
        damaged_records(quarantine)
        .where("group_id IS NOT NULL")
        .select(
            *("partition", "offset", "timestamp"),
            F.expr("false").alias("is_tombstone"),
            "group_id",
            F.when(key_type() == GROUP_METADATA, LOST_CLASSIC).otherwise(LOST).alias("key_type"),
        )
    )


def partition_losses(quarantine: DataFrame, history: Mapping[int, PartitionHistory]) -> DataFrame:
    """Return where records were lost of which nobody can tell the group: it may be any in the partition.

    A copy of a live log may end within a batch: what is cut off behind the last offset is no loss. Nor are bytes that
    could not be read in one copy where another has every record, nor rows of other topics, which a dump may have too.

    Args:
        quarantine: the rows of the table `quarantine`.
        history: what is known of each partition's.

    Returns:
        ``partition, first_loss, last_loss`` (offsets), one row per partition with any.
    """
    ends = [(partition, known.last_offset, known.complete_to_end) for partition, known in history.items()]
    known = quarantine.sparkSession.createDataFrame(ends, "partition int, last_offset bigint, complete_from bigint")
    # Of what was a record its time is known, or in which byte it did not decode.
    is_bytes = F.col("position").isNull() & F.col("timestamp").isNull()
    is_behind = F.col("offset") > F.col("last_offset")
    is_elsewhere = ~is_behind & (F.col("offset") >= F.col("complete_from"))
    is_no_loss = is_bytes & ((is_behind & F.col("reason").contains(CUT)) | is_elsewhere)
    return (
        damaged_records(quarantine)
        .where(F.col("group_id").isNull() & ~F.col("reason").startswith(OTHER_TOPIC))
        .join(F.broadcast(known), "partition")
        .where(~F.coalesce(is_no_loss, F.lit(False)))  # noqa: FBT003
        .groupBy("partition")
        .agg(F.min("offset").alias("first_loss"), F.max("offset").alias("last_loss"))
    )


def lost_to_groups(events: DataFrame, losses: DataFrame) -> DataFrame:
    """Return, in the form of `lost_records`, the last loss of the partition for each group that was there before.

    When it happened is not known. Its ``timestamp`` is that of the group's last record before it: until then, at
    least, nothing had been lost to the group.

    Args:
        events: ``partition, group_id, offset, timestamp`` of every record of a group.
        losses: the rows of `partition_losses`.
    """
    return (
        events.join(F.broadcast(losses), "partition")
        .where("offset < last_loss")
        .groupBy(*GROUP)
        .agg(F.max_by("timestamp", "offset").alias("timestamp"), F.max("last_loss").alias("last_loss"))
        .select(
            *(*GROUP, F.col("last_loss").alias("offset"), "timestamp"),
            *(F.expr("false").alias("is_tombstone"), F.lit(LOST_TO_ANY).alias("key_type")),
        )
    )


def damaged_records(quarantine: DataFrame) -> DataFrame:
    """Return the rows in quarantine that may be of a group, with ``group_id``, null where it cannot be told."""
    is_of_group = F.col("key").isNull() | key_of_types(EVENT_TYPES)
    is_placed = F.col("partition").isNotNull() & F.col("offset").isNotNull()
    return quarantine.filter(is_of_group & is_placed).withColumn("group_id", group_id())
