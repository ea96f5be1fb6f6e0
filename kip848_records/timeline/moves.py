"""How many partitions a new target assignment takes from one member to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.timeline.operations import INCARNATION, MEMBER, MEMBER_TARGET, holds
from kip848_records.timeline.ownership import ACQUIRED, OF_PARTITION, changes, named, with_owner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def partitions_moved(events: DataFrame) -> DataFrame:
    """Count, of each assignment, the partitions whose target owner differs from that in the assignment before.

    A partition counts if it has an owner in both. One instance id is one owner, whatever its member id. A type 7
    belongs to the next assignment, which closes its operation. Where compaction may have removed records from before
    the assignment before, nobody can tell.

    Args:
        events: the rows of `group_events`.

    Returns:
        One row per assignment: ``partition, group_id, incarnation, assignment_offset``, and
        ``partitions_moved int``, null where nobody can tell.
    """
    in_order = Window.partitionBy(*INCARNATION).orderBy("offset")
    written = events.where("is_assignment").select(
        *INCARNATION,
        F.col("assignments").alias("assignment"),
        F.col("offset").alias("assignment_offset"),
        F.coalesce(F.lag("is_complete").over(in_order), F.col("is_whole")).alias("is_known"),
    )
    moved = F.when(F.col("is_known"), F.coalesce(F.col("moved"), F.lit(0))).cast("int").alias("partitions_moved")
    counted = events.transform(_moves).groupBy(*INCARNATION, "assignment").agg(F.count("*").alias("moved"))
    return written.join(counted, [*INCARNATION, "assignment"], "left").select(*INCARNATION, "assignment_offset", moved)


def _moves(events: DataFrame) -> DataFrame:
    """Return a row ``INCARNATION, assignment`` per partition that an assignment moves."""
    in_order = Window.partitionBy(*OF_PARTITION).orderBy("offset", "step")
    steps = events.transform(_targets).transform(
        changes, named(F.col("target")), "offset", ["offset", "assignment", "instance_id"]
    )
    is_last = ~holds(F.lead("assignment").over(in_order) == F.col("assignment"))
    instance = F.when(F.col("step") == ACQUIRED, F.col("instance_id")).otherwise(F.col("acquired_before.instance_id"))
    owner = F.when(
        F.col("owner").isNotNull(),
        F.struct(instance.alias("instance_id"), F.when(instance.isNull(), F.col("owner")).alias("member_id")),
    )
    return (
        with_owner(steps, ["offset", "step"])
        .select(*OF_PARTITION, "offset", "step", "assignment", owner.alias("owner"), is_last.alias("is_last"))
        .where("is_last")
        .withColumn("owner_before", F.lag("owner").over(in_order))
        .where("owner IS NOT NULL AND owner_before IS NOT NULL AND NOT (owner <=> owner_before)")
    )


def _targets(events: DataFrame) -> DataFrame:
    """Return the type 7 records, with the instance id of their member and the number of the next assignment."""
    own = Window.partitionBy(*INCARNATION, "member_id").orderBy("offset")
    identity = F.when((F.col("key_type") == MEMBER) & ~F.col("is_tombstone"), F.struct("instance_id"))
    return (
        events.where(F.col("key_type").isin(MEMBER, MEMBER_TARGET))
        .withColumn("instance_id", F.last(identity, ignorenulls=True).over(own)["instance_id"])
        .where(F.col("key_type") == MEMBER_TARGET)
        .withColumn("assignment", F.col("assignments") + 1)
    )
