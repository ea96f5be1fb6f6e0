"""Who holds the partitions that a member waits for.

"Who owns this partition now" is a row among the changes of the partition's owner, in the order of operations: a running
window answers it, and nobody joins on ranges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.timeline.operations import INCARNATION, LIFE, MEMBER_KEY
from kip848_records.timeline.ownership import ASKED, changes, owned, topic_id, topic_partition_number, with_owner
from kip848_records.timeline.settlements import numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WAITS: Final = "awaited IS NOT NULL"
_END: Final = 2**63 - 1
"""The operation of questions that are asked at the end of the log: after all others."""


def owners_of_awaited(members: DataFrame, written: DataFrame) -> DataFrame:
    """Tell who owned each partition that a member in UNRELEASED_PARTITIONS waited for, whenever that counts.

    That is at the end of each operation with a type 8 of its own, for all assignments that it has not settled then; at
    the end of the one that wrote an assignment, for that one; and at the end of the log.

    Args:
        members: the rows of `member_states`.
        written: the rows of `assignments`.

    Returns:
        One row per time and partition: ``LIFE, operation, topic_partition, assignment`` (null for all that were not
        settled), ``settled_before, assignments_after``, ``owner`` (null: nobody), ``released_at``, when the last owner
        seen released it (null while it has one, or if none was seen), and ``is_end``, of the log.
    """
    waiting = members.where(_WAITS)
    questions = (
        _asked(waiting.where("current.offset >= operation"))
        .unionByName(_asked(_new_assignments(waiting, written)))
        .unionByName(_asked(waiting.where("until.operation IS NULL").withColumn("operation", F.lit(_END))))
    )
    with_type_8 = members.where("current IS NOT NULL").withColumn("offset", F.col("current.offset"))
    steps = changes(with_type_8, owned(), "operation", ["operation", "offset", "timestamp"])
    every = steps.unionByName(questions, allowMissingColumns=True)
    return (
        with_owner(every, ["operation", "step", "offset"])
        .where(F.col("step") == ASKED)
        .select(
            *(*LIFE, "operation", "topic_partition", "assignment", "settled_before", "assignments_after", "owner"),
            F.when(F.col("owner").isNull(), F.col("released_before.timestamp")).alias("released_at"),
            (F.col("operation") == _END).alias("is_end"),
        )
    )


def seen_blocking(owners: DataFrame) -> DataFrame:
    """Tell which members blocked a member on its way to an assignment.

    Args:
        owners: the rows of `owners_of_awaited`.

    Returns:
        One row per member and assignment with any: ``MEMBER_KEY, assignment, seen_blocking``, a sorted array of ids.
    """
    hits = owners.where("owner != member_id AND NOT is_end")
    own = hits.where("assignment IS NULL").transform(_of_unsettled)
    new = hits.where("assignment IS NOT NULL").select(*MEMBER_KEY, "assignment", "owner")
    found = F.array_sort(F.collect_set("owner")).alias("seen_blocking")
    return own.unionByName(new).groupBy(*MEMBER_KEY, "assignment").agg(found)


def awaited_at_end(owners: DataFrame, topics: DataFrame) -> DataFrame:
    """Tell what the members that are in UNRELEASED_PARTITIONS at the end of the log wait for, and for whom.

    Args:
        owners: the rows of `owners_of_awaited`.
        topics: ``topic_id, topic``, each id once.

    Returns:
        One row per such member: ``MEMBER_KEY, awaited``, a sorted array of structs ``topic_id, topic, partition,
        owner`` (null: nobody), ``released_at``; and ``blocking_at_end``, a sorted array of the owners but the member
        itself.
    """
    topic = F.coalesce("topic", "topic_id").alias("topic")
    awaited = F.struct("topic_id", topic, topic_partition_number().alias("partition"), "owner", "released_at")
    blocking = F.collect_set(F.when(F.col("owner") != F.col("member_id"), F.col("owner")))
    return (
        owners.where("is_end")
        .withColumn("topic_id", topic_id())
        .join(topics.select("topic_id", "topic"), "topic_id", "left")
        .groupBy(*MEMBER_KEY)
        .agg(F.array_sort(F.collect_list(awaited)).alias("awaited"), F.array_sort(blocking).alias("blocking_at_end"))
    )


def _new_assignments(waiting: DataFrame, written: DataFrame) -> DataFrame:
    """Return the operations that wrote an assignment and no type 8 of the member, which waits already."""
    asked_for = F.when(F.col("current.offset") >= F.col("operation"), F.col("assignments_after"))
    met = numbers(F.coalesce(asked_for, F.col("assignments_before")), F.col("until.assignments"))
    at = written.select(*INCARNATION, "assignment", "operation")
    return waiting.withColumn("assignment", F.explode(met)).drop("operation").join(at, [*INCARNATION, "assignment"])


def _asked(waiting: DataFrame) -> DataFrame:
    assignment = "assignment" if "assignment" in waiting.columns else F.lit(None).cast("int").alias("assignment")
    return waiting.select(
        *(*LIFE, "operation", assignment, "settled_before", "assignments_after"),
        F.explode("awaited").alias("topic_partition"),
        F.lit(ASKED).alias("step"),
    )


def _of_unsettled(hits: DataFrame) -> DataFrame:
    """Return ``MEMBER_KEY, assignment, owner`` for the assignments that were open when an owner was seen.

    Of several times that one owner is seen, the last before an assignment is settled speaks for it: so a hit covers
    the assignments met by then that are settled before the same owner is seen again, and each comes up once.
    """
    of_owner = Window.partitionBy(*LIFE, "owner").orderBy("operation")
    settled_next = F.coalesce(F.lead("settled_before").over(of_owner), F.col("assignments_after"))
    last = F.least("assignments_after", settled_next)
    return (
        hits.select(*LIFE, "owner", "operation", "settled_before", "assignments_after")
        .distinct()
        .withColumn("assignments", numbers(F.col("settled_before"), last))
        .select(*MEMBER_KEY, F.explode("assignments").alias("assignment"), "owner")
    )
