"""What a coordinator does for one group id, one operation after the other, and who is told of it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Protocol

from kip848_records.simulate.broker.classic import ClassicGroup
from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH, Member
from kip848_records.simulate.broker.operation import Operation

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import Cluster, TopicPartition
    from kip848_records.simulate.broker.releases import Release

Clock = Callable[[int], int]
"""The simulation's time -> what the coordinator's clock shows then, both in ms."""

Group = ConsumerGroup | ClassicGroup


class Witness(Protocol):
    """Is told of what happens to a group; the truth is written by witnesses."""

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """See the group, None for a deleted one, at the end of an operation."""

    def deletion(self, operation: Operation, incarnation: int) -> None:
        """See that an operation wrote a type-3 tombstone, which is the end of an incarnation."""


class Coordinator:
    """The coordinator of one group id, whatever its group is: of consumers, classic, or not there.

    Operations are in `operations`, for the log to take. No two of them have one timestamp.
    """

    def __init__(
        self, group_id: str, cluster: Cluster, release: Release, clock: Clock, witnesses: Collection[Witness] = ()
    ) -> None:
        self.group_id = group_id
        self.cluster = cluster
        self.release = release
        self.group: Group | None = None
        self.incarnation = 0
        self.operations: list[Operation] = []
        self._witnesses = witnesses
        self._clock = clock
        self._last: Operation | None = None

    @property
    def consumers(self) -> ConsumerGroup:
        """The group, which must be one of consumers."""
        if not isinstance(self.group, ConsumerGroup):
            raise TypeError(f"{self.group_id} is not a consumer group now")
        return self.group

    def watch(self, witnesses: Collection[Witness]) -> None:
        """Tell these of what happens from now on, instead of those before."""
        self._witnesses = witnesses

    def take(self) -> list[Operation]:
        """Hand over the operations that are new."""
        operations, self.operations = self.operations, []
        return operations

    def join(self, time: int, member: Member) -> None:
        """Let a member join; a classic group is upgraded by that."""
        operation = self._operation(time)
        if isinstance(self.group, ClassicGroup):
            classic, self.group = self.group, ConsumerGroup(self.group_id, self.cluster, self.release)
            classic.write_tombstone(operation)
            operation.causes.add("upgraded")
            if classic.members:
                self.group.write_upgraded(operation, classic.members_for_upgrade(), classic.generation)
        elif self.group is None:
            self.group = ConsumerGroup(self.group_id, self.cluster, self.release)
        self.consumers.join(operation, member)
        self._end(operation)

    def heartbeat(self, time: int, member_id: str, owned: Collection[TopicPartition] | None = None) -> None:
        """Hear from a member; one of the classic protocol rejoins if there is something for it."""
        group = self.consumers
        member = group.members[member_id]
        operation = self._operation(time)
        is_due = group.is_outdated or group.group_epoch > group.assignment_epoch
        if member.classic is not None and (is_due or not member.is_converged(group.assignment_epoch)):
            group.rejoin_classic(operation, member)
        else:
            group.heartbeat(operation, member, owned)
        self._end(operation)

    def subscribe(self, time: int, member_id: str, topics: frozenset[str]) -> None:
        """Hear from a member that it wants other topics."""
        operation = self._operation(time)
        self.consumers.subscribe(operation, self.consumers.members[member_id], topics)
        self._end(operation)

    def leave(self, time: int, member_id: str) -> None:
        """Remove a member; the group is downgraded if all the others are of the classic protocol."""
        group = self.consumers
        operation = self._operation(time)
        others = [member for other, member in group.members.items() if other != member_id]
        if others and all(member.classic is not None for member in others):
            group.write_tombstones(operation)
            self._delete(operation)
            self.group = ClassicGroup(self.group_id, self.cluster, group.group_epoch)
            self.group.members = {member.member_id: member for member in others}
            self.group.write(operation)
        else:
            group.leave(operation, group.members[member_id])
        self._end(operation)

    def go_away(self, time: int, member_id: str) -> None:
        """Let a static member go that says it will be back."""
        operation = self._operation(time)
        self.consumers.go_away(operation, self.consumers.members[member_id])
        self._end(operation)

    def come_back(self, time: int, member_id: str, new_id: str, topics: frozenset[str] | None = None) -> None:
        """Let the static member `member_id`, which is away, come back as `new_id`."""
        operation = self._operation(time)
        member = self.consumers.members[member_id]
        if member.epoch != AWAY_EPOCH:
            raise ValueError(f"{member_id} is not away: the coordinator would refuse {new_id}")
        self.consumers.replace(operation, member, new_id, topics)
        self._end(operation)

    def resolve(self, time: int, regex: str, topics: tuple[str, ...]) -> None:
        """Find that a regular expression matches `topics`."""
        operation = self._operation(time)
        self.consumers.resolve(operation, regex, topics)
        self._end(operation)

    def rebalance_classic(self, time: int, members: list[Member]) -> None:
        """Let a classic group, a new one if there is none, come out of a rebalance with `members`."""
        operation = self._operation(time)
        if self.group is None:
            self.group = ClassicGroup(self.group_id, self.cluster)
        if not isinstance(self.group, ClassicGroup):
            raise TypeError(f"{self.group_id} is not a classic group now")
        self.group.rebalance(operation, members)
        self._end(operation)

    def commit(self, time: int, topic: str, partition: int, offset: int, **fields: Any) -> None:  # noqa: ANN401
        """Take a committed offset; `fields` are further ones of OffsetCommit's value."""
        operation = self._operation(time)
        value = {"offset": offset, "leaderEpoch": 0, "metadata": "", "commitTimestamp": operation.timestamp}
        tagged = {"topicId": self.cluster.topics[topic].topic_id}
        key = {"group": self.group_id, "topic": topic, "partition": partition}
        operation.write(1, key, {**value, **tagged, **fields})
        self.operations.append(operation)

    def delete(self, time: int, committed: Collection[tuple[str, int]] = ()) -> None:
        """Delete the group, which must be empty, with its committed offsets (topic names and partitions)."""
        operation = self._operation(time)
        for topic, partition in sorted(committed):
            operation.write(1, {"group": self.group_id, "topic": topic, "partition": partition}, None)
        if isinstance(self.group, ClassicGroup):
            self.group.write_tombstone(operation)
            self.group = None
        else:
            self.consumers.write_tombstones(operation)
            self._delete(operation)
        self._end(operation)

    def _delete(self, operation: Operation) -> None:
        for witness in self._witnesses:
            witness.deletion(operation, self.incarnation)
        self.group = None
        self.incarnation += 1

    def _operation(self, time: int) -> Operation:
        """Begin an operation at `time`, or so soon after it that it does not read as one with the last."""
        if self._last is not None:
            time = max(time, self._last.time + 1)
            while self._clock(time) == self._last.timestamp:
                time += 1
        return Operation(time, self._clock(time))

    def _end(self, operation: Operation) -> None:
        if not operation.records:
            return
        self._last = operation
        self.operations.append(operation)
        for witness in self._witnesses:
            witness.operation(operation, self.group, self.incarnation)
