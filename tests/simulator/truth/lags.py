"""Rows of `rebalance_lag`: how each member reconciles its assignments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kip848_records.kinds import CONSUMER
from kip848_records.simulate.broker.group import NOTHING, ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH, STABLE, UNRELEASED_PARTITIONS, UNREVOKED_PARTITIONS
from kip848_records.simulate.broker.operation import CurrentAssignmentWritten, MemberRemoved
from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED, Moment, Row, Timers, minus

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.member import Member
    from kip848_records.simulate.broker.operation import Operation
    from tests.simulator.truth.assignments import Assignment
    from tests.simulator.truth.trackers import Trackers


@dataclass
class _OpenLag:
    """A row that has not ended; its timers count from `revoke_from` and `wait_from`."""

    row: Row
    epoch: int
    first_bump: Moment
    revoke_from: int
    wait_from: int
    blocked_by: set[str] = field(default_factory=set)


class LagTruth:
    """Begins a row with each assignment for each member; it ends when the member is reconciled or gone."""

    name = "rebalance_lag"

    def __init__(self, partition: int, group_id: str, trackers: Trackers) -> None:
        self.rows: list[Row] = []
        self._key = {"partition": partition, "group_id": group_id}
        self._clock = trackers.clock
        self._assignments = trackers.assignments
        self._group: ConsumerGroup | None = None
        self._open: dict[str, list[_OpenLag]] = {}
        self._revokes, self._waits = Timers(), Timers()
        self._assignment_epoch = -1
        self._released: dict[TopicPartition, int] = {}
        """When a partition was last released."""

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """End the rows of members that left or reconciled, and begin those of a new assignment."""
        for assignment in self._assignments.latest:
            self._assignment_epoch = assignment.epoch
        for event in operation.events:
            if isinstance(event, MemberRemoved):
                self._leave(event.member_id)
        if operation.ends_incarnation:
            self._assignment_epoch, self._released = -1, {}
        if isinstance(group, ConsumerGroup):
            self._group = group
            self._follow(operation, group, incarnation)

    def close(self) -> None:
        """End the rows of members that are not reconciled."""
        for member_id, lags in self._open.items():
            awaited = self._awaited(member_id) if member_id in self._waits.running else None
            for lag in lags:
                lag.blocked_by = {owner for _, owner in awaited or () if owner not in {None, member_id}}
                lag.row["awaited"] = [self._awaited_row(*each) for each in awaited or ()] or None
                self._end(lag, "open")
        self._open = {}

    def _follow(self, operation: Operation, group: ConsumerGroup, incarnation: int) -> None:
        for tp, before in operation.owners_before.items():
            if before is not None:
                self._released[tp] = operation.timestamp
        written = dict.fromkeys(e.member_id for e in operation.events if isinstance(e, CurrentAssignmentWritten))
        current = [group.members[member_id] for member_id in written if member_id in group.members]
        for member in current:
            self._turn(member)
        assigned = self._assignments.latest
        for assignment in assigned:
            for member in group.members.values():
                self._begin(member, assignment, incarnation)
        for member in current:
            self._note_blockers(member, since_epoch=0)
            self._finish_reconciled(member)
        if assigned:
            for member_id in group.members.keys() - written.keys():
                self._note_blockers(group.members[member_id], since_epoch=assigned[0].epoch)

    def _turn(self, member: Member) -> None:
        """Start and stop the member's timers; a member that is away neither revokes nor waits."""
        state = _state(member)
        self._revokes.turn(member.member_id, self._clock.now, on=state == UNREVOKED_PARTITIONS)
        self._waits.turn(member.member_id, self._clock.now, on=state == UNRELEASED_PARTITIONS)

    def _begin(self, member: Member, assignment: Assignment, incarnation: int) -> None:
        now, first_bump = self._clock.now, assignment.first_bump
        unfinished = self._open.setdefault(member.member_id, [])
        row = {
            **self._key,
            "incarnation": incarnation,
            "group_type": CONSUMER,
            "group_epoch": assignment.epoch,
            "member_id": member.member_id,
            "target_at": now.at,
            "first_bumped_at": first_bump.at,
            "behind_since": (unfinished[0].first_bump if unfinished else first_bump).at,
            "awaited": None,
            "instance_id": member.instance_id,
            "client_id": member.client_id,
            "client_host": member.client_host,
            "rebalance_timeout_ms": member.rebalance_timeout_ms,
        }
        revoke_from, wait_from = (timers.total(member.member_id, now) for timers in (self._revokes, self._waits))
        unfinished.append(_OpenLag(row, assignment.epoch, first_bump, revoke_from, wait_from))

    def _finish_reconciled(self, member: Member) -> None:
        if _state(member) != STABLE:
            return
        lags = self._open.get(member.member_id, [])
        self._open[member.member_id] = [lag for lag in lags if lag.epoch > member.epoch]
        for lag in lags:
            if lag.epoch <= member.epoch:
                self._end(lag, "reconciled")

    def _leave(self, member_id: str) -> None:
        for lag in self._open.pop(member_id, ()):
            self._end(lag, "left")
        self._revokes.turn(member_id, self._clock.now, on=False)
        self._waits.turn(member_id, self._clock.now, on=False)

    def _end(self, lag: _OpenLag, status: str) -> None:
        now, row = self._clock.now, lag.row
        member_id = row["member_id"]
        lag_ms = None if status == "left" else minus(now.at, row["first_bumped_at"])
        row["status"] = status
        row["reconciled_at"] = now.at if status == "reconciled" else None
        row["superseded"] = self._assignment_epoch > lag.epoch
        row["lag_ms"] = lag_ms
        row["revoke_ms"] = self._revokes.total(member_id, now) - lag.revoke_from
        row["wait_ms"] = self._waits.total(member_id, now) - lag.wait_from
        row["blocked_by"] = sorted(lag.blocked_by)
        row["history"] = RIGHT_CENSORED if status == "open" else OBSERVED
        row["clock_skew"] = now.has_skew_since(lag.first_bump) or (lag_ms is not None and lag_ms < 0)
        self.rows.append(row)

    def _note_blockers(self, member: Member, since_epoch: int) -> None:
        if _state(member) == UNRELEASED_PARTITIONS:
            owners = {owner for _, owner in self._awaited(member.member_id) if owner is not None} - {member.member_id}
            for lag in self._open.get(member.member_id, ()):
                if lag.epoch >= since_epoch:
                    lag.blocked_by |= owners

    def _awaited(self, member_id: str) -> list[tuple[TopicPartition, str | None]]:
        assert self._group is not None
        member = self._group.members[member_id]
        awaited = self._group.targets.get(member_id, NOTHING) - member.assigned.keys()
        return [(tp, self._group.owners.get(tp)) for tp in sorted(awaited)]

    def _awaited_row(self, tp: TopicPartition, owner: str | None) -> Row:
        released_at = self._released.get(tp) if owner is None else None
        awaited = {"topic_id": tp[0], "partition": tp[1], "owner": owner, "released_at": released_at}
        return {**awaited, "subtopology_id": None, "role": None}


def _state(member: Member) -> int | None:
    """Return the state of a member; None if it is away, because its record keeps its previous state."""
    return None if member.epoch == AWAY_EPOCH else member.state
