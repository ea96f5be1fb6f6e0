"""Rows of `membership`: the stays of members in a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.kinds import CLASSIC, CONSUMER
from kip848_records.simulate.broker.classic import SESSION_TIMEOUT_MS, ClassicGroup
from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH
from kip848_records.simulate.broker.operation import (
    ClassicGenerationWritten,
    ClassicGroupRemoved,
    CurrentAssignmentWritten,
    MemberJoined,
    MemberRemoved,
)
from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED, At, Row, Timers

if TYPE_CHECKING:
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.member import Member
    from kip848_records.simulate.broker.operation import Operation
    from tests.simulator.truth.trackers import Trackers


class MembershipTruth:
    """A stay lasts from a member's first record to its tombstone, or over the generations that list it."""

    name = "membership"

    def __init__(self, partition: int, group_id: str, trackers: Trackers) -> None:
        self.rows: list[Row] = []
        self._key = {"partition": partition, "group_id": group_id}
        self._clock = trackers.clock
        self._group: Group | None = None
        self._incarnation = 0
        self._stays: dict[str, Row] = {}
        self._members: dict[str, Member] = {}
        self._ended: dict[str, list[Row]] = {}
        """Stays of the incarnation that have ended, by member id, because the member may join again."""
        self._away = Timers()

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """Begin and end stays."""
        remaining = set(group.members) if isinstance(group, ClassicGroup) and operation.ends_incarnation else set()
        for event in operation.events:
            if isinstance(event, ClassicGroupRemoved):
                how = "upgraded" if isinstance(group, ConsumerGroup) else "group_deleted"
                for member_id in list(self._stays):
                    self._end(member_id, At(operation, event.place), how, group)
            elif isinstance(event, MemberRemoved):
                how = self._left_how(event, remaining, operation)
                self._end(event.member_id, At(operation, event.place), how, group)
        if operation.ends_incarnation or incarnation != self._incarnation:
            self._flush()
        self._incarnation = incarnation
        for event in operation.events:
            if isinstance(event, MemberJoined) and isinstance(group, ConsumerGroup):
                how = "upgraded" if event.is_upgraded else "joined" if event.predecessor is None else "replaced"
                self._begin_consumer(group.members[event.member_id], At(operation, event.place), how, group)
            elif isinstance(event, ClassicGenerationWritten) and isinstance(group, ClassicGroup):
                how = "downgraded" if operation.ends_incarnation else "joined"
                self._follow_generation(event, At(operation, event.place), how, group)
            elif isinstance(event, CurrentAssignmentWritten) and event.member_id in self._members:
                is_away = self._members[event.member_id].epoch == AWAY_EPOCH
                self._away.turn(event.member_id, self._clock.now, on=is_away)
        self._group = group

    def close(self) -> None:
        """End the rows of present members."""
        for member_id in list(self._stays):
            self._end(member_id, None, None, None)
        for row in (row for rows in self._ended.values() for row in rows if not row["returned"]):
            row["returned"] = None  # it may still return
        self._flush()

    def _left_how(self, event: MemberRemoved, remaining: set[str], operation: Operation) -> str:
        if event.member_id in remaining:
            return "downgraded"
        if operation.ends_incarnation and not remaining:
            return "group_deleted"
        if event.successor is not None:
            return "replaced"
        return "expired" if self._members[event.member_id].epoch == AWAY_EPOCH else "left"

    def _follow_generation(
        self, event: ClassicGenerationWritten, offset: At, joined_how: str, group: ClassicGroup
    ) -> None:
        for member_id in [member_id for member_id in self._stays if member_id not in event.member_ids]:
            self._end(member_id, offset, "left", group)
        for member_id in event.member_ids:
            if member_id not in self._stays:
                identity = _identity(group.members[member_id]) | {"session_timeout_ms": SESSION_TIMEOUT_MS}
                self._begin(member_id, offset, {"group_type": CLASSIC, "joined_how": joined_how, **identity}, group)

    def _begin_consumer(self, member: Member, offset: At, joined_how: str, group: Group) -> None:
        self._members[member.member_id] = member
        self._away.turn(member.member_id, self._clock.now, on=False)
        self._begin(member.member_id, offset, {"group_type": CONSUMER, "joined_how": joined_how}, group)

    def _begin(self, member_id: str, offset: At, columns: Row, group: Group | None) -> None:
        stay = {**self._key, "incarnation": self._incarnation, "member_id": member_id, **columns}
        stay |= {"joined_offset": offset, "joined_at": self._clock.now.at, "joined_epoch": _epoch(group)}
        for row in self._ended.get(member_id, ()):
            row["returned"] = row["returned"] or row["group_type"] == stay["group_type"]
        self._stays[member_id] = stay

    def _end(self, member_id: str, offset: At | None, left_how: str | None, group: Group | None) -> None:
        row = self._stays.pop(member_id)
        member = self._members.pop(member_id, None)
        if member is not None:
            row |= self._description(member)
        is_over = left_how is not None
        row["left_at"] = self._clock.now.at if is_over else None
        row["left_offset"], row["left_how"] = offset, left_how
        row["left_epoch"] = _epoch(group) if is_over else None
        row["returned"] = False
        row["history"] = OBSERVED if is_over else RIGHT_CENSORED
        self._ended.setdefault(member_id, []).append(row)

    def _description(self, member: Member) -> Row:
        self._away.turn(member.member_id, self._clock.now, on=False)
        away_ms = self._away.pop(member.member_id)
        return {
            **_identity(member),
            "rack_id": member.rack_id,
            "server_assignor": member.assignor,
            "regex": member.regex or None,
            "classic_protocols": _classic_protocols(member),
            "away_ms": None if member.instance_id is None else away_ms,
        }

    def _flush(self) -> None:
        for rows in self._ended.values():
            self.rows += rows
        self._ended = {}


def _identity(member: Member) -> Row:
    """Return the columns that a classic group's record also has."""
    return {
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "topics": tuple(sorted(member.topics)),
    }


def _classic_protocols(member: Member) -> tuple[str, ...] | None:
    if member.classic is None:
        return None
    return tuple(protocol["name"] for protocol in member.classic["supportedProtocols"])


def _epoch(group: Group | None) -> int | None:
    """Return the group's epoch or generation; None if it was deleted."""
    if group is None:
        return None
    return group.group_epoch if isinstance(group, ConsumerGroup) else group.generation
