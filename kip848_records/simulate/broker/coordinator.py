"""The coordinator of one group id, which performs one operation after the other, and its observers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol

from kip848_records.protocol.key_types import KeyType
from kip848_records.simulate.broker.classic import ClassicGroup
from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH, Member
from kip848_records.simulate.broker.operation import ClassicGroupRemoved, Operation

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import Cluster, TopicPartition
    from kip848_records.simulate.broker.releases import Release

Clock = Callable[[int], int]
"""The simulation's time -> the time on the coordinator's clock, both in ms."""

Group = ConsumerGroup | ClassicGroup


class Observer(Protocol):
    """Observes the operations of a group. Observers derive the truth."""

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """Observe an operation, and the group at its end: None if it was deleted.

        `incarnation` is the group's at the end. An operation that ends an incarnation increases it.
        """


class Coordinator:
    """The coordinator of one group id, with a consumer group, a classic group, or none.

    `operations` holds the operations for the log. No two of them have the same timestamp.
    """

    def __init__(
        self, group_id: str, cluster: Cluster, release: Release, clock: Clock, observers: Collection[Observer] = ()
    ) -> None:
        self.group_id = group_id
        self.cluster = cluster
        self.release = release
        self.group: Group | None = None
        self.incarnation = 0
        self.operations: list[Operation] = []
        self._observers = observers
        self._clock = clock
        self._last: Operation | None = None

    @property
    def consumers(self) -> ConsumerGroup:
        """The group, which must be a consumer group."""
        if not isinstance(self.group, ConsumerGroup):
            raise TypeError(f"{self.group_id} is not a consumer group now")
        return self.group

    def watch(self, observers: Collection[Observer]) -> None:
        """Set the observers of all later operations, instead of the present ones."""
        self._observers = observers

    def take(self) -> list[Operation]:
        """Return and remove the new operations."""
        operations, self.operations = self.operations, []
        return operations

    def join(self, time: int, member: Member) -> None:
        """Let a member join, which upgrades a classic group."""
        operation = self._operation(time)
        if isinstance(self.group, ClassicGroup):
            classic, self.group = self.group, ConsumerGroup(self.group_id, self.cluster, self.release)
            classic.write_tombstone(operation)
            if classic.members:
                self.group.write_upgraded(operation, classic.members_for_upgrade(), classic.generation)
        elif self.group is None:
            self.group = ConsumerGroup(self.group_id, self.cluster, self.release)
        self.consumers.join(operation, member)
        self._end(operation)

    def heartbeat(self, time: int, member_id: str, owned: Collection[TopicPartition] | None = None) -> None:
        """Process a heartbeat; a member of the classic protocol rejoins if it has a new assignment."""
        group = self.consumers
        member = group.members[member_id]
        operation = self._operation(time)
        is_due = group.is_outdated or group.group_epoch > group.assignment_epoch
        if member.classic is not None and (is_due or not member.is_converged(group.assignment_epoch)):
            group.rejoin_classic(operation, member)
        else:
            group.heartbeat(operation, member, owned)
        self._end(operation)

    def subscribe(self, time: int, member_id: str, topics: frozenset[str], regex: str | None = None) -> None:
        """Process a member's new topics, and its new regular expression unless that is None."""
        operation = self._operation(time)
        self.consumers.subscribe(operation, self.consumers.members[member_id], topics, regex)
        self._end(operation)

    def leave(self, time: int, member_id: str) -> None:
        """Remove a member; the group is downgraded if all the others use the classic protocol."""
        group = self.consumers
        operation = self._operation(time)
        others = [member for other, member in group.members.items() if other != member_id]
        if others and all(member.classic is not None for member in others):
            group.write_tombstones(operation)
            self.incarnation += 1
            self.group = ClassicGroup(self.group_id, self.cluster, group.group_epoch)
            self.group.members = {member.member_id: member for member in others}
            self.group.write(operation)
        else:
            group.leave(operation, group.members[member_id])
        self._end(operation)

    def go_away(self, time: int, member_id: str) -> None:
        """Let a static member go away that will come back."""
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
        """Resolve a regular expression to `topics`."""
        operation = self._operation(time)
        self.consumers.resolve(operation, regex, topics)
        self._end(operation)

    def rebalance_classic(self, time: int, members: list[Member], protocol: str = "range") -> None:
        """Let a classic group, a new one if there is none, finish a rebalance with `members`."""
        operation = self._operation(time)
        if self.group is None:
            self.group = ClassicGroup(self.group_id, self.cluster)
        if not isinstance(self.group, ClassicGroup):
            raise TypeError(f"{self.group_id} is not a classic group now")
        self.group.protocol = protocol
        self.group.rebalance(operation, members)
        self._end(operation)

    def delete(self, time: int, committed: Collection[tuple[str, int]] = ()) -> None:
        """Delete the group, which must be empty, with its committed offsets (topic names and partitions).

        A group of offsets only gets the tombstone of a classic group, too.
        """
        operation = self._operation(time)
        for topic, partition in sorted(committed):
            key = {"group": self.group_id, "topic": topic, "partition": partition}
            operation.write(KeyType.OFFSET_COMMIT, key, None)
        if isinstance(self.group, ConsumerGroup):
            self.group.write_tombstones(operation)
        else:
            operation.events.append(ClassicGroupRemoved(operation.size))
            operation.write(KeyType.GROUP_METADATA, {"group": self.group_id}, None)
        self.group = None
        self.incarnation += 1
        self._end(operation)

    def _operation(self, time: int) -> Operation:
        """Begin an operation at `time`, or shortly after it so that it is distinct from the last one."""
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
        for observer in self._observers:
            observer.operation(operation, self.group, self.incarnation)
        operation.forget_events()
