"""What the simulator knows of how members reach the assignments that they get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.simulate.broker.group import NOTHING, ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH, STABLE, UNRELEASED_PARTITIONS, UNREVOKED_PARTITIONS
from kip848_records.simulate.broker.operation import Bump
from kip848_records.simulate.truth.rows import OBSERVED, RIGHT_CENSORED, Row, minus

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.member import Member
    from kip848_records.simulate.broker.operation import Operation


@dataclass
class _Clock:
    """How long a member has been in each state (ms) up to `since`, and in which it is then: None while it is away."""

    since: int
    state: int | None = STABLE
    revoke_ms: int = 0
    wait_ms: int = 0

    def turn(self, at: int, state: int | None) -> None:
        if self.state == UNREVOKED_PARTITIONS:
            self.revoke_ms += at - self.since
        if self.state == UNRELEASED_PARTITIONS:
            self.wait_ms += at - self.since
        self.since, self.state = at, state


class LagTruth:
    """Rows of `rebalance_lag`."""

    name = "rebalance_lag"

    def __init__(self, group_id: str) -> None:
        self.rows: list[Row] = []
        self._group_id = group_id
        self._group: ConsumerGroup | None = None
        self._forget()

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """End the rows of members that left or reconciled, and begin those of a new assignment."""
        if not isinstance(group, ConsumerGroup):
            return
        self._group = group
        targets = self._new_targets(operation)
        for member_id in operation.left:
            self._leave(member_id, operation.timestamp)
        for member_id in operation.current:
            # One operation may replace a static member and lead it on: the last type 8 counts.
            if member_id in group.members:
                clock = self._clocks.setdefault(member_id, _Clock(operation.timestamp))
                clock.turn(operation.timestamp, _state(group.members[member_id]))
        for epoch, first_bumped_at in targets:
            for member_id in group.members:
                self._begin(operation, member_id, epoch, first_bumped_at, incarnation)
        for member_id in operation.current:
            self._follow(member_id, operation.timestamp)
        if targets:
            for member_id in group.members.keys() - set(operation.current):
                self._see_blockers(member_id, since_epoch=targets[0][0])

    def deletion(self, operation: Operation, incarnation: int) -> None:  # noqa: ARG002
        """End all rows of the incarnation."""
        for member_id in list(self._open):
            self._leave(member_id, operation.timestamp)
        self._forget()

    def close(self, captured_at: int) -> None:
        """End the rows of what is not over."""
        for member_id, rows in self._open.items():
            clock = self._clocks.setdefault(member_id, _Clock(captured_at))
            clock.turn(captured_at, clock.state)
            waits = clock.state == UNRELEASED_PARTITIONS
            awaited = self._awaited(member_id) if waits else None
            holders = {owner for _, owner in awaited or () if owner not in {None, member_id}}
            for row in rows:
                lag = captured_at - row["first_bumped_at"]
                self._end(row, clock, status="open", reconciled_at=None, lag_ms=lag)
                row["blocked_by"], row["history"] = sorted(holders), RIGHT_CENSORED
                row["awaited"] = awaited and [
                    {"topic_id": topic, "partition": partition, "owner": owner} for (topic, partition), owner in awaited
                ]
        self._forget()

    def _forget(self) -> None:
        self._open: dict[str, list[Row]] = {}
        self._clocks: dict[str, _Clock] = {}
        self._assignment_epoch = -1
        self._first_bumped_at: int | None = None

    def _new_targets(self, operation: Operation) -> list[tuple[int, int | None]]:
        """Return the assignment epochs that were written, each with the oldest bump that it answers."""
        targets = []
        for event in operation.epochs:
            if isinstance(event, Bump):
                self._first_bumped_at = operation.timestamp if self._first_bumped_at is None else self._first_bumped_at
            else:
                targets.append((event.epoch, self._first_bumped_at))
                self._first_bumped_at, self._assignment_epoch = None, event.epoch
        return targets

    def _begin(
        self, operation: Operation, member_id: str, epoch: int, first_bumped_at: int | None, incarnation: int
    ) -> None:
        assert self._group is not None  # noqa: S101 - for the type checker
        member = self._group.members[member_id]
        clock = self._clocks.setdefault(member_id, _Clock(operation.timestamp))
        clock.turn(operation.timestamp, clock.state)
        row = {
            "group_id": self._group_id,
            "incarnation": incarnation,
            "group_epoch": epoch,
            "member_id": member_id,
            "target_at": operation.timestamp,
            "first_bumped_at": first_bumped_at,
            # What the clock shows now is taken off at the end.
            "revoke_ms": -clock.revoke_ms,
            "wait_ms": -clock.wait_ms,
            "blocked_by": set(),
            "awaited": None,
            "instance_id": member.instance_id,
            "client_id": member.client_id,
            "client_host": member.client_host,
        }
        self._open.setdefault(member_id, []).append(row)

    def _follow(self, member_id: str, at: int) -> None:
        """Look at a member after a type 8 of its own."""
        if self._group is None or member_id not in self._group.members:
            return
        member = self._group.members[member_id]
        self._see_blockers(member_id, since_epoch=0)
        if _state(member) != STABLE:
            return
        clock = self._clocks[member_id]
        reached = [row for row in self._open.get(member_id, ()) if row["group_epoch"] <= member.epoch]
        for row in reached:
            self._end(row, clock, status="reconciled", reconciled_at=at, lag_ms=minus(at, row["first_bumped_at"]))
        if reached:
            self._open[member_id] = [row for row in self._open[member_id] if row["group_epoch"] > member.epoch]

    def _leave(self, member_id: str, at: int) -> None:
        clock = self._clocks.pop(member_id, _Clock(at))
        clock.turn(at, clock.state)
        for row in self._open.pop(member_id, ()):
            self._end(row, clock, status="left", reconciled_at=None, lag_ms=None)

    def _end(self, row: Row, clock: _Clock, *, status: str, reconciled_at: int | None, lag_ms: int | None) -> None:
        row["revoke_ms"] += clock.revoke_ms
        row["wait_ms"] += clock.wait_ms
        row["blocked_by"] = sorted(row["blocked_by"])
        row.update(status=status, reconciled_at=reconciled_at, lag_ms=lag_ms, history=OBSERVED)
        row["superseded"] = self._assignment_epoch > row["group_epoch"]
        row["clock_skew"] = lag_ms is not None and lag_ms < 0
        self.rows.append(row)

    def _see_blockers(self, member_id: str, since_epoch: int) -> None:
        if self._group is None or _state(self._group.members[member_id]) != UNRELEASED_PARTITIONS:
            return
        owners = {owner for _, owner in self._awaited(member_id) if owner not in {None, member_id}}
        for row in self._open.get(member_id, ()):
            if row["group_epoch"] >= since_epoch:
                row["blocked_by"] |= owners

    def _awaited(self, member_id: str) -> list[tuple[TopicPartition, str | None]]:
        assert self._group is not None  # noqa: S101 - for the type checker
        member = self._group.members[member_id]
        awaited = self._group.targets.get(member_id, NOTHING) - member.assigned.keys()
        return [(partition, self._group.owners.get(partition)) for partition in sorted(awaited)]


def _state(member: Member) -> int | None:
    """Return the state of a member that is not away: one that is has kept it, and neither gives up nor waits."""
    return None if member.epoch == AWAY_EPOCH else member.state
