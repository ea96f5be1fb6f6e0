"""Groups whose clients follow a script, read messages and commit their positions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kip848_records.simulate.walks.streams_group import ACTIVE
from tests.simulator.committing.reader import Style
from tests.simulator.committing.reading import Reading
from tests.simulator.scripted.coordinated import ClassicScript, ConsumerScript, Coordinated
from tests.simulator.scripted.script import Script
from tests.simulator.scripted.walked import StreamsScript
from tests.simulator.truth.facts import FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.consumption import CommitKeys
    from tests.simulator.committing.flows import Flow, Topic
    from tests.simulator.scripted.process import Process


class Committing(Script):
    """The clients of a group read topics, and commit as `style` says. `assignor`: of its processes."""

    TABLES = (*Script.TABLES, *FACTS)
    reading: Reading

    def __init__(self, seed: object, group_id: str = "g") -> None:
        super().__init__(seed, group_id)
        self.style = Style()
        self.assignor: str | None = None
        self.read_topics: dict[str, Topic] = {}
        """The group's topics that exist, by name."""
        self._names: dict[str, str] = {}
        self._flows: dict[TopicPartition, Flow] = {}

    def subscribe_to(self, topics: Iterable[Topic], keys: CommitKeys) -> None:
        """Let the group read some topics. `keys`: those of its partition's commits."""
        for topic in topics:
            self.create_topic(topic)
        self.topics = frozenset(topic.name for topic in topics)
        self.reading = Reading(self.group_id, self._names, self._flows, keys, self._style_of, self.note)

    def create_topic(self, topic: Topic) -> None:
        """Let a topic exist."""
        self.read_topics[topic.name] = topic
        self._names[topic.topic_id] = topic.name
        self._flows |= {(topic.topic_id, number): flow for number, flow in enumerate(topic.flows)}

    def end_of(self, tp: TopicPartition) -> int:
        """Return the end offset of a partition."""
        return self._flows[tp].end_at(self.now)

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions of the group's topics that exist."""
        topics = [self.read_topics[name] for name in sorted(self.read_topics)]
        return [(topic.topic_id, number) for topic in topics for number in range(len(topic.flows))]

    def moment(self) -> int:
        """Return the time at which the coordinator hears of what a client does now, in ms."""
        return self.now

    def silence(self, process: Process) -> None:
        """Let a client end without a word."""
        self.reading.kill(process.member_id, self.moment())
        super().silence(process)

    def stop(self, process: Process) -> None:
        """Let a client end in order: it commits what it has read."""
        self.reading.close(process.member_id, self.moment())
        super().stop(process)

    def take_commits(self, until: int) -> NDArray[Any]:
        """Return and remove the commits before a time (ms)."""
        return self.reading.take_commits(until)

    def close(self, captured_at: int) -> None:
        """Note what is so at the end of the log."""
        self.reading.end_truth(captured_at)
        for topic_id, number in self.partitions():
            row = {"topic": self._names[topic_id], "topic_id": topic_id, "partition": number}
            self.note("end_offset", row | {"end_offset": self._flows[topic_id, number].end_at(captured_at)})
        super().close(captured_at)

    def _style_of(self, member_id: str) -> tuple[Style, str]:
        return self.style, self._there[member_id].client_id


