"""The facts that a cluster reports about a topic, requested once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.sources.topic.admin import READ_COMMITTED, READ_UNCOMMITTED, admin_client
from kip848_records.sources.topic.errors import TopicError
from kip848_records.sources.topic.failures import failures_of
from kip848_records.sources.topic.timeouts import with_timeouts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

    from kip848_records.sources.topic.address import Topic


@dataclass(frozen=True)
class Ends:
    """The facts about a topic.

    `topic_id`: as Kafka prints it, base64url. `offsets`: by partition, the log's start offset and its end offset, the
    first that does not exist yet; with `read_committed` the last stable offset, at which the first open transaction
    begins. `high_watermarks`: by partition, always the end offset, requested before that: if the last stable offset is
    below it, a transaction is open. `delete_retention_ms`: how long the topic keeps tombstones; None if the user may
    not see its settings. `topic_names`: by topic id, of all topics that the user may see. `at_ms`: the driver's clock
    just before the request for the offsets, ms since 1970. `offsets_retention_ms`: how long a broker keeps an offset
    after its last commit; None if the user may not see its settings.
    """

    topic_id: str
    offsets: Mapping[int, tuple[int, int]]
    high_watermarks: Mapping[int, int]
    delete_retention_ms: int | None
    topic_names: Mapping[str, str]
    at_ms: int
    offsets_retention_ms: int | None = None

    def is_end(self, partition: int, offset: int) -> bool:
        """Return whether an offset is the partition's end: nothing that was written before `at_ms` is behind it."""
        return offset >= self.high_watermarks[partition]


def look_up(spark: SparkSession, topic: Topic, *, isolation: str) -> Ends:
    """Return the facts about `topic`; `isolation` is `read_committed` or `read_uncommitted`.

    Raises TopicError if the cluster cannot be reached, rejects the user, or has no such topic. Each answer is awaited
    for 20 seconds, or for `default.api.timeout.ms` of the topic's settings.
    """
    settings = with_timeouts(topic.settings.values) | {"bootstrap.servers": topic.bootstrap_servers}
    with failures_of(topic, "describe"), admin_client(spark, settings) as admin:
        topic_id, partitions = admin.describe(topic.name)
        if not partitions:
            raise TopicError.no_partitions(topic.name, topic.bootstrap_servers)
        if leaderless := sorted(partition for partition, led in partitions.items() if not led):
            raise TopicError.no_leader(topic.name, leaderless)
        at_ms = time.time_ns() // 1_000_000
        # With this order of requests no end precedes its start. A last stable offset is below an earlier high watermark
        # only if a transaction is open; a later high watermark may exceed it because of records written in between.
        starts = admin.starts(topic.name, partitions)
        marks = admin.ends(topic.name, partitions, READ_UNCOMMITTED)
        ends = admin.ends(topic.name, partitions, isolation) if isolation == READ_COMMITTED else marks
        return Ends(
            topic_id=topic_id,
            offsets={partition: (starts[partition], ends[partition]) for partition in sorted(partitions)},
            high_watermarks=marks,
            delete_retention_ms=admin.delete_retention_ms(topic.name),
            topic_names=admin.topic_names(),
            at_ms=at_ms,
            offsets_retention_ms=admin.offsets_retention_ms(),
        )


def look_up_ends(
    spark: SparkSession, topic: Topic, partitions: Iterable[tuple[str, int]]
) -> list[tuple[str, int, int, int, int]]:
    """Return topic, partition, log start, high watermark of partitions of other topics in the cluster of `topic`.

    The last field is the driver's clock just before the request, ms since 1970. Partitions that are gone, have no
    leader, or that the user may not see are missing. Raises TopicError as `look_up`.
    """
    settings = with_timeouts(topic.settings.values) | {"bootstrap.servers": topic.bootstrap_servers}
    with failures_of(topic, "describe"), admin_client(spark, settings) as admin:
        there = set(admin.topic_names().values())  # the client asks for a topic that is gone until its time is over
        asked = [(name, partition) for name, partition in partitions if name in there]
        at_ms = time.time_ns() // 1_000_000
        return [(*each, at_ms) for each in admin.ranges(asked)]
