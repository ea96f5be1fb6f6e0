"""Why a group epoch was bumped: inferred from what else the same operation wrote before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.timeline.operations import (
    CURRENT_ASSIGNMENT,
    GROUP_EPOCH,
    GROUP_METADATA,
    INCARNATION,
    MEMBER,
    PARTITION_METADATA,
    REGULAR_EXPRESSION,
    holds,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_CAUSES: Final = (
    "upgraded",
    "topic_metadata_changed",
    "subscription_changed",
    "static_member_replaced",
    "member_joined",
    "unknown",  # a member that joined, or one whose earlier records are missing
    "member_left",
    "regex_resolved",
)
"""The first that fits is the cause; `unknown` as well if none does."""


def bump_causes(events: DataFrame) -> DataFrame:
    """Tell the cause of every type-3 record.

    It is told by the records of its operation up to it, from the operation's previous type 3 on. Leave, session expiry
    and fencing write the same records, so they have one name.

    Args:
        events: the rows of `group_events`.

    Returns:
        One row per type-3 record that is no tombstone: ``partition, group_id, incarnation, offset, cause``.
    """
    in_order = Window.partitionBy(*INCARNATION).orderBy("offset")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    of_bump = Window.partitionBy(*INCARNATION, "operation", "bumps_before").orderBy("offset")
    bumps = F.when(F.col("key_type") == GROUP_EPOCH, F.lit(1))
    rank = F.min("sign").over(of_bump)
    hashed = F.when(F.col("key_type") == GROUP_EPOCH, F.coalesce("metadata_hash", F.lit(0)))
    return (
        events.transform(_with_members_seen)
        .withColumn("hash_before", F.last(hashed, ignorenulls=True).over(before))
        .withColumn("bumps_before", F.coalesce(F.sum(bumps).over(before), F.lit(0)))
        .withColumn("sign", _sign())
        .withColumn("rank", rank)
        .where((F.col("key_type") == GROUP_EPOCH) & ~F.col("is_tombstone"))
        .select(
            *INCARNATION,
            "offset",
            F.coalesce(F.get(F.array(*map(F.lit, _CAUSES)), F.col("rank")), F.lit("unknown")).alias("cause"),
        )
    )


def _with_members_seen(events: DataFrame) -> DataFrame:
    """Add what a type 5 has to be compared with.

    ``was_member``, ``identity`` (instance id and subscription; of a tombstone those it deletes), ``next_current``, the
    member's next type 8, and ``instance_before``, the type 5 before it of the same instance id.
    """
    own = Window.partitionBy(*INCARNATION, "member_id").orderBy("offset")
    backwards = Window.partitionBy(*INCARNATION, "member_id").orderBy(F.desc("offset"))
    of_instance = Window.partitionBy(*INCARNATION, "key_type", "identity.instance_id").orderBy("offset")
    is_member = F.when(F.col("key_type") == MEMBER, ~F.col("is_tombstone"))
    live = is_member & ~F.col("is_tombstone")
    current = F.when(F.col("key_type") == CURRENT_ASSIGNMENT, F.struct("operation", "previous_member_epoch"))
    return events.withColumns(
        {
            "was_member": holds(
                F.last(is_member, ignorenulls=True).over(own.rowsBetween(Window.unboundedPreceding, -1))
            ),
            "identity": F.last(F.when(live, F.struct("instance_id", "subscription")), ignorenulls=True).over(own),
            "next_current": F.last(current, ignorenulls=True).over(backwards),
        }
    ).withColumn(
        "instance_before", F.lag(F.struct("is_tombstone", "operation", "member_id", "identity")).over(of_instance)
    )


def _sign() -> Column:
    """Return the place in `_CAUSES` of what a record points to; null if it points to nothing."""
    key_type, is_live = F.col("key_type"), ~F.col("is_tombstone")
    joins = (key_type == MEMBER) & is_live & ~F.col("was_member")
    gone = F.col("instance_before")
    replaces = joins & holds(
        F.col("instance_id").isNotNull()
        & gone["is_tombstone"]
        & (gone["operation"] == F.col("operation"))
        & (gone["member_id"] != F.col("member_id"))
    )
    resubscribes = replaces & ~gone["identity"]["subscription"].eqNullSafe(F.col("subscription"))
    first_epoch = holds(
        (F.col("next_current.operation") == F.col("operation")) & (F.col("next_current.previous_member_epoch") == 0)
    )
    # 0 is no hash: Kafka 4.0 writes none, and a group without members or topics has none.
    rehashed = (F.col("hash_before") != 0) & ~F.col("metadata_hash").isin(F.col("hash_before"), F.lit(0))
    signs = {
        "upgraded": (key_type == GROUP_METADATA) & ~is_live,
        "topic_metadata_changed": ((key_type == PARTITION_METADATA) & is_live) | holds(rehashed),
        "subscription_changed": ((key_type == MEMBER) & is_live & F.col("was_member")) | resubscribes,
        "static_member_replaced": replaces,
        "member_joined": joins & (F.col("is_complete") | first_epoch),
        "unknown": joins,
        "member_left": (key_type == MEMBER) & ~is_live,
        "regex_resolved": key_type == REGULAR_EXPRESSION,
    }
    cases = (F.when(signs[cause], F.lit(rank)) for rank, cause in enumerate(_CAUSES))
    return F.coalesce(*cases)
