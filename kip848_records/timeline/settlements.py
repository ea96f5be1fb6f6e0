"""Which assignments each member met, and which of its records settled them.

A member that lives through a stretch of the log meets the assignments of a range of numbers. When it gets STABLE at an
epoch, all that it has met up to the last assignment with that epoch or a lower one are settled, and stay so. So each
(member, assignment) comes up once, and nobody pairs members with epochs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.timeline.durations import ms_between
from kip848_records.timeline.operations import (
    LIFE,
    MEMBER_KEY,
    MEMBER_STABLE,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    holds,
)
from kip848_records.timeline.ownership import awaited

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MET: Final = 0
_RECONCILED: Final = 1
_UNSETTLED: Final = 2


def with_settled(members: DataFrame) -> DataFrame:
    """Add to each state of a member which assignments it met in it, and up to which all were settled.

    Args:
        members: rows of `member_states`, less these columns.

    Returns:
        The rows, with

        - ``until``: what ends this state, a struct ``operation, timestamp, assignments, ends_life``; operation is null
          if nothing does. The member met the assignments above ``assignments_before`` up to ``until.assignments``;
        - ``settled_before, settled``: up to which assignment all were settled, before this row and with it;
        - ``revoked_ms, waited_ms``: how long the member had been in UNREVOKED_PARTITIONS and UNRELEASED_PARTITIONS;
        - ``awaited``: the names of the partitions that it waits for, null unless it is in UNRELEASED_PARTITIONS.
    """
    own = Window.partitionBy(*MEMBER_KEY).orderBy("operation")
    life = Window.partitionBy(*LIFE).orderBy("operation")
    before_in_life = life.rowsBetween(Window.unboundedPreceding, -1)
    before = own.rowsBetween(Window.unboundedPreceding, -1)
    is_member, state = F.col("is_member"), F.col("current.member_state")
    reached = F.least("current.assignments_reached", "until.assignments")
    first_met = F.first(F.when(is_member, F.col("assignments_before")), ignorenulls=True).over(life)
    following = F.struct("operation", "timestamp", "assignments_before", "is_member", "life")

    def spent_in(of_member: int) -> Column:
        spent = F.when(state == of_member, ms_between("timestamp", "until.timestamp"))
        return F.coalesce(F.sum(spent).over(before), F.lit(0))

    return (
        members.withColumn("until", _until(F.lead(following).over(own)))
        .withColumn("settles", F.when(is_member & (state == MEMBER_STABLE), reached))
        .withColumns(
            {
                "awaited": awaited(),
                "revoked_ms": spent_in(UNREVOKED_PARTITIONS),
                "waited_ms": spent_in(UNRELEASED_PARTITIONS),
                "settled": F.greatest(F.max("settles").over(life), first_met),
                "settled_before": F.greatest(F.max("settles").over(before_in_life), first_met),
            }
        )
        .drop("settles")
    )


def _until(following: Column) -> Column:
    """Return what ends a member's state: the member's next row, its group's deletion, or nothing."""
    ends_life = ~following["is_member"] | (following["life"] != F.col("life"))
    return (
        F.when(
            following.isNotNull(),
            F.struct(
                following["operation"].alias("operation"),
                following["timestamp"].alias("timestamp"),
                following["assignments_before"].alias("assignments"),
                ends_life.alias("ends_life"),
            ),
        )
        .when(
            F.col("deletion").isNotNull(),
            F.struct(
                F.col("deletion.operation"),
                F.col("deletion.timestamp"),
                F.col("deletion.assignments_before").alias("assignments"),
                F.expr("true").alias("ends_life"),
            ),
        )
        .otherwise(
            F.struct(
                F.lit(None).cast("bigint").alias("operation"),
                F.lit(None).cast("timestamp").alias("timestamp"),
                F.col("assignments_total").alias("assignments"),
                F.expr("true").alias("ends_life"),
            )
        )
    )


def settlements(members: DataFrame) -> DataFrame:
    """Tell of each assignment that a member met in which state it met it and what settled it.

    Args:
        members: the rows of `member_states`.

    Returns:
        One row per member and assignment: ``MEMBER_KEY, life, assignment``; ``met``, a struct ``timestamp, state,
        revoked_ms, waited_ms`` of the state in which the member met it; ``settled_by``, likewise of the row that
        settled it, or else of the member's last, with ``is_reconciled, operation, until, identity`` besides, and
        ``is_last_known``: whether nobody can tell what came of the member after it.
    """
    last = F.col("until.ends_life")
    entries = F.concat(
        _entries(F.col("assignments_before"), F.col("until.assignments"), _MET),
        _entries(F.col("settled_before"), F.col("settled"), _RECONCILED),
        F.when(last, _entries(F.col("settled"), F.col("until.assignments"), _UNSETTLED)).otherwise(_no_entries()),
    )
    told = ("timestamp", F.col("current.member_state").alias("state"), "revoked_ms", "waited_ms")
    is_reconciled = (F.col("what") == _RECONCILED).alias("is_reconciled")
    is_stateless = F.col("current.member_epoch").isNotNull() & F.col("current.member_state").isNull()
    is_last_known = (is_stateless | F.col("ends_headless")).alias("is_last_known")
    ending = F.struct(is_reconciled, *told, "operation", "until", "identity", is_last_known)
    return (
        members.where("is_member")
        .select("*", F.inline(entries))
        .groupBy(*LIFE, "assignment")
        .agg(
            F.first(F.when(F.col("what") == _MET, F.struct(*told)), ignorenulls=True).alias("met"),
            F.first(F.when(F.col("what") != _MET, ending), ignorenulls=True).alias("settled_by"),
        )
    )


def numbers(above: Column, up_to: Column) -> Column:
    """Return the numbers above the one up to the other; none if there are none."""
    return F.when(holds(up_to > above), F.sequence(above + 1, up_to)).otherwise(F.array().cast("array<int>"))


def _entries(above: Column, up_to: Column, what: int) -> Column:
    return F.transform(
        numbers(above, up_to), lambda number: F.struct(number.alias("assignment"), F.lit(what).alias("what"))
    )


def _no_entries() -> Column:
    return F.array().cast("array<struct<assignment:int,what:int>>")
