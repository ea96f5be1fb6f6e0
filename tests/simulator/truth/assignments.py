"""The target assignments of a group, each compared with its predecessor, with the bumps that it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kip848_records.simulate.broker.operation import EpochBumped, MemberJoined, TargetAssigned

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation
    from tests.simulator.truth.rows import GroupClock, Moment


class Assignment(NamedTuple):
    """A target assignment.

    `partitions` are in some member's target, `duplicates` of them in more than one. `moved` have another target owner
    than in the previous assignment; None if there was none since the group was last Empty. `first_bump` is the oldest
    bump since then that it answers; without one, the first join; without that, the assignment itself.
    """

    epoch: int
    partitions: int
    duplicates: int
    moved: int | None
    first_bump: Moment


class AssignmentTracker:
    """Collects the assignments of each operation."""

    def __init__(self, clock: GroupClock) -> None:
        self.latest: list[Assignment] = []
        """Those of the latest operation."""
        self._clock = clock
        self._owners: dict[TopicPartition, str] | None = None
        self._first_bump: Moment | None = None
        self._first_member: Moment | None = None

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:  # noqa: ARG002
        """Follow the operation. An Empty group starts again, and so does a deleted one."""
        self.latest = []
        for event in operation.events:
            if isinstance(event, MemberJoined):
                self._first_member = self._first_member or self._clock.now
            elif isinstance(event, EpochBumped):
                self._first_bump = self._first_bump or self._clock.now
            elif isinstance(event, TargetAssigned):
                self.latest.append(self._follow(event))
        if operation.ends_incarnation or group is None or not group.members:
            self._owners = self._first_bump = self._first_member = None

    def _follow(self, event: TargetAssigned) -> Assignment:
        before, self._owners = self._owners, {}
        total = 0
        for member_id, target in event.targets.items():
            self._owners.update(dict.fromkeys(target, event.owner_names[member_id]))
            total += len(target)
        owners = self._owners
        moved = None if before is None else sum(tp in before and before[tp] != owner for tp, owner in owners.items())
        first_bump = self._first_bump or self._first_member or self._clock.now
        self._first_bump = None
        # A partition has at most two owners here: the simulated assignors never give it to three.
        return Assignment(event.epoch, len(owners), total - len(owners), moved, first_bump)
