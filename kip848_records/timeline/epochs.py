"""One row per group epoch: when it was bumped, assigned and converged, and what ended it."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kip848_records.timeline.censoring import history
from kip848_records.timeline.durations import ms_between
from kip848_records.timeline.operations import GROUP_EPOCH, INCARNATION, TARGET_ASSIGNMENT, holds
from kip848_records.timeline.states import DEAD, EMPTY, STABLE

_ENDINGS: Final = (DEAD, EMPTY, STABLE)


def epoch_timeline(judged: DataFrame) -> DataFrame:
    """Tell the life of every group epoch, from its first type-3 record to the operation that ended it.

    An epoch ends with the first operation, at or after its bump, at whose end the group was deleted, Empty or Stable.
    A state that the log does not tell ends nothing: of a log with holes this is what is left to see.

    Args:
        judged: the rows of `judged_groups`.

    Returns:
        One row per (group_id, incarnation, group_epoch), with ``partition``, ``group_type``;
        ``bumped_at, bump_offset, cause`` (see `causes.bump_causes`); ``assigned_at``, of the first type 6 that reaches
        this epoch before it ends; ``converged_at``; ``status`` (converged, superseded, emptied, deleted, open);
        ``superseded_by``, the group's epoch when it converged without this one, or at the end of the log;
        ``members`` at the bump;
        ``partitions_moved`` by the assignment of ``assigned_at`` (see `moves.partitions_moved`);
        ``assign_lag_ms, reconcile_lag_ms, rebalance_lag_ms`` (bump to assigned, assigned to converged, bump to
        converged, in ms, negative where two brokers' clocks differ: then ``clock_skew`` is true); ``history``.
    """
    written = F.col("key_type").isin(GROUP_EPOCH, TARGET_ASSIGNMENT) & ~F.col("is_tombstone")
    of_epoch = Window.partitionBy(*INCARNATION, "group_epoch").orderBy("offset")
    return (
        judged.transform(_with_end)
        .where(written)
        .transform(_with_assignment)
        .where(F.col("key_type") == GROUP_EPOCH)
        .withColumn("nth", F.row_number().over(of_epoch))
        .where("nth = 1 AND NOT of_snapshot")
        .withColumns({"bumped_at": F.col("timestamp"), "bump_offset": F.col("offset")})
        .transform(_with_outcome)
        .transform(_with_lags)
        .select(
            *INCARNATION,
            *("group_epoch", "group_type", "bumped_at", "bump_offset", "cause", "assigned_at", "converged_at"),
            *("status", "superseded_by", "members", "partitions_moved"),
            *("assign_lag_ms", "reconcile_lag_ms", "rebalance_lag_ms", "history", "clock_skew"),
        )
    )


def _with_end(judged: DataFrame) -> DataFrame:
    """Add ``end``, the first operation from this row on that ends an epoch, and the incarnation's last group epoch.

    The window runs from the end of the log backwards, where the first row to come is the last one seen: Spark computes
    such a frame in one pass, but starts a frame that ends at the last row anew for each row.
    """
    backwards = Window.partitionBy(*INCARNATION).orderBy(F.desc("offset"))
    end = F.when(F.col("state").isin(*_ENDINGS), F.struct("state", "timestamp", "offset", "group_epoch", "seen_from"))
    return judged.withColumns(
        {
            "end": F.last(end, ignorenulls=True).over(backwards),
            "last_epoch": F.first("group_epoch").over(backwards),
        }
    )


def _with_assignment(written: DataFrame) -> DataFrame:
    """Add ``assignment``, the first type 6 with this epoch or a later one: from the highest epoch down, the earliest.

    An assignment may skip epochs, and it may come late, when the group has moved on to yet another epoch.
    """
    is_assignment = F.col("key_type") == TARGET_ASSIGNMENT
    epoch = F.when(is_assignment, F.col("assignment_epoch")).otherwise(F.col("group_epoch"))
    this_or_later = Window.partitionBy(*INCARNATION).orderBy(F.desc("epoch"))
    earliest = F.min(F.when(is_assignment, F.struct("offset", "timestamp", "partitions_moved"))).over(this_or_later)
    return written.withColumn("epoch", epoch).withColumn("assignment", earliest)


def _with_outcome(bumps: DataFrame) -> DataFrame:
    """Add assigned_at, partitions_moved, converged_at, status, superseded_by and history."""
    ended_in = F.col("end.state")
    in_time = F.col("assignment.offset") <= F.col("end.offset")
    epoch_then = F.coalesce(F.col("end.group_epoch"), F.col("last_epoch"))
    status = (
        F.when(ended_in == DEAD, "deleted")
        .when(ended_in == EMPTY, "emptied")
        .when(epoch_then > F.col("group_epoch"), "superseded")
        .when(ended_in == STABLE, "converged")
        .otherwise("open")
    )
    seen_from = F.when(ended_in.isNull(), F.col("seen_at_end")).otherwise(F.col("end.seen_from"))
    return bumps.withColumns(
        {
            "assigned_at": F.when(ended_in.isNull() | in_time, F.col("assignment.timestamp")),
            "partitions_moved": F.when(ended_in.isNull() | in_time, F.col("assignment.partitions_moved")),
            "converged_at": F.when(ended_in == STABLE, F.col("end.timestamp")),
            "status": status,
            "superseded_by": F.when(status == "superseded", epoch_then),
            "history": history(is_seen=holds(F.col("offset") >= seen_from), has_end=ended_in.isNotNull()),
        }
    )


def _with_lags(epochs: DataFrame) -> DataFrame:
    """Add the three lags in ms, and whether a clock ran backwards between their ends."""
    lags = {
        "assign_lag_ms": ms_between("bumped_at", "assigned_at"),
        "reconcile_lag_ms": ms_between("assigned_at", "converged_at"),
        "rebalance_lag_ms": ms_between("bumped_at", "converged_at"),
    }
    return epochs.withColumns(lags).withColumn("clock_skew", holds(F.least(*lags) < 0))
