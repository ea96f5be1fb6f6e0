"""The present state of every group, and since when it has been in it."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from kip848_records.timeline.censoring import history
from kip848_records.timeline.intervals import seen_begin
from kip848_records.timeline.operations import GROUP, INCARNATION, holds
from kip848_records.timeline.snapshots import SNAPSHOT
from kip848_records.timeline.states import ASSIGNING, DEAD, RECONCILING

SETTLED: Final = StructType([*SNAPSHOT.fields, StructField("assignment_epoch", IntegerType())])
"""What is known of a group when it had settled: what a snapshot of it is to tell, and the epoch of its assignment."""


def judged_groups(events: DataFrame) -> DataFrame:
    """Return what is known of a group at each new group epoch, each new assignment and each end of an operation.

    Args:
        events: the rows of `group_events`.

    Returns:
        One row per type 3, type 6 and last record of an operation: the event's ``partition, group_id, incarnation,
        operation, offset, timestamp, key_type, is_tombstone, ends_operation, of_snapshot, seen_from,
        seen_at_end, is_whole, settled_until, cause, partitions_moved``, and the columns of `states.JUDGED`.
    """
    place = (
        "operation",
        "offset",
        "timestamp",
        "key_type",
        "is_tombstone",
        "ends_operation",
        "of_snapshot",
        "seen_from",
        "seen_at_end",
        "is_whole",
        "settled_until",
        "cause",
        "partitions_moved",
    )
    return events.where("judged IS NOT NULL").select(*INCARNATION, *place, "judged.*")


def last_states(judged: DataFrame) -> DataFrame:
    """Tell the present state of every group that was not deleted.

    Args:
        judged: the rows of `judged_groups`.

    Returns:
        One row per group: ``partition, group_id, incarnation, group_type, state, group_epoch,
        assignment_epoch, generation, members, converged_members, members_away, since, offset, waits_for_away_only,
        history, seen_from, is_whole, settled``. ``since`` is the timestamp from which on the group has been in this
        state without interruption, where Assigning and Reconciling count as one: a group that has not converged.
        ``history`` is right_censored if its beginning was seen, else censored: it may have begun before ``since``.
        ``offset`` is the last record that was counted. ``waits_for_away_only``: the group is Reconciling, but only for
        static members that are away. ``seen_from, is_whole``: as in `censoring.History`. ``settled``: the last
        moment at which nothing was open in the group (`settled.settled_until`), see `SETTLED`; null if there was none.
    """
    in_order = Window.partitionBy(*GROUP).orderBy("offset")
    unconverged = F.col("state").isin(ASSIGNING, RECONCILING)
    run = F.struct("incarnation", "group_type", F.when(unconverged, "unconverged").otherwise(F.col("state")))
    starts_run = ~run.eqNullSafe(F.lag(run).over(in_order))
    are_there = F.col("members") - F.col("members_away")
    waits_for_away_only = (F.col("state") == RECONCILING) & (F.col("converged_members") == are_there)
    return (
        judged.where("ends_operation")
        .withColumn("start", F.when(starts_run, F.struct("timestamp", "offset", seen_begin(in_order).alias("begin"))))
        .withColumns(
            {
                "start": F.last("start", ignorenulls=True).over(in_order),
                "is_last": F.lead("offset").over(in_order).isNull(),
            }
        )
        .withColumn("settled", F.last(_settled(), ignorenulls=True).over(in_order))
        .where(F.col("is_last") & (F.col("state") != DEAD))
        .select(
            *INCARNATION,
            *("group_type", "state", "group_epoch", "assignment_epoch", "generation"),
            *("members", "converged_members", "members_away", "offset"),
            F.col("start.timestamp").alias("since"),
            holds(waits_for_away_only).alias("waits_for_away_only"),
            history(
                is_seen=holds(F.col("start.begin") >= F.col("seen_at_end")),
                has_end=F.lit(False),  # noqa: FBT003
            ).alias("history"),
            *("seen_from", "is_whole", "settled"),
        )
    )


def _settled() -> Column:
    """Return `SETTLED` of a row with which its group is settled, else null.

    Not of a state that may have begun before it is seen to (`intervals.seen_begin`), though no record is missing: told
    on from there, it would begin where it is seen to.
    """
    begins_unseen = (F.col("start.begin") != F.col("start.offset")) & holds(F.col("start.offset") >= F.col("seen_from"))
    named = {"from_offset": "start.offset", "from_at": "start.timestamp", "until": "settled_until"}
    known = F.struct(*(F.col(named.get(name, name)).alias(name) for name in SETTLED.names))
    return F.when(F.col("settled_until").isNotNull() & ~begins_unseen, known.cast(SETTLED))
