"""Kafka's own admin client, in the driver's JVM."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from kip848_records.sources.topic.jvm import java_list, java_map, kafka_jvm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import SparkSession

READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"
"""Isolation levels: they determine the end of a partition, and whether records of aborted transactions are read."""

_RETENTION = "delete.retention.ms"
_OFFSETS_RETENTION = "offsets.retention.minutes"
_MINUTE_MS = 60_000
_CLOSE_WITHIN_S = 5
# The text form of a topic's listing. A call for each field takes 5 ms per topic, and a cluster may have thousands.
_LISTING = re.compile(r"\(name=([^,()]+), topicId=([^,()]+), internal=(?:true|false)\)")


@contextmanager
def admin_client(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[Admin]:
    """Open a client with these settings, and close it at the end of the block."""
    jvm = kafka_jvm(spark)
    client = jvm.org.apache.kafka.clients.admin.AdminClient.create(java_map(jvm, settings.items()))
    try:
        yield Admin(jvm, client)
    finally:
        client.close(jvm.java.time.Duration.ofSeconds(_CLOSE_WITHIN_S))


class Admin:
    """Requests to a cluster; each waits for its answer, or for the client's timeout.

    Failures are Java's, as Py4J raises them; `failures.failures_of` converts them to errors.
    """

    def __init__(self, jvm: Any, client: Any) -> None:  # noqa: ANN401 - Py4J's objects have no types
        self._java = jvm
        self._client = client
        self._admin = jvm.org.apache.kafka.clients.admin
        self._common = jvm.org.apache.kafka.common

    def describe(self, name: str) -> tuple[str, dict[int, bool]]:
        """Return a topic's id, base64url, and by partition whether it has a leader."""
        found = self._client.describeTopics(java_list(self._java, [name])).allTopicNames().get().get(name)
        partitions = {partition.partition(): partition.leader() is not None for partition in found.partitions()}
        return found.topicId().toString(), partitions

    def starts(self, name: str, partitions: Iterable[int]) -> dict[int, int]:
        """Return the log start offset of each partition."""
        return self._offsets(name, partitions, self._admin.OffsetSpec.earliest(), READ_UNCOMMITTED)

    def ends(self, name: str, partitions: Iterable[int], isolation: str) -> dict[int, int]:
        """Return the high watermark of each partition, or with `read_committed` its last stable offset."""
        return self._offsets(name, partitions, self._admin.OffsetSpec.latest(), isolation)

    def ranges(self, partitions: Iterable[tuple[str, int]]) -> list[tuple[str, int, int, int]]:
        """Return topic, partition, log start and high watermark of partitions, without those that fail."""
        places = [(name, partition, self._common.TopicPartition(name, partition)) for name, partition in partitions]
        starts, ends = (
            self._client.listOffsets(java_map(self._java, ((place, spec) for *_, place in places)))
            for spec in (self._admin.OffsetSpec.earliest(), self._admin.OffsetSpec.latest())
        )
        found = []
        for name, partition, place in places:
            with suppress(Py4JJavaError):
                start, end = (asked.partitionResult(place).get().offset() for asked in (starts, ends))
                found.append((name, partition, start, end))
        return found

    def delete_retention_ms(self, name: str) -> int | None:
        """Return how long a topic keeps its tombstones; None if the user may not see that."""
        return self._setting("TOPIC", name, _RETENTION)

    def offsets_retention_ms(self) -> int | None:
        """Return how long a broker keeps an offset after its last commit; None if the user may not see that.

        All brokers should have one setting. The first that is known is asked.
        """
        broker = self._client.describeCluster().nodes().get().iterator().next().idString()
        minutes = self._setting("BROKER", broker, _OFFSETS_RETENTION)
        return None if minutes is None else minutes * _MINUTE_MS

    def topic_names(self) -> dict[str, str]:
        """Return the names of all topics that the user may see, by their ids."""
        with_internal = self._admin.ListTopicsOptions().listInternal(True)  # noqa: FBT003 - Java has no keywords
        listed = self._client.listTopics(with_internal).listings().get().toString()
        return {topic_id: name for name, topic_id in _LISTING.findall(listed)}

    def _setting(self, kind: str, name: str, setting: str) -> int | None:
        """Return a setting of a topic or broker; None if the user may not see it."""
        of_kind = getattr(self._common.config.ConfigResource.Type, kind)
        resource = self._common.config.ConfigResource(of_kind, name)
        try:
            found = self._client.describeConfigs(java_list(self._java, [resource])).all().get().get(resource)
        except Py4JJavaError as error:
            if "AuthorizationException" in str(error):
                return None
            raise
        return int(found.get(setting).value())

    def _offsets(self, name: str, partitions: Iterable[int], spec: Any, isolation: str) -> dict[int, int]:  # noqa: ANN401
        places = {partition: self._common.TopicPartition(name, partition) for partition in partitions}
        asked = java_map(self._java, ((place, spec) for place in places.values()))
        level = getattr(self._common.IsolationLevel, isolation.upper())
        found = self._client.listOffsets(asked, self._admin.ListOffsetsOptions(level)).all().get()
        return {partition: found.get(place).offset() for partition, place in places.items()}
