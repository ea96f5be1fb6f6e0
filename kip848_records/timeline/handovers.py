"""One row per change of a topic partition's owner, with the time in which nobody owned it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.timeline.censoring import LEFT_CENSORED, OBSERVED
from kip848_records.timeline.durations import ms_between
from kip848_records.timeline.operations import AWAY_EPOCH, holds
from kip848_records.timeline.ownership import (
    ACQUIRED,
    ASKED,
    OF_PARTITION,
    RELEASED,
    changes,
    named,
    owned,
    topic_id,
    topic_partition_number,
    with_owner,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ORDER = ("operation", "step", "offset")


def partition_handover(members: DataFrame, topics: DataFrame) -> DataFrame:
    """Tell how each partition went from one member to the next.

    An owner is a member whose type 8 lists the partition as assigned or pending revocation at the end of an operation,
    but not a static member that went away: it released what it had with its member epoch -2.

    Args:
        members: the rows of `member_states`.
        topics: ``topic_id, topic``, each id once.

    Returns:
        One row per acquisition: ``offsets_partition`` (of the log), ``group_id, incarnation, topic_id, topic`` (its id
        where no name is known), ``partition int`` (of the topic), ``acquired_offset``, of the new owner's type 8;
        ``from_member`` (null: first acquisition), ``released_at`` (null as well if the owner before had not released
        it), ``to_member, acquired_at``; ``unowned_ms``, a lower bound: how long a member was dead before its session
        expired is invisible; ``wanted``: while nobody owned it, it was in some member's target; ``wanted_ms``: of
        unowned_ms, for how long it was; ``group_epoch``, the new owner's member epoch;
        ``history``: observed, or left_censored if its beginning was not seen or two members claimed it at once;
        ``clock_skew``: unowned_ms is negative.
    """
    released, acquired = F.col("released_before"), F.col("acquired_before")
    # The owner before may still claim it.
    is_free = holds(released["operation"] > acquired["operation"])
    begin_is_complete = F.when(acquired.isNull(), F.col("is_whole")).otherwise(is_free & released["is_complete"])
    return (
        members.transform(_steps)
        .transform(_with_claims)
        .where(F.col("step") == ACQUIRED)
        .withColumn("released_at", F.when(is_free, released["timestamp"]))
        .withColumn("unowned_ms", ms_between("released_at", "timestamp"))
        .withColumn("topic_id", topic_id())
        .join(topics.select("topic_id", "topic"), "topic_id", "left")
        .select(
            F.col("partition").alias("offsets_partition"),
            *("group_id", "incarnation"),
            "topic_id",
            F.coalesce("topic", "topic_id").alias("topic"),
            topic_partition_number().alias("partition"),
            acquired["member_id"].alias("from_member"),
            "released_at",
            F.col("member_id").alias("to_member"),
            F.col("timestamp").alias("acquired_at"),
            F.col("offset").alias("acquired_offset"),
            "unowned_ms",
            holds(F.col("wanted_in") > F.coalesce(acquired["operation"], F.lit(-1))).alias("wanted"),
            F.when(is_free, F.col("wanted_ms")).alias("wanted_ms"),
            F.col("member_epoch").alias("group_epoch"),
            F.when((F.col("owners") == 1) & begin_is_complete, OBSERVED).otherwise(LEFT_CENSORED).alias("history"),
            holds(F.col("unowned_ms") < 0).alias("clock_skew"),
        )
    )


def _steps(members: DataFrame) -> DataFrame:
    """Return the changes of owned partitions, and those of targets: rows with ``wants``, +1 or -1, and step ASKED."""
    is_away = holds(F.col("current.member_epoch") == AWAY_EPOCH)
    here = F.when(~is_away, owned()).otherwise(F.array().cast("array<string>"))
    written = members.where("current IS NOT NULL").select(
        "*", "current.offset", "current.is_complete", "current.is_whole", "current.member_epoch"
    )
    keep = ["operation", "timestamp", "offset", "is_complete", "is_whole", "member_epoch"]
    owning = changes(written, here, "operation", keep)
    wanting = changes(members, named(F.col("target")), "operation", ["operation", "timestamp"])
    wants = F.when(F.col("step") == ACQUIRED, 1).otherwise(-1)
    return owning.unionByName(
        wanting.withColumn("wants", wants).withColumn("step", F.lit(ASKED)), allowMissingColumns=True
    )


def _with_claims(steps: DataFrame) -> DataFrame:
    """Add how many members own the partition, and for how long it had been wanted but unowned before this step.

    ``wanted_in``: the last operation that left it so; ``wanted_ms``: since its acquisition before.
    """
    in_order = Window.partitionBy(*OF_PARTITION).orderBy(*_ORDER)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    acquisitions = Window.partitionBy(*OF_PARTITION, "step").orderBy(*_ORDER)
    owns = F.when(F.col("step") == ACQUIRED, 1).when(F.col("step") == RELEASED, -1)
    ends_operation = ~holds(F.lead("operation").over(in_order) == F.col("operation"))
    is_unmet = F.col("ends_operation") & (F.col("owners") == 0) & (F.col("claims") > 0)
    until_next = ms_between("timestamp", F.lead("timestamp").over(in_order))
    return (
        with_owner(steps, _ORDER)
        .withColumns(
            {
                "owners": _running(owns).over(so_far),
                "claims": _running(F.col("wants")).over(so_far),
                "ends_operation": ends_operation,
            }
        )
        .withColumns(
            {"unmet": F.when(is_unmet, F.col("operation")), "unmet_ms": F.when(is_unmet, until_next).otherwise(0)}
        )
        .withColumns(
            {"wanted_in": F.last("unmet", ignorenulls=True).over(before), "wanted_ms": F.sum("unmet_ms").over(before)}
        )
        # Nobody misses what somebody owns: what has come together since is of this time.
        .withColumn("wanted_ms", F.col("wanted_ms") - F.coalesce(F.lag("wanted_ms").over(acquisitions), F.lit(0)))
    )


def _running(change: Column) -> Column:
    return F.sum(F.coalesce(change, F.lit(0)))
