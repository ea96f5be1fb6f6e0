"""The topics that a group subscribes to, with their metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kip848_records.simulate.broker.cluster import metadata_hash

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import Cluster

Metadata = dict[str, tuple[str, int]]
"""Topic name -> topic id and number of partitions; topics that do not exist have none."""


class SubscribedTopics:
    """The coordinator's knowledge of a group's topics; `metadata` is from its last check."""

    def __init__(self, cluster: Cluster) -> None:
        self.metadata: Metadata = {}
        self._cluster = cluster
        self._version = cluster.version
        self._is_known = False
        self._bumped: tuple[frozenset[str], Metadata | None] = frozenset(), None

    @property
    def is_outdated(self) -> bool:
        """Whether a topic of the cluster changed since the last check."""
        return self._version != self._cluster.version

    @property
    def hash(self) -> int:
        """The hash of the metadata."""
        return metadata_hash(self.metadata)

    def partition_metadata(self) -> dict[str, Any]:
        """Return the value of a type 4."""
        return {
            "topics": [
                {"topicId": topic_id, "topicName": name, "numPartitions": partitions, "partitionMetadata": []}
                for name, (topic_id, partitions) in self.metadata.items()
            ]
        }

    def refresh(self, names: frozenset[str]) -> bool:
        """Check the topics with these names; return whether their metadata changed."""
        before, self._is_known = self.metadata, True
        self._version = self._cluster.version
        topics = [self._cluster.topics[name] for name in sorted(names & self._cluster.topics.keys())]
        self.metadata = {topic.name: (topic.topic_id, topic.partitions) for topic in topics}
        return self.metadata != before

    def bump(self, names: frozenset[str]) -> bool:
        """Note a bump; return whether metadata changed since the previous one, while the subscribed names did not.

        An upgrade to the consumer protocol bumps before the coordinator has first checked the topics (in Kafka 4.0).
        The metadata of that first check does not count as a change.
        """
        (names_before, before), self._bumped = self._bumped, (names, self.metadata if self._is_known else None)
        return names_before == names and before is not None and before != self.metadata
