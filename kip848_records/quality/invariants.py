"""What KIP-848 promises about epochs, owners and target assignments, checked over the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.protocol.messages import DIALECTS
from kip848_records.quality.beginnings import beginnings
from kip848_records.quality.expectations import judged, sentence
from kip848_records.timeline.operations import (
    CURRENT_ASSIGNMENT,
    GROUP,
    GROUP_EPOCH,
    INCARNATION,
    MEMBER_TARGET,
    PARTITION_METADATA,
    TARGET_ASSIGNMENT,
    holds,
)
from kip848_records.timeline.partitions import ACQUIRED, RELEASED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kip848_records.quality.expectations import Audited, Limits

_TARGETS: Final = "consumer_group_target_assignment_member"

_HIGHEST_START: Final = 1
"""Both epochs of a group that has none yet: 0, and 1 from Kafka 4.3."""


def one_owner(audited: Audited, _: Limits) -> DataFrame:
    """A partition has one owner at a time, in all that members have assigned or pending revocation."""
    events = audited.table("group_event").select(
        F.col("partition").alias("offsets_partition"), F.col("offset").alias("acquired_offset"), "is_complete"
    )
    placed = audited.table("partition_handover").join(events, ["offsets_partition", "acquired_offset"], "left")
    is_claimed_twice = F.col("from_member").isNotNull() & F.col("released_at").isNull()
    return judged(
        placed,
        violated=is_claimed_twice,
        known=holds(F.col("is_complete")),
        message=sentence(
            "expected one owner of {} {}, {} took it while {} still had it",
            *("topic", "partition", "to_member", "from_member"),
        ),
        member_id="to_member",
        partition="offsets_partition",
        offset="acquired_offset",
    )


def epoch_order(audited: Audited, _: Limits) -> DataFrame:
    """A member epoch is never above the assignment epoch, and that never above the group epoch."""
    in_order = Window.partitionBy(*INCARNATION).orderBy("offset")
    of_incarnation = Window.partitionBy(*INCARNATION)
    written = (
        audited.table("group_event")
        .where(F.col("key_type").isin(GROUP_EPOCH, TARGET_ASSIGNMENT, CURRENT_ASSIGNMENT))
        .withColumns(
            {
                "group": F.last("group_epoch", ignorenulls=True).over(in_order),
                "assigned": F.last("assignment_epoch", ignorenulls=True).over(in_order),
                "highest_group": F.max("group_epoch").over(of_incarnation),
                "highest_assigned": F.max("assignment_epoch").over(of_incarnation),
            }
        )
    )
    is_assignment = F.col("key_type") == TARGET_ASSIGNMENT
    epoch = F.when(is_assignment, F.col("assignment_epoch")).otherwise(F.col("member_epoch"))
    # Before the first of them both epochs have their start value, which only members show.
    bound = F.when(is_assignment, F.col("group")).otherwise(F.coalesce("assigned", "group"))
    highest = F.when(is_assignment, F.col("highest_group")).otherwise(F.coalesce("highest_assigned", "highest_group"))
    # Where records may be missing the bound may be too low, but epochs only grow: none may be above the last.
    ceiling = F.when(F.col("is_complete"), bound).otherwise(highest)
    # A member may be given the start value before either was written; a higher epoch shows that they are missing.
    is_told = F.col("is_complete") & (F.col("ceiling").isNotNull() | (F.col("epoch") <= _HIGHEST_START))
    is_above = holds(F.col("epoch") > F.col("ceiling"))
    what = F.when(is_assignment, "assignment epoch").otherwise("member epoch")
    than = F.when(is_assignment, "group epoch").otherwise("assignment epoch")
    return judged(
        written.withColumns({"epoch": epoch, "ceiling": ceiling}).where("epoch IS NOT NULL"),
        violated=is_above,
        known=is_told | (is_above & ~F.col("is_headless")),
        message=sentence("expected {} of at most the {} {}, seen {}", what, than, "ceiling", "epoch"),
        group_epoch="epoch",
    )


def epochs_grow(audited: Audited, _: Limits) -> DataFrame:
    """Group epochs and assignment epochs only grow, until the group is deleted."""
    own = Window.partitionBy(*INCARNATION, "key_type").orderBy("offset")
    written = (
        audited.table("group_event")
        .withColumn("epoch", F.coalesce("group_epoch", "assignment_epoch"))
        .where("epoch IS NOT NULL")
        .withColumns({"before": F.lag("epoch").over(own), "offset_before": F.lag("offset").over(own)})
        .join(F.broadcast(_complete_from(audited)), "partition", "left")
    )
    # Not `is_complete`: an epoch that follows on one that went back looks like a jump, after which records are missing.
    no_gap = ~F.col("is_headless") & holds(F.coalesce("offset_before", "offset") >= F.col("complete_from"))
    what = F.when(F.col("key_type") == GROUP_EPOCH, "a group epoch").otherwise("an assignment epoch")
    return judged(
        written,
        violated=holds(F.col("epoch") < F.col("before")),
        known=F.col("is_complete") | no_gap,
        message=sentence("expected {} of at least {}, seen {}", what, "before", "epoch"),
        group_epoch="epoch",
    )


def _complete_from(audited: Audited) -> DataFrame:
    return audited.table("partition_history").where("is_base").select("partition", "complete_from")


def target_covers_topics(audited: Audited, _: Limits) -> DataFrame:
    """A target assignment gives every partition of the subscribed topics to one member, and to one only.

    Up to Kafka 4.0 the coordinator wrote the topics' sizes (type 4). Later logs do not have them: there an assignment
    may show that it gives a partition to two members, but not that it forgets none.
    """
    has_targets = any(record.table == _TARGETS for record in DIALECTS[audited.dialect].records)
    in_order = Window.partitionBy(*INCARNATION).orderBy("offset", "step")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    sizes = F.when(F.col("key_type") == PARTITION_METADATA, F.struct("partitions"))
    covers = F.col("covered") == F.col("expected")
    assignments = (
        _target_steps(audited)
        .unionByName(_sizes_and_assignments(audited), allowMissingColumns=True)
        .withColumns(
            {
                "covered": F.sum(F.coalesce("covered", F.lit(0))).over(so_far),
                "doubled": F.sum(F.coalesce("doubled", F.lit(0))).over(so_far),
                "expected": F.last(sizes, ignorenulls=True).over(so_far)["partitions"],
            }
        )
        .where(F.col("key_type") == TARGET_ASSIGNMENT)
        .join(beginnings(audited), [*GROUP], "left")
    )
    return judged(
        assignments,
        # Null where no size is known: nobody can tell then, unless a partition was given to two members.
        violated=F.when(F.col("doubled") > 0, F.lit(True)).otherwise(~covers),  # noqa: FBT003
        # A target that is not there may be in a head that was not copied.
        known=F.lit(has_targets) & F.col("is_complete") & (covers | (F.col("doubled") > 0) | F.col("has_head")),
        message=F.when(
            F.lit(not has_targets),
            "expected every partition in one target, the log has them in the record of the assignment",
        )
        .when(
            F.col("expected").isNull() & (F.col("doubled") == 0),
            "expected every partition in one target, the log does not have the topics' sizes",
        )
        .otherwise(
            sentence(
                "expected each of {} partitions in one target, {} are in one or more and {} in more than one",
                *("expected", "covered", "doubled"),
            )
        ),
        group_epoch="assignment_epoch",
    )


def _target_steps(audited: Audited) -> DataFrame:
    """Return how each type 7 changes the number of partitions that are covered, and doubled: 1, 0 or -1 each."""
    targets = audited.table(_TARGETS).select("partition", "offset", "topic_partitions")
    events = audited.table("group_event").where(F.col("key_type") == MEMBER_TARGET)
    rows = events.join(targets, ["partition", "offset"]).select(*INCARNATION, "member_id", "offset", "topic_partitions")
    steps = _changes(rows.withColumn("partitions", _named(F.col("topic_partitions"))))
    in_order = Window.partitionBy(*INCARNATION, "topic_partition").orderBy("offset", "step")
    claims = F.sum(F.when(F.col("step") == ACQUIRED, 1).otherwise(-1)).over(in_order)
    is_acquired = F.col("step") == ACQUIRED
    return steps.withColumn("claims", claims).select(
        *INCARNATION,
        "offset",
        "step",
        _crosses(is_acquired, F.col("claims"), 1).alias("covered"),
        _crosses(is_acquired, F.col("claims"), 2).alias("doubled"),
    )


def _crosses(is_acquired: Column, claims: Column, bound: int) -> Column:
    """Return 1 if a step takes a partition's claims up to a bound, -1 if it takes them below it, else 0."""
    return F.when(is_acquired & (claims == bound), 1).when(~is_acquired & (claims == bound - 1), -1).otherwise(0)


