"""The order of a group's events, and the operation that each one belongs to.

A group's records are all in one partition, so (partition, group_id) ordered by offset is the group's whole
story. Timestamps never order anything: a coordinator that moves to another broker takes that broker's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from pyspark.sql import functions as F

from kip848_records.timeline.windows import NONE, NULL, Window, holds_of, of_rows, within

if TYPE_CHECKING:
    from pyspark.sql import Column

    from kip848_records.timeline.columns import Events
    from kip848_records.timeline.snapshots import Snapshots
    from kip848_records.timeline.windows import Bools, Ints

GROUP: Final = ("partition", "group_id")
INCARNATION: Final = (*GROUP, "incarnation")
MEMBER_KEY: Final = (*INCARNATION, "member_id")

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
LOST_CLASSIC: Final = -3
"""The same of a type 2: the group was a classic one."""
LOST_TO_ANY: Final = -2
"""Stands for the key type of one that could not be read: of which group it was nobody can tell."""
LOSSES: Final = (LOST, LOST_CLASSIC, LOST_TO_ANY)
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
AWAY: Final = 256
"""Stands for the state of such a member, whose type 8 repeats the one it was in; no byte is so large."""


@dataclass(frozen=True)
class Operations:
    """Which operation, incarnation and member each event belongs to.

    An operation (one heartbeat, one fencing, one deletion) is a run of contiguous offsets with one timestamp. Events
    hold one group's records only, so a record of anybody else shows as a gap in the offsets and ends the operation.
    One that may be anybody's belongs to none. A snapshot is one.

    `operation`: the offset of the operation's first record. `incarnation`: the number of type-3 tombstones before the
    event. `ends_operation`: a type-3 tombstone does so for its incarnation, though the operation may go on in the next
    one (a downgrade writes type 2). `deletes`: whether the event is that tombstone. And windows of those of one group,
    one incarnation, one operation in it, and one member in it.
    """

    operation: Ints
    incarnation: Ints
    ends_operation: Bools
    deletes: Bools
    of_group: Window
    of_incarnation: Window
    of_operation: Window
    of_member: Window

    @property
    def last_of_group(self) -> Ints:
        """The last event of each event's group."""
        return self.of_group.max(np.arange(len(self.operation)))

    @property
    def first_of_incarnation(self) -> Ints:
        """The first event of each event's incarnation."""
        return self.of_incarnation.min(np.arange(len(self.operation)))


def operations(events: Events, of_group: Window, snapshots: Snapshots) -> Operations:
    """Tell the operations of events that are in order, of each group behind its snapshot."""
    offset, timestamp, key_type = events.ints("offset"), events.ints("timestamp"), events.ints("key_type")
    before = of_group.previous()
    continues = (
        (before != NONE)
        & (offset == of_rows(offset, before) + 1)
        & (timestamp == of_rows(timestamp, before))
        & (timestamp != NULL)
        & (key_type != LOST_TO_ANY)
        & ~holds_of(snapshots.is_snapshot, before)
    ) | ((before != NONE) & snapshots.is_snapshot)
    deletes = (key_type == GROUP_EPOCH) & events.bools("is_tombstone")
    operation = offset[of_group.last(~continues)]
    incarnation = snapshots.incarnation + of_group.running_sum(deletes, before=True)
    of_incarnation = Window(within(of_group, incarnation), are_together=True)
    member = events.codes("member_id")
    return Operations(
        operation=operation,
        incarnation=incarnation,
        ends_operation=deletes | ~holds_of(continues, of_group.following()),
        deletes=deletes,
        of_group=of_group,
        of_incarnation=of_incarnation,
        of_operation=Window(within(of_incarnation, operation), are_together=True),
        of_member=Window(within(of_incarnation, member)),
    )


def holds(condition: Column) -> Column:
    """Take a condition that is null for one that does not hold."""
    return F.coalesce(condition, F.lit(False))  # noqa: FBT003
