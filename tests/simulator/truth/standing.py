"""The condition of each member: its state, whether it is late, and whether it blocks others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.simulate.broker.group import NOTHING, ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH, STABLE, UNRELEASED_PARTITIONS, UNREVOKED_PARTITIONS
from kip848_records.simulate.broker.operation import (
    CurrentAssignmentWritten,
    MemberJoined,
    MemberRemoved,
    TargetAssigned,
)
from tests.simulator.truth.holders import Holders
from tests.simulator.truth.rows import GroupClock, Timers

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.member import Member
    from kip848_records.simulate.broker.operation import Operation

RECONCILED: Final = "reconciled"
BEHIND: Final = "behind"
REVOKING: Final = "revoking"
WAITING: Final = "waiting"
AWAY: Final = "away"
UNKNOWN: Final = "unknown"

_STATES: Final = {UNREVOKED_PARTITIONS: REVOKING, UNRELEASED_PARTITIONS: WAITING}
_GROUP: Final = ""
"""The key of the group's own timers."""


class StandingTracker:
    """The state of each member, and timers of its conditions since the last restart.

    A member is late while the group is not Assigning, the member has not converged, and it could take its next step at
    once. A waiting member cannot if another member holds a partition that it awaits, unless it must revoke some itself:
    a new assignment may find two waiting members that hold partitions for each other. Each has to revoke first.
    """

    def __init__(self, clock: GroupClock) -> None:
        self.states: dict[str, str] = {}
        self.changed: list[str] = []
        """Members whose state or epoch the latest operation may have changed, or that it removed."""
        self.last_state: dict[str, str] = {}
        """The last state in which a member was late or blocked others, for members that no longer do."""
        self.members: dict[str, Member] = {}
        """Present members, and those that left since the last restart."""
        self.waited: set[str] = set()
        self.late, self.holding = Timers(), Timers()
        self.in_state = {state: Timers() for state in (REVOKING, AWAY)}
        self.holders = Holders()
        self._assigning, self._any_late = Timers(), Timers()
        self._clock = clock
        self._has_current: set[str] = set()
        self._to_revoke: set[str] = set()
        """Waiting members that hold partitions outside their target."""

    @property
    def assigning_ms(self) -> int:
        """How long the group epoch was above the assignment epoch."""
        return self._assigning.total(_GROUP, self._clock.now)

    @property
    def late_ms(self) -> int:
        """How long at least one member was late."""
        return self._any_late.total(_GROUP, self._clock.now)

    def restart(self) -> None:
        """Set all timers to zero, and forget the members that left."""
        now = self._clock.now
        for timers in (self.late, self.holding, *self.in_state.values(), self._assigning, self._any_late):
            timers.restart(now)
        self.holders.restart()
        self.last_state = {}
        self.members = {member_id: self.members[member_id] for member_id in self.states}
        self.waited = {member_id for member_id, state in self.states.items() if state == WAITING}

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:  # noqa: ARG002
        """Follow the members to the end of the operation."""
        if not isinstance(group, ConsumerGroup) or operation.ends_incarnation:
            self._end_group()
        if isinstance(group, ConsumerGroup):
            self._follow(operation, group)

    def _follow(self, operation: Operation, group: ConsumerGroup) -> None:
        self.changed = self._changed(operation, group)
        before = {member_id: self.states[member_id] for member_id in self.changed if member_id in self.states}
        for member_id in self.changed:
            self._turn(member_id, group)
        awaited = {member_id: self._awaited(member_id, group) for member_id in self.changed}
        concerned = self.holders.update(group, awaited, operation.owners_before)
        is_assigning = group.group_epoch > group.assignment_epoch
        if is_assigning:
            concerned |= self.late.running.keys()
        for member_id in {*self.changed, *concerned}:
            state_before = before.get(member_id, self.states.get(member_id, UNKNOWN))
            self._evaluate(member_id, state_before, is_assigning=is_assigning)
        now = self._clock.now
        self._assigning.turn(_GROUP, now, on=is_assigning and bool(group.members))
        self._any_late.turn(_GROUP, now, on=bool(self.late.running))

    def _changed(self, operation: Operation, group: ConsumerGroup) -> list[str]:
        changed: dict[str, None] = {}
        for event in operation.events:
            if isinstance(event, TargetAssigned):
                changed |= dict.fromkeys(group.members)
            elif isinstance(event, CurrentAssignmentWritten):
                changed[event.member_id] = None
                self._has_current.add(event.member_id)
            elif isinstance(event, MemberJoined):
                changed[event.member_id] = None
                self.members[event.member_id] = group.members[event.member_id]
            elif isinstance(event, MemberRemoved):
                changed[event.member_id] = None
                self._has_current.discard(event.member_id)
        return list(changed)

    def _turn(self, member_id: str, group: ConsumerGroup) -> None:
        member = group.members.get(member_id)
        if member is None:
            self.states.pop(member_id, None)
        else:
            self.states[member_id] = self._state(member, group.assignment_epoch)
        state = self.states.get(member_id)
        for timed, timers in self.in_state.items():
            timers.turn(member_id, self._clock.now, on=state == timed)
        self._to_revoke.discard(member_id)
        if member is not None and state == WAITING:
            self.waited.add(member_id)
            if member.assigned.keys() - group.targets.get(member_id, NOTHING):
                self._to_revoke.add(member_id)

    def _state(self, member: Member, assignment_epoch: int) -> str:
        if member.member_id not in self._has_current:
            return UNKNOWN
        if member.epoch == AWAY_EPOCH:
            return AWAY
        if member.state != STABLE:
            return _STATES[member.state]
        return RECONCILED if member.epoch == assignment_epoch else BEHIND

    def _awaited(self, member_id: str, group: ConsumerGroup) -> frozenset[TopicPartition]:
        if self.states.get(member_id) != WAITING:
            return NOTHING
        return group.targets.get(member_id, NOTHING) - group.members[member_id].assigned.keys()

    def _evaluate(self, member_id: str, state_before: str, *, is_assigning: bool) -> None:
        is_late = not is_assigning and self.could_go_on(member_id)
        is_holding = self.holders.holding[member_id] > 0
        if (member_id in self.late.running and not is_late) or (member_id in self.holding.running and not is_holding):
            self.last_state[member_id] = state_before
        self.late.turn(member_id, self._clock.now, on=is_late)
        self.holding.turn(member_id, self._clock.now, on=is_holding)

    def could_go_on(self, member_id: str) -> bool:
        """Return whether a member has not converged and could take its next step at once."""
        state = self.states.get(member_id)
        is_blocked = state == WAITING and member_id not in self._to_revoke and self.holders.blocking[member_id] > 0
        return state not in {None, RECONCILED} and not is_blocked

    def _end_group(self) -> None:
        """Stop all timers: there is no consumer group any more."""
        now = self._clock.now
        for member_id in {*self.late.running, *self.holding.running}:
            self.last_state[member_id] = self.states[member_id]
        for timers in (self.late, self.holding, *self.in_state.values(), self._assigning, self._any_late):
            timers.stop_all(now)
        self.changed = list(self.states)
        self.states, self._has_current = {}, set()
        held_up, self.holders = self.holders.held_up, Holders()
        self.holders.held_up = held_up
