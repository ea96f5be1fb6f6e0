"""A share group as its coordinator has it in memory (`ShareGroup` in Kafka), and the topics around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kip848_records.simulate.broker.cluster import Topic, TopicPartition, metadata_hash, uuid_of

if TYPE_CHECKING:
    from random import Random

NOTHING: frozenset[TopicPartition] = frozenset()
START_EPOCH = 1
"""The epoch of a new group. The first epoch that it writes is one above."""
_TOPICS = 6
_ONE_MEMBER = 0.7
"""The share of partitions that one member has alone."""
INITIALIZING, INITIALIZED, DELETING = "initializing", "initialized", "deleting"


@dataclass(eq=False)
class ShareMember:
    """A member. `epoch`: the assignment epoch that it has reached."""

    member_id: str
    topics: frozenset[str]
    epoch: int = START_EPOCH
    client_id: str = "app"
    host: str = "/h"
    previous_epoch: int = 0
    assigned: frozenset[TopicPartition] = NOTHING


@dataclass
class ShareGroup:
    """One incarnation of a share group.

    `initializing`, `initialized`: partitions by topic. `deleting`: topics whose share state is being deleted.
    """

    topics: dict[str, Topic]
    """The topics that exist, by name."""
    members: dict[str, ShareMember] = field(default_factory=dict)
    epoch: int = START_EPOCH
    assignment_epoch: int = START_EPOCH
    targets: dict[str, frozenset[TopicPartition]] = field(default_factory=dict)
    initializing: dict[str, list[int]] = field(default_factory=dict)
    initialized: dict[str, list[int]] = field(default_factory=dict)
    deleting: dict[str, str] = field(default_factory=dict)
    """Ids by name."""

    @property
    def subscribed(self) -> frozenset[str]:
        """The topics to which a member subscribes; some may not exist."""
        return frozenset[str]().union(*(member.topics for member in self.members.values()))

    @property
    def metadata_hash(self) -> int:
        """The hash over the subscribed topics that exist."""
        found = {name: self.topics[name] for name in self.subscribed if name in self.topics}
        return metadata_hash({name: (topic.topic_id, topic.partitions) for name, topic in found.items()})

    @property
    def has_converged(self) -> bool:
        """Whether the last epoch is assigned, and every member has reached it."""
        is_assigned = self.epoch == self.assignment_epoch
        return is_assigned and all(member.epoch == self.assignment_epoch for member in self.members.values())

    def wanted(self) -> frozenset[TopicPartition]:
        """Return the initialized partitions of subscribed topics."""
        names = self.subscribed & self.initialized.keys()
        return frozenset((self.topics[name].topic_id, number) for name in names for number in self.initialized[name])

    def uninitialized(self) -> dict[str, list[int]]:
        """Return the partitions of subscribed topics that the group has not begun to initialize."""
        found = {}
        for name in sorted(self.subscribed & self.topics.keys()):
            known = {*self.initializing.get(name, ()), *self.initialized.get(name, ())}
            if missing := sorted(set(range(self.topics[name].partitions)) - known):
                found[name] = missing
        return found

    def partition_states(self) -> dict[tuple[str, str], tuple[str, list[int] | None]]:
        """Return name and partitions by topic id and state; a topic that is deleted has no partitions."""
        found: dict[tuple[str, str], tuple[str, list[int] | None]] = {}
        for state, topics in ((INITIALIZING, self.initializing), (INITIALIZED, self.initialized)):
            found |= {(self.topics[name].topic_id, state): (name, sorted(topics[name])) for name in topics}
        return found | {(topic_id, DELETING): (name, None) for name, topic_id in self.deleting.items()}

    def assign(self, random: Random) -> dict[str, frozenset[TopicPartition]]:
        """Return a target for each member: every wanted partition has at least one, and several members may have it."""
        targets: dict[str, set[TopicPartition]] = {member_id: set() for member_id in self.members}
        by_id = {topic.topic_id: name for name, topic in self.topics.items()}
        for partition in sorted(self.wanted()):
            able = [m for m, member in self.members.items() if by_id[partition[0]] in member.topics]
            for member_id in random.sample(able, 1 if random.random() < _ONE_MEMBER else random.randint(1, len(able))):
                targets[member_id].add(partition)
        return {member_id: frozenset(target) for member_id, target in targets.items()}


def share_topics(group_id: str) -> dict[str, Topic]:
    """Return the topics that a simulated share group may subscribe to, by name."""
    names = (f"{group_id}-topic-{number}" for number in range(_TOPICS))
    return {name: Topic(name, uuid_of("topic", name), 1 + nth % 4) for nth, name in enumerate(names)}
