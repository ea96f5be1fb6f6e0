"""The cluster around the groups: its topics, and the partition of `__consumer_offsets` of each group."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import dataclass

TopicPartition = tuple[str, int]
"""A topic's id, as Kafka prints it, and the number of one of its partitions."""

OFFSETS_PARTITIONS = 50
"""Kafka's default for `offsets.topic.num.partitions`."""


@dataclass
class Topic:
    """A topic; `partitions` may grow."""

    name: str
    topic_id: str
    partitions: int


class Cluster:
    """The existing topics, by name; `version` counts their changes."""

    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {}
        self.names: dict[str, str] = {}
        """By topic id, including deleted topics."""
        self.version = 0

    def create(self, name: str, partitions: int, seed: object = 0) -> Topic:
        """Create a topic; `seed` and its name determine its id."""
        self.topics[name] = topic = Topic(name, uuid_of("topic", seed, name), partitions)
        self.names[topic.topic_id] = name
        self.version += 1
        return topic

    def delete(self, name: str) -> None:
        """Delete a topic."""
        del self.topics[name]
        self.version += 1

    def grow(self, name: str, partitions: int) -> None:
        """Set the number of a topic's partitions from now on, if it was not deleted."""
        if name in self.topics:
            self.topics[name].partitions = partitions
            self.version += 1


def metadata_hash(topics: dict[str, tuple[str, int]]) -> int:
    """Return an int64 that changes with the names, ids and sizes of topics; 0, Kafka's default, for none."""
    if not topics:
        return 0
    digest = hashlib.blake2b(repr(sorted(topics.items())).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def uuid_of(*parts: object) -> str:
    """Return a uuid as Kafka prints it, URL-safe base64 without padding; the same for the same parts."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=16).digest()
    # Kafka assigns no uuid that begins with a dash, because of command lines.
    return urlsafe_b64encode(digest).decode().rstrip("=").replace("-", "A", 1)
