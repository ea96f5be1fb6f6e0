"""Which members consume which partitions, and for how long: the basis of offset commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH
from kip848_records.simulate.broker.operation import CurrentAssignmentWritten, MemberRemoved

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import Cluster, TopicPartition
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.member import Member
    from kip848_records.simulate.broker.operation import Operation


class Span(NamedTuple):
    """A member owns the same partitions from `start` until `end` (ms); it acquired them at `origin`.

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
    """Observes a group's operations and notes which partitions its members consume."""

    def __init__(self, group_id: str, cluster: Cluster, keys: CommitKeys) -> None:
        self._group_id = group_id
        self._cluster = cluster
        self._keys = keys
        self._numbers: dict[TopicPartition, int] = {}
        self._committed: set[TopicPartition] = set()
        self._running: dict[str, Span] = {}
        self._ended: list[Span] = []

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:  # noqa: ARG002
        """Note the members whose partitions changed."""
        if isinstance(group, ConsumerGroup):
            changed = [
                e.member_id for e in operation.events if isinstance(e, (MemberRemoved, CurrentAssignmentWritten))
            ]
        else:
            changed = [*self._running, *(group.members if group else ())]
        for member_id in changed:
            self._end(member_id, operation.time)
            member = group.members.get(member_id) if group else None
            if member is not None:
                self._begin(member, operation.time)

    def committed(self) -> list[tuple[str, int]]:
        """Return the names and numbers of the partitions with committed offsets, and forget them."""
        committed = sorted({(self._cluster.names[topic_id], number) for topic_id, number in self._committed})
        self._committed.clear()
        return committed

    def any_key(self) -> int:
        """Return the number of a key of the group, a new one if it has none."""
        topic_id = next(iter(self._cluster.names))
        return self._number(next(iter(self._numbers), (topic_id, 0)))

    def take(self, until: int) -> list[Span]:
        """Return and remove the spans up to a time, splitting those that continue."""
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
            self._numbers[tp] = self._keys.add(self._group_id, (self._cluster.names[tp[0]], tp[0]), tp[1])
        return self._numbers[tp]