def _sizes_and_assignments(audited: Audited) -> DataFrame:
    """Return the types 4, with the ``partitions`` of all their topics, null for a tombstone, and the types 6.

    Kafka 4.1 deletes the sizes that an earlier release has left, and goes on without.
    """
    sizes = audited.table("consumer_group_partition_metadata").select(
        "partition",
        "offset",
        F.aggregate("topics", F.lit(0), lambda total, topic: total + topic["num_partitions"]).alias("partitions"),
    )
    is_assignment = (F.col("key_type") == TARGET_ASSIGNMENT) & ~F.col("is_tombstone")
    events = audited.table("group_event").where((F.col("key_type") == PARTITION_METADATA) | is_assignment)
    return events.join(sizes, ["partition", "offset"], "left").select(
        *INCARNATION, "offset", F.lit(0).alias("step"), "key_type", "partitions", "assignment_epoch", "is_complete"
    )


def _changes(targets: DataFrame) -> DataFrame:
    """Return ``INCARNATION, offset, step, topic_partition`` for what a member's target has and the one before had not.

    And the other way round: ``step`` is ACQUIRED or RELEASED. Not by `timeline.partitions`, which tells the timelines:
    a check that shares their code shares their errors.
    """
    own = Window.partitionBy(*INCARNATION, "member_id").orderBy("offset")
    before = F.coalesce(F.lag("partitions").over(own), F.array().cast("array<string>"))
    released, acquired = F.array_except("before", "partitions"), F.array_except("partitions", "before")
    steps = F.concat(
        F.transform(released, lambda name: F.struct(F.lit(RELEASED).alias("step"), name.alias("topic_partition"))),
        F.transform(acquired, lambda name: F.struct(F.lit(ACQUIRED).alias("step"), name.alias("topic_partition"))),
    )
    return targets.withColumn("before", before).select(*INCARNATION, "offset", F.inline(steps))


def _named(partitions: Column) -> Column:
    """Return partitions by topic as an array of ``<topic id>:<partition>``; none for null.

    Strings, because Spark compares arrays of structs element by element with each other, those of strings by hash.
    """
    of_topic = F.transform(
        partitions, lambda topic: F.transform(topic["partitions"], lambda p: F.concat_ws(":", topic["topic_id"], p))
    )
    return F.coalesce(F.flatten(of_topic), F.array().cast("array<string>"))
