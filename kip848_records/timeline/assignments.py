"""The target assignments of an incarnation, numbered from 1 in the order in which they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.timeline.operations import (
    CURRENT_ASSIGNMENT,
    GROUP_EPOCH,
    INCARNATION,
    TARGET_ASSIGNMENT,
    holds,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def with_assignments(events: DataFrame) -> DataFrame:
    """Number the assignments, so that the time in which a member lives is a range of numbers.

    An assignment is a type 6 whose epoch is higher than all before it in its incarnation. One that repeats an epoch
    does not count, and none that goes back is ever written. So numbers, epochs and offsets have one order.

    Args:
        events: the rows of `with_history`.

    Returns:
        The events with ``is_assignment``; ``assignments int``, how many there were up to and including this record;
        ``assignments_before`` and ``assignments_after`` its operation; ``assignments_total`` of the incarnation;
        ``assignments_reached`` (type 8), how many have an epoch that is not above the member's; ``deletion``, null
        while the group lives, a struct ``operation, timestamp, assignments_before`` of the one that deleted it; and
        ``ends_headless``, whether records are missing (`with_history`) without which nobody knows how it ended.
    """
    in_order = Window.partitionBy(*INCARNATION).orderBy("offset")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    of_operation = Window.partitionBy(*INCARNATION, "operation")
    of_incarnation = Window.partitionBy(*INCARNATION)
    # Of one epoch the assignment comes first: a member at it has reached it.
    by_epoch = Window.partitionBy(*INCARNATION).orderBy("epoch", F.desc("is_assignment"))
    is_assignment = F.col("assignment_epoch") > F.coalesce(F.max("assignment_epoch").over(before), F.lit(-1))
    number = F.sum(F.col("is_assignment").cast("int")).over(in_order).cast("int")
    deletes = (F.col("key_type") == GROUP_EPOCH) & F.col("is_tombstone")
    deletion = F.struct("operation", "timestamp", "assignments_before")
    reached = F.sum(F.col("is_assignment").cast("int")).over(by_epoch.rowsBetween(Window.unboundedPreceding, 0))
    return (
        events.withColumn("is_assignment", holds((F.col("key_type") == TARGET_ASSIGNMENT) & is_assignment))
        .withColumn("assignments", number)
        .withColumns(
            {
                "assignments_before": F.min(F.col("assignments") - F.col("is_assignment").cast("int")).over(
                    of_operation
                ),
                "assignments_after": F.max("assignments").over(of_operation),
                "epoch": F.when(F.col("is_assignment"), F.col("assignment_epoch")).otherwise(F.col("member_epoch")),
            }
        )
        .withColumns(
            {
                "assignments_total": F.max("assignments").over(of_incarnation),
                "deletion": F.max(F.when(deletes, deletion)).over(of_incarnation),
                "ends_headless": F.max("is_headless").over(of_incarnation),
                "assignments_reached": F.when(F.col("key_type") == CURRENT_ASSIGNMENT, reached.cast("int")),
            }
        )
        .drop("epoch")
    )


def assignments(events: DataFrame) -> DataFrame:
    """Tell of each assignment when it was written, and which bump it answers.

    One assignment may answer several bumps: those above the previous assignment's epoch. The oldest counts.

    Args:
        events: the rows of `group_events`.

    Returns:
        One row per assignment: ``partition, group_id, incarnation, assignment int`` (its number),
        ``group_epoch, target_at, operation, next_operation`` (of the next assignment; null if there is none), and
        ``bump``, null if it was not seen, a struct ``offset, timestamp, is_complete``.
    """
    in_order = Window.partitionBy(*INCARNATION).orderBy("offset")
    is_assignment = F.col("is_assignment")
    epoch = F.when(is_assignment, F.col("assignment_epoch")).otherwise(F.col("group_epoch"))
    # Of one epoch the bump comes first: the assignment answers it.
    by_epoch = Window.partitionBy(*INCARNATION).orderBy("epoch", "is_assignment")
    lower = F.coalesce(
        F.sum(is_assignment.cast("int")).over(by_epoch.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0)
    )
    of_answer = Window.partitionBy(*INCARNATION, "answer")
    bump = F.when(~is_assignment, F.struct("offset", "timestamp", "is_complete"))
    return (
        events.where(is_assignment | F.col("group_epoch").isNotNull())
        .withColumn("epoch", epoch)
        .withColumn("answer", lower + 1)
        .withColumn("oldest_bump", F.min(bump).over(of_answer))
        .where("is_assignment")
        .select(
            *INCARNATION,
            F.col("assignments").alias("assignment"),
            F.col("assignment_epoch").alias("group_epoch"),
            F.col("timestamp").alias("target_at"),
            "operation",
            F.lead("operation").over(in_order).alias("next_operation"),
            F.when(F.col("oldest_bump.offset") < F.col("offset"), F.col("oldest_bump")).alias("bump"),
        )
    )
