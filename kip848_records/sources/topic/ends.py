"""The facts that a cluster reports about a topic, requested once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kip848_records.protocol.group_partition import offsets_partition

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Ends:
    """The facts about a topic.

    `topic_id`: as Kafka prints it, base64url. `offsets`: by partition, the log's start offset and its end offset, the
    first that does not exist yet; with `read_committed` the last stable offset, at which the first open transaction
    begins. `high_watermarks`: by partition, always the end offset, requested before that: if the last stable offset is
    below it, a transaction is open. `delete_retention_ms`: how long the topic keeps tombstones; None if the user may
    not see its settings. `topic_names`: by topic id, of all topics that the user may see. `at_ms`: the driver's clock
    just before the request for the offsets, ms since 1970. `offsets_retention_ms`: how long a broker keeps an offset
    after its last commit; None if the user may not see its settings. `max_message_bytes`: the largest batch that the
    topic takes; None if the user may not see its settings.
    """

    topic_id: str
    offsets: Mapping[int, tuple[int, int]]
    high_watermarks: Mapping[int, int]
    delete_retention_ms: int | None
    topic_names: Mapping[str, str]
    at_ms: int
    offsets_retention_ms: int | None = None
    max_message_bytes: int | None = None

    def of_group(self, group: str | None) -> Ends:
        """Return the same facts about the only partition that holds a group; None: about all partitions."""
        if group is None:
            return self
        partition = offsets_partition(group, len(self.offsets))
        return replace(self, offsets={partition: self.offsets[partition]})

    @property
    def only_one_of(self) -> int | None:
        """How many partitions the topic has if these are the offsets of one of them; None: they are of all."""
        return None if len(self.offsets) == len(self.high_watermarks) else len(self.high_watermarks)

    def is_end(self, partition: int, offset: int) -> bool:
        """Return whether an offset is the partition's end: nothing that was written before `at_ms` is behind it."""
        return offset >= self.high_watermarks[partition]
