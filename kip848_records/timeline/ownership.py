"""Who owns each partition: changes of owner, and who owned it when somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.timeline.operations import INCARNATION, UNRELEASED_PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

RELEASED: Final = 0
ACQUIRED: Final = 1
ASKED: Final = 2
"""Steps, in the order in which those of one operation count: only what it leaves behind is judged."""

OF_PARTITION: Final = (*INCARNATION, "topic_partition")


def named(partitions: Column) -> Column:
    """Return partitions by topic as an array of ``<topic id>:<partition>``; none for null.

    Strings, because Spark compares arrays of structs element by element with each other, those of strings by hash.
    """
    of_topic = F.transform(
        partitions, lambda topic: F.transform(topic["partitions"], lambda p: F.concat_ws(":", topic["topic_id"], p))
    )
    return F.coalesce(F.flatten(of_topic), F.array().cast("array<string>"))


def topic_id() -> Column:
    """Return the topic id in ``topic_partition``, a name as `named` makes them."""
    return F.substring_index("topic_partition", ":", 1)


def topic_partition_number() -> Column:
    """Return the partition's number in ``topic_partition``."""
    return F.substring_index("topic_partition", ":", -1).cast("int")


def awaited() -> Column:
    """Return the names of the partitions that a member of `member_states` waits for: in UNRELEASED_PARTITIONS only."""
    waits = F.col("is_member") & (F.col("current.member_state") == UNRELEASED_PARTITIONS)
    return F.when(waits, F.array_except(named(F.col("target")), named(F.col("current.assigned"))))


def owned(current: str = "current") -> Column:
    """Return the names of the partitions that a member owns: assigned or pending revocation."""
    return F.array_union(named(F.col(f"{current}.assigned")), named(F.col(f"{current}.pending")))


def changes(rows: DataFrame, partitions: Column, order: str, keep: Sequence[str]) -> DataFrame:
    """Tell which partitions each member has and had not in its row before, and the other way round.

    Args:
        rows: rows with ``partition, group_id, incarnation, member_id``.
        partitions: the names of the partitions that a row's member has.
        order: the column that puts a member's rows in order.
        keep: the columns to keep of the row that made a change.

    Returns:
        One row per change: the columns of `keep`, those of `INCARNATION`, ``member_id, step`` (RELEASED or ACQUIRED)
        and ``topic_partition``.
    """
    own = Window.partitionBy(*INCARNATION, "member_id").orderBy(order)
    none = F.array().cast("array<string>")
    before = F.coalesce(F.lag("partitions").over(own), none)
    released, acquired = F.array_except("before", "partitions"), F.array_except("partitions", "before")
    both = F.concat(
        F.transform(released, lambda name: F.struct(F.lit(RELEASED).alias("step"), name.alias("topic_partition"))),
        F.transform(acquired, lambda name: F.struct(F.lit(ACQUIRED).alias("step"), name.alias("topic_partition"))),
    )
    return (
        rows.select(*dict.fromkeys([*INCARNATION, "member_id", *keep, order]), partitions.alias("partitions"))
        .withColumn("before", before)
        .select(*INCARNATION, "member_id", *keep, F.inline(both))
    )


def with_owner(steps: DataFrame, order: Sequence[str]) -> DataFrame:
    """Add the owner of each step's partition: who acquired it last, unless that member has released it since.

    The newest claim counts: a member that releases a partition which another has acquired since changes nothing.

    Args:
        steps: rows with the columns of `OF_PARTITION`, ``member_id`` and ``step``.
        order: the columns that put a partition's steps in order.

    Returns:
        The steps with ``owner``, as of this step; ``acquired_before``, the last row that acquired the partition before
        this step, and ``released_before``, the last row by which an owner released it before: structs of all columns
        of `steps`, or null.
    """
    in_order = Window.partitionBy(*OF_PARTITION).orderBy(*order)
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    whole = F.struct(*(name for name in steps.columns if name not in OF_PARTITION))
    step, member = F.col("step"), F.col("member_id")
    last_acquired = F.last(F.when(step == ACQUIRED, whole), ignorenulls=True).over(before)
    releases = (step == RELEASED) & (member == F.col("acquired_before.member_id"))
    owner = F.when(step == ACQUIRED, F.struct(member.alias("id"))).when(
        releases, F.struct(F.lit(None).cast("string").alias("id"))
    )
    return steps.withColumn("acquired_before", last_acquired).withColumns(
        {
            "released_before": F.last(F.when(releases, whole), ignorenulls=True).over(before),
            "owner": F.last(owner, ignorenulls=True).over(in_order)["id"],
        }
    )
