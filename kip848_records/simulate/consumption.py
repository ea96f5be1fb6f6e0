"""Who consumes which partitions, and for how long: what offset commits are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import Cluster, TopicPartition
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.member import Member
    from kip848_records.simulate.broker.operation import Operation


class Span(NamedTuple):
    """A member has the same partitions from `start` on until `end` (ms); it got them at `origin`.

    `keys` are numbers of offset commit keys.
    """

    origin: int
    start: int
    end: int
    keys: tuple[int, ...]


class CommitKeys:
    """The keys of a log partition's offset commits, each with a number."""

    def __init__(self) -> None:
        self.groups: list[str] = []
        self.topics: list[tuple[str, str]] = []
        """Name and id."""
        self.partitions: list[int] = []

    def add(self, group_id: str, topic: tuple[str, str], partition: int) -> int:
        """Return the number of a new key."""
        self.groups.append(group_id)
        self.topics.append(topic)
        self.partitions.append(partition)
        return len(self.groups) - 1


class Consumption:
    """Is told of a group's operations and notes what its members consume meanwhile."""

    def __init__(self, group_id: str, cluster: Cluster, keys: CommitKeys) -> None:
        self._group_id = group_id
        self._cluster = cluster
        self._keys = keys
        self._numbers: dict[TopicPartition, int] = {}
        self._committed: set[TopicPartition] = set()
        self._running: dict[str, Span] = {}
        self._ended: list[Span] = []

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:  # noqa: ARG002
        """Note whose partitions are others now."""
        if isinstance(group, ConsumerGroup):
            changed = [*operation.left, *operation.current]
        else:
            changed = [*self._running, *(group.members if group else ())]
        for member_id in changed:
            self._end(member_id, operation.time)
            member = group.members.get(member_id) if group else None
            if member is not None:
                self._begin(member, operation.time)

    def deletion(self, operation: Operation, incarnation: int) -> None:
        """Committed offsets go with their group; what is consumed is seen at the end of the operation."""

    def committed(self) -> list[tuple[str, int]]:
        """Return the names and numbers of the partitions with committed offsets, and forget them."""
        names = {topic.topic_id: topic.name for topic in self._cluster.topics.values()}
        committed = sorted((names[topic_id], number) for topic_id, number in self._committed)
        self._committed.clear()
        return committed

    def any_key(self) -> int:
        """Return the number of a key of the group, a new one if it has none."""
        topic = next(iter(self._cluster.topics.values()))
        return self._number(next(iter(self._numbers), (topic.topic_id, 0)))

    def take(self, until: int) -> list[Span]:
        """Hand over the spans up to a time, cutting those that go on."""
        for member_id, span in list(self._running.items()):
            self._end(member_id, until)
            self._running[member_id] = Span(span.origin, until, until, span.keys)
        ended, self._ended = self._ended, []
        return ended

    def _begin(self, member: Member, time: int) -> None:
        if member.assigned and member.epoch != AWAY_EPOCH:
            keys = tuple(self._number(tp) for tp in sorted(member.assigned))
            self._committed.update(member.assigned)
            self._running[member.member_id] = Span(time, time, time, keys)

    def _end(self, member_id: str, time: int) -> None:
        span = self._running.pop(member_id, None)
        if span is not None and time > span.start:
            self._ended.append(span._replace(end=time))

    def _number(self, tp: TopicPartition) -> int:
        if tp not in self._numbers:
            name = next(topic.name for topic in self._cluster.topics.values() if topic.topic_id == tp[0])
            self._numbers[tp] = self._keys.add(self._group_id, (name, tp[0]), tp[1])
        return self._numbers[tp]
