"""A classic group, which its clients rebalance: the coordinator writes the result, one type 2 per generation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kip848_records.protocol.encode import encode_message
from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages.classic import (
    CONSUMER_PROTOCOL_ASSIGNMENT,
    CONSUMER_PROTOCOL_SUBSCRIPTION,
    CONSUMER_PROTOCOL_TYPE,
)
from kip848_records.simulate.broker.assignors import range_assignor, uniform_assignor
from kip848_records.simulate.broker.operation import ClassicGenerationWritten, ClassicGroupRemoved

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import Cluster, TopicPartition
    from kip848_records.simulate.broker.member import Member
    from kip848_records.simulate.broker.operation import Operation

_SUBSCRIPTION = CONSUMER_PROTOCOL_SUBSCRIPTION.layouts[1]
_ASSIGNMENT = CONSUMER_PROTOCOL_ASSIGNMENT.layouts[1]
SESSION_TIMEOUT_MS = 45_000
COOPERATIVE = "cooperative-sticky"
"""The assignor whose members give partitions up only after a generation without them, and then join again."""


@dataclass
class ClassicGroup:
    """The members by id, and their generation."""

    group_id: str
    cluster: Cluster
    generation: int = 0
    members: dict[str, Member] = field(default_factory=dict)
    protocol: str = "range"
    """The assignor that its members have agreed on."""
    waits: bool = False
    """Whether members are to get partitions in the next generation, which others give up after this one."""

    @property
    def state(self) -> str:
        """The group's state as far as the log shows it."""
        return "Stable" if self.members else "Empty"

    def rebalance(self, operation: Operation, members: list[Member]) -> None:
        """Finish a rebalance with `members`; the first of them leads."""
        self.generation += 1
        before = {member.member_id: frozenset(member.assigned) for member in self.members.values()}
        self.members = {member.member_id: member for member in members}
        subscriptions = {member.member_id: member.topics for member in members}
        assignor = uniform_assignor if self.protocol == COOPERATIVE else range_assignor
        held = {tp: member for member, tps in before.items() if member in self.members for tp in tps}
        self.waits = False
        for member_id, target in assignor(subscriptions, self.cluster.topics, before).items():
            free = [tp for tp in sorted(target) if self.protocol != COOPERATIVE or held.get(tp, member_id) == member_id]
            self.members[member_id].assigned = dict.fromkeys(free, self.generation)
            self.waits |= len(free) < len(target)
        self.write(operation)

    def write(self, operation: Operation) -> None:
        """Write the present group."""
        members = list(self.members.values())
        value = {
            "protocolType": CONSUMER_PROTOCOL_TYPE,
            "generation": self.generation,
            "protocol": self.protocol if members else None,
            "leader": members[0].member_id if members else None,
            "currentStateTimestamp": operation.timestamp,
            "members": [self._value(member) for member in members],
        }
        operation.events.append(ClassicGenerationWritten(operation.size, self.generation, tuple(self.members)))
        operation.write(KeyType.GROUP_METADATA, {"group": self.group_id}, value)

    def write_tombstone(self, operation: Operation) -> None:
        """Write the tombstone that deletes the group."""
        operation.events.append(ClassicGroupRemoved(operation.size))
        operation.write(KeyType.GROUP_METADATA, {"group": self.group_id}, None)

    def members_for_upgrade(self) -> list[Member]:
        """Return the members in the form that a consumer group takes over."""
        protocol = {"name": "range", "metadata": b""}
        for member in self.members.values():
            supported = [{**protocol, "metadata": self._subscription(member)}]
            member.classic = {"sessionTimeoutMs": SESSION_TIMEOUT_MS, "supportedProtocols": supported}
        return list(self.members.values())

    def _value(self, member: Member) -> dict[str, Any]:
        assigned = {"assignedPartitions": self._by_name(member.assigned), "userData": None}
        return {
            "memberId": member.member_id,
            "groupInstanceId": member.instance_id,
            "clientId": member.client_id,
            "clientHost": member.client_host,
            "rebalanceTimeout": member.rebalance_timeout_ms,
            "sessionTimeout": SESSION_TIMEOUT_MS,
            "subscription": self._subscription(member),
            "assignment": encode_message(_ASSIGNMENT, assigned),
        }

    def _subscription(self, member: Member) -> bytes:
        value = {"topics": sorted(member.topics), "userData": None, "ownedPartitions": self._by_name(member.assigned)}
        return encode_message(_SUBSCRIPTION, value)

    def _by_name(self, partitions: dict[TopicPartition, int]) -> list[dict[str, Any]]:
        numbers: dict[str, list[int]] = {}
        names = self.cluster.names
        for topic_id, number in sorted(partitions):
            numbers.setdefault(names[topic_id], []).append(number)
        return [{"topic": name, "partitions": numbers[name]} for name in sorted(numbers)]