class CoordinatedCommitting(Committing, Coordinated):
    """A group of the simulated coordinator that commits, whose offsets tools and the broker may change."""

    TABLES = Committing.TABLES

    def subscribe_to(self, topics: Iterable[Topic], keys: CommitKeys) -> None:
        """Let the group read some topics. `keys`: those of its partition's commits."""
        super().subscribe_to(topics, keys)
        self.coordinator.watch([self.reading])

    def create_topic(self, topic: Topic) -> None:
        """Let a topic exist; members hear of it later."""
        super().create_topic(topic)
        self.cluster.create(topic.name, len(topic.flows), topic.seed)
        self.hear_of_topics()

    def grow_topic(self, name: str, more: tuple[Flow, ...]) -> None:
        """Let a topic have more partitions; members hear of it later."""
        topic = replace(self.read_topics[name], flows=(*self.read_topics[name].flows, *more))
        Committing.create_topic(self, topic)
        self.cluster.grow(name, len(topic.flows))
        self.hear_of_topics()

    def reset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Let a tool commit offsets; the group must be without members."""
        committed = self.reading.offsets(self.now)
        for tp, offset in offsets.items():
            before = committed.get(tp)
            if before is not None:
                self.reading.changed(tp, self.now, "reset_back" if offset < before else "reset_ahead", before, offset)
            committed[tp] = offset
            self.coordinator.commit(self.now, self._names[tp[0]], tp[1], offset)

    def remove(self, kind: str, chosen: Iterable[TopicPartition] | None = None) -> None:
        """Let committed offsets be removed, all or some; with `group_expired` and `group_deleted` the group is."""
        offsets = self.reading.offsets(self.now)
        gone = [tp for tp in sorted(offsets) if chosen is None or tp in chosen]
        committed = [(self._names[topic_id], number) for topic_id, number in gone]
        if kind.startswith("group_"):
            self.coordinator.delete(self.now, committed)
        else:
            self.coordinator.remove_offsets(self.now, committed)
        for tp in gone:
            self.reading.changed(tp, self.now, kind, offsets.pop(tp), None)

    def delete_topic(self, name: str) -> None:
        """Let a topic be deleted, with the group's offsets; members hear of it later."""
        topic_id = self.read_topics.pop(name).topic_id
        gone = self.reading.delete_topic(topic_id, self.moment())
        self.remove("topic_deleted", gone)
        self.cluster.delete(name)
        self.hear_of_topics()

    def hear_of_topics(self) -> None:
        """Let members know that topics have changed."""


class CommittingConsumer(CoordinatedCommitting, ConsumerScript):
    """A consumer group that commits."""

    def moment(self) -> int:
        """Return the time at which the coordinator hears of what a client does now, in ms."""
        return self.clients.now

    def hear_of_topics(self) -> None:
        """Let members know that topics have changed, at their next heartbeats."""
        self.clients.wake()


class CommittingClassic(CoordinatedCommitting, ClassicScript):
    """A classic group that commits."""

    def hear_of_topics(self) -> None:
        """Let members know that topics have changed: they join again."""
        if self._there:
            self.rejoin()


class CommittingSimple(CommittingClassic):
    """A group id without members: its clients choose their partitions themselves."""

    def rejoin(self) -> None:
        """Do nothing: there is no group to join."""

    def start(self, process: Process, *, returns: bool = False) -> None:  # noqa: ARG002 - it never joins
        """Let a client begin to read all partitions."""
        process.runs, process.member_id = True, self.new_id()
        self._there[process.member_id] = process
        for tp in self.partitions():
            self.reading.read(process.member_id, tp, self.now)

    def stop(self, process: Process) -> None:
        """Let a client end in order."""
        process.runs = False
        self.reading.close(process.member_id, self.now)
        del self._there[process.member_id], self.reading.readers[process.member_id]


class CommittingStreams(Committing, StreamsScript):
    """A streams group that commits: the task of a number reads the partitions of that number, of all topics."""

    TABLES = (*StreamsScript.TABLES, *FACTS)

    def subscribe_to(self, topics: Iterable[Topic], keys: CommitKeys) -> None:
        """Let the group read some topics. `keys`: those of its partition's commits."""
        super().subscribe_to(topics, keys)
        self._group.tasks = max(len(topic.flows) for topic in topics)

    def enter(self, process: Process) -> None:
        """Let the coordinator add a thread."""
        super().enter(process)
        self._observe()

    def exit(self, member_id: str) -> None:
        """Let the coordinator remove a thread."""
        super().exit(member_id)
        self._observe()

    def step_on(self) -> None:
        """Let a thread send a heartbeat."""
        super().step_on()
        self._observe()

    def _observe(self) -> None:
        threads = self._group.threads
        readers = {
            (topic.topic_id, task): thread.member_id
            for thread in threads.values()
            for task in thread.assigned[ACTIVE]
            for topic in self.read_topics.values()
            if task < len(topic.flows)
        }
        self.reading.observe(self.now, readers, threads)

    def _subtopology(self) -> dict[str, Any]:
        return super()._subtopology() | {"sourceTopics": sorted(self.topics)}
