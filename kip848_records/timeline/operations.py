"""The order of a group's events, and the operation that each one belongs to.

A group's records are all in one partition, so (partition, group_id) ordered by offset is the group's whole
story. Timestamps never order anything: a coordinator that moves to another broker takes that broker's clock.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

GROUP: Final = ("partition", "group_id")
INCARNATION: Final = (*GROUP, "incarnation")
MEMBER_KEY: Final = (*INCARNATION, "member_id")
LIFE: Final = (*MEMBER_KEY, "life")

GROUP_METADATA: Final = 2
GROUP_EPOCH: Final = 3
PARTITION_METADATA: Final = 4
MEMBER: Final = 5
TARGET_ASSIGNMENT: Final = 6
MEMBER_TARGET: Final = 7
CURRENT_ASSIGNMENT: Final = 8
REGULAR_EXPRESSION: Final = 16
LOST: Final = -1
"""Stands for the key type of a group's record that did not decode."""
LOST_TO_ANY: Final = -2
"""Stands for the key type of one that could not be read: of which group it was nobody can tell."""
EVENT_TYPES: Final = (
    *(GROUP_METADATA, GROUP_EPOCH, PARTITION_METADATA, MEMBER, TARGET_ASSIGNMENT, MEMBER_TARGET),
    *(CURRENT_ASSIGNMENT, REGULAR_EXPRESSION),
)
"""Key types, in any dialect, of the records that tell of a group's state."""

MEMBER_STABLE: Final = 0
UNREVOKED_PARTITIONS: Final = 1
UNRELEASED_PARTITIONS: Final = 2
AWAY_EPOCH: Final = -2
"""Member epoch of a static member that went away and may come back."""


def with_operations(events: DataFrame) -> DataFrame:
    """Add to each event the operation and the incarnation it belongs to.

    An operation (one heartbeat, one fencing, one deletion) is a run of contiguous offsets with one timestamp. Events
    hold one group's records only, so a record of anybody else shows as a gap in the offsets and ends the operation.
    One that may be anybody's belongs to none.

    Returns:
        The events with ``operation bigint``, the offset of the operation's first record; ``incarnation int``, the
        number of type-3 tombstones before the event; and ``ends_operation boolean``. A type-3 tombstone ends the
        operation for its incarnation, though the operation may go on in the next one (a downgrade writes type 2).
    """
    in_order = Window.partitionBy(*GROUP).orderBy("offset")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    continues = (
        (F.col("offset") == F.lag("offset").over(in_order) + 1)
        & (F.col("timestamp") == F.lag("timestamp").over(in_order))
        & (F.col("key_type") != LOST_TO_ANY)
    )
    first_offset = F.when(F.col("starts_operation"), F.col("offset"))
    deletes = (F.col("key_type") == GROUP_EPOCH) & F.col("is_tombstone")
    return (
        events.withColumn("starts_operation", ~holds(continues))
        .withColumns(
            {
                "operation": F.last(first_offset, ignorenulls=True).over(in_order),
                "ends_operation": deletes | F.lead("starts_operation", default=True).over(in_order),
                "incarnation": F.coalesce(F.sum(deletes.cast("int")).over(before), F.lit(0)).cast("int"),
            }
        )
        .drop("starts_operation")
    )


def holds(condition: Column) -> Column:
    """Take a condition that is null for one that does not hold."""
    return F.coalesce(condition, F.lit(False))  # noqa: FBT003
