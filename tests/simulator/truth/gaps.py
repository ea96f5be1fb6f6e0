"""Changes of owner, and the gaps in which a partition has no owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH
from kip848_records.simulate.broker.operation import (
    CurrentAssignmentWritten,
    MemberJoined,
    MemberRemoved,
    TargetAssigned,
)
from tests.simulator.truth.rows import At, GroupClock, Moment

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation


@dataclass
class Gap:
    """A time in which a partition has no owner. One without `from_member` began when the partition entered a target.

    `wanted`: it was in a target when the gap began, or when the gap ended. `wanted_ms`: the time in a target up to
    `target_since` (`Moment.elapsed`), since when it has been in one; None if it is in none.
    """

    tp: TopicPartition
    from_member: str | None
    begin: Moment
    begin_offset: At
    wanted: bool
    wanted_ms: int = 0
    target_since: int | None = None
    end: Moment | None = None

    def turn(self, now: Moment, *, in_target: bool) -> None:
        """Note whether the partition is in a target from now on."""
        if self.target_since is not None:
            self.wanted_ms += now.elapsed - self.target_since
        self.target_since = now.elapsed if in_target else None


@dataclass(frozen=True)
class Acquisition:
    """A member acquires a partition, after a gap (of 0 ms on a direct handover) or as its first owner."""

    tp: TopicPartition
    gap: Gap | None
    to_member: str
    epoch: int
    offset: At


class GapTracker:
    """Follows the owners of a group's partitions. A static member that is away owns nothing here."""

    def __init__(self, clock: GroupClock) -> None:
        self.open: dict[TopicPartition, Gap] = {}
        self.acquired: list[Acquisition] = []
        """Acquisitions of the latest operation."""
        self.ended: list[Gap] = []
        """Gaps that the latest operation ended: with an acquisition or without."""
        self._clock = clock
        self._owners: dict[TopicPartition, str] = {}
        self._group: ConsumerGroup | None = None
        self._has_new = False

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:  # noqa: ARG002
        """Begin and end gaps by the owners at the end of the operation."""
        self.acquired, self.ended, self._has_new = [], [], False
        if self._group is not None and operation.ends_incarnation:
            self._end_incarnation(operation, self._group, is_downgrade=group is not None)
        if not isinstance(group, ConsumerGroup):
            return
        self._group = group
        releases = _Releases(operation)
        upgraded = {
            event.member_id for event in operation.events if isinstance(event, MemberJoined) and event.is_upgraded
        }
        for tp, before in operation.owners_before.items():
            if before is None and group.owners.get(tp) in upgraded:
                self._owners[tp] = group.owners[tp]  # the member has had it in the classic group
            else:
                self._change_owner(tp, before, group, releases)
        for event in operation.events:
            if isinstance(event, CurrentAssignmentWritten) and event.member_id in group.members:
                self._go_away(event.member_id, group, releases)
        if releases.changes_targets:
            self._await_first_owners(operation, group)
            for gap in self.open.values():
                gap.turn(self._clock.now, in_target=gap.tp in group.target_owners)
        if releases.changes_targets or self._has_new:
            self._end_unneeded(group)

    def close(self) -> None:
        """Extend the open gaps to the capture."""
        for gap in self.open.values():
            is_in_target = gap.target_since is not None
            gap.turn(self._clock.now, in_target=is_in_target)
            gap.wanted = gap.wanted or is_in_target

    def _change_owner(self, tp: TopicPartition, before: str | None, group: ConsumerGroup, releases: _Releases) -> None:
        after = group.owners.get(tp)
        if after == before and (after is None or tp in self._owners):
            return  # else a static member, which owned nothing while it was away, is back under its id
        if before is not None and self._owners.pop(tp, None) is not None:
            self._release(tp, before, group, releases)
        if after is not None:
            self._owners[tp] = after
            gap = self.open.pop(tp, None)
            if gap is not None:
                self._end(gap, is_wanted=tp in group.target_owners)
                gap = None if gap.from_member is None else gap
            epoch = group.members[after].epoch
            self.acquired.append(Acquisition(tp, gap, after, epoch, releases.offset(after)))

    def _go_away(self, member_id: str, group: ConsumerGroup, releases: _Releases) -> None:
        if group.members[member_id].epoch == AWAY_EPOCH:
            for tp in group.members[member_id].assigned:
                del self._owners[tp]
                self._release(tp, member_id, group, releases)

    def _release(self, tp: TopicPartition, owner: str, group: ConsumerGroup, releases: _Releases) -> None:
        in_target = tp in group.target_owners
        wanted = in_target or tp in releases.targets_of_removed
        self.open[tp] = gap = Gap(tp, owner, self._clock.now, releases.offset(owner), wanted)
        gap.turn(self._clock.now, in_target=in_target)
        self._has_new = True

    def _await_first_owners(self, operation: Operation, group: ConsumerGroup) -> None:
        for tp in sorted(group.target_owners.keys() - self._owners.keys() - self.open.keys()):
            self.open[tp] = Gap(tp, None, self._clock.now, At(operation), wanted=True)

    def _end_unneeded(self, group: ConsumerGroup) -> None:
        """End the gaps of an Empty group, and of partitions that are in no current target."""
        if not group.members:
            unneeded = list(self.open.values())
        elif group.group_epoch == group.assignment_epoch:
            unneeded = [gap for gap in self.open.values() if gap.tp not in group.target_owners]
        else:
            return
        for gap in unneeded:
            self._end(self.open.pop(gap.tp), is_wanted=gap.tp in group.target_owners)

    def _end_incarnation(self, operation: Operation, group: ConsumerGroup, *, is_downgrade: bool) -> None:
        releases = _Releases(operation)
        for tp, owner in self._owners.items():
            if not is_downgrade:  # owners go on in the classic group
                self._release(tp, owner, group, releases)
        for gap in self.open.values():
            self._end(gap, is_wanted=False)
        self.open, self._owners, self._group = {}, {}, None

    def _end(self, gap: Gap, *, is_wanted: bool) -> None:
        gap.turn(self._clock.now, in_target=False)
        gap.wanted = gap.wanted or is_wanted
        gap.end = self._clock.now
        self.ended.append(gap)


class _Releases:
    """The releases of an operation: their records, and the targets that contained the partitions."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._indexes: dict[str, int] = {}
        self.targets_of_removed: set[TopicPartition] = set()
        self.changes_targets = False
        for event in operation.events:
            if isinstance(event, CurrentAssignmentWritten):
                self._indexes[event.member_id] = event.place
            elif isinstance(event, MemberRemoved):
                self._indexes[event.member_id] = event.current_place
                self.targets_of_removed |= event.target
            self.changes_targets |= isinstance(event, (MemberRemoved, TargetAssigned))

    def offset(self, member_id: str) -> At:
        """Return the offset of the last type 8 of a member."""
        return At(self._operation, self._indexes[member_id])
