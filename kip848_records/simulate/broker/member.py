"""One member of a consumer group, and its steps to its target assignment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kip848_records.simulate.broker.cluster import TopicPartition

STABLE: Final = 0
UNREVOKED_PARTITIONS: Final = 1
UNRELEASED_PARTITIONS: Final = 2

AWAY_EPOCH: Final = -2
"""The member epoch of a static member that is away."""


@dataclass
class Member:
    """A member in its coordinator; `assigned` has the epoch since which each partition is assigned."""

    member_id: str
    topics: frozenset[str] = frozenset()
    regex: str = ""
    instance_id: str | None = None
    client_id: str = "client"
    client_host: str = "/127.0.0.1"
    rack_id: str | None = None
    rebalance_timeout_ms: int = 300_000
    assignor: str | None = None
    classic: dict[str, Any] | None = None

    epoch: int = 0
    previous_epoch: int = 0
    state: int = STABLE
    assigned: dict[TopicPartition, int] = field(default_factory=dict)
    pending: dict[TopicPartition, int] = field(default_factory=dict)

    @property
    def owned(self) -> Collection[TopicPartition]:
        """The partitions that no other member may own: assigned or pending revocation."""
        return self.assigned.keys() | self.pending.keys()

    def renewed(self) -> Member:
        """Return a new member with the same id, for a join after this one was removed."""
        return replace(self, epoch=0, previous_epoch=0, state=STABLE, assigned={}, pending={})

    def is_converged(self, assignment_epoch: int) -> bool:
        """Return whether it owns exactly its target of the group's assignment."""
        return self.state == STABLE and self.epoch == assignment_epoch

    def metadata(self) -> dict[str, Any]:
        """Return the value of its type 5."""
        return {
            "instanceId": self.instance_id,
            "rackId": self.rack_id,
            "clientId": self.client_id,
            "clientHost": self.client_host,
            "subscribedTopicNames": sorted(self.topics),
            "subscribedTopicRegex": self.regex,
            "rebalanceTimeoutMs": self.rebalance_timeout_ms,
            "serverAssignor": self.assignor,
            "classicMemberMetadata": self.classic,
        }

    def current_assignment(self, *, with_epochs: bool) -> dict[str, Any]:
        """Return the value of its type 8."""
        return {
            "memberEpoch": self.epoch,
            "previousMemberEpoch": self.previous_epoch,
            "state": self.state,
            "assignedPartitions": _owned_partitions(self.assigned, with_epochs=with_epochs),
            "partitionsPendingRevocation": _owned_partitions(self.pending, with_epochs=with_epochs),
        }

    def next_assignment(
        self,
        target_epoch: int,
        target: frozenset[TopicPartition],
        owners: Mapping[TopicPartition, str],
        owned: Collection[TopicPartition] | None,
    ) -> bool:
        """Take the next step towards `target`; return whether anything changed.

        `owners` has the owner of every partition that is not free; `owned` are the partitions that the client reports,
        None if it reports none. The rules are those of `CurrentAssignmentBuilder` in Kafka's group coordinator.
        """
        if self.is_converged(target_epoch):
            return False
        epoch = self.epoch
        if self.state == UNREVOKED_PARTITIONS:
            if _still_owns(owned, self.pending):
                return False
            epoch += 1
        before = (self.epoch, self.previous_epoch, self.state, self.assigned, self.pending)
        kept = {tp: since for tp, since in self.assigned.items() if tp in target}
        to_revoke = {tp: since for tp, since in self.assigned.items() if tp not in target}
        self.previous_epoch = self.epoch
        if to_revoke and _still_owns(owned, to_revoke):
            self.epoch, self.state, self.assigned, self.pending = epoch, UNREVOKED_PARTITIONS, kept, to_revoke
        else:
            awaited = target - kept.keys()
            # Its own pending partitions are not free yet: the record that this step writes releases them.
            free = sorted(tp for tp in awaited if tp not in owners)
            self.epoch, self.pending = target_epoch, {}
            self.state = STABLE if len(free) == len(awaited) else UNRELEASED_PARTITIONS
            self.assigned = {**kept, **dict.fromkeys(free, target_epoch)}
        return before != (self.epoch, self.previous_epoch, self.state, self.assigned, self.pending)


def topic_partitions(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    """Return partitions as Kafka's arrays by topic."""
    by_topic = groupby(sorted(partitions), key=lambda partition: partition[0])
    return [{"topicId": topic, "partitions": [number for _, number in group]} for topic, group in by_topic]


def _owned_partitions(partitions: Mapping[TopicPartition, int], *, with_epochs: bool) -> list[dict[str, Any]]:
    arrays = topic_partitions(partitions)
    if with_epochs:
        for array in arrays:
            array["assignmentEpochs"] = [partitions[array["topicId"], number] for number in array["partitions"]]
    return arrays


def _still_owns(owned: Collection[TopicPartition] | None, partitions: Collection[TopicPartition]) -> bool:
    return owned is None or any(partition in owned for partition in partitions)
