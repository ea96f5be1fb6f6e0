"""The table `share_partition_state`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    CLOCK_SKEW,
    GROUP,
    HISTORY,
    INTS,
    PARTITION,
    STRING,
    TIMESTAMP,
    Column,
    TableSpec,
)

SHARE_PARTITION_STATE: Final = TableSpec(
    "share_partition_state",
    "Every interval in which the same partitions of a topic were in one state for a share group. The "
    "group assigns initialized partitions, and no others. A topic may be in two states at once",
    ("cluster", "group_id", "incarnation", "topic_id", "state", "from_offset"),
    (
        *GROUP,
        PARTITION,
        Column("topic_id", STRING, "Topic id as Kafka prints it (URL-safe base64)", required=True),
        Column("topic", STRING, "Topic name"),
        Column("state", STRING, "initializing, initialized or deleting", required=True),
        Column("partitions", INTS, "Partitions of the topic; null for deleting"),
        Column("from_at", TIMESTAMP, "When the coordinator wrote it (UTC)"),
        Column("from_offset", BIGINT, "Offset of that record", required=True),
        Column("to_at", TIMESTAMP, "When it wrote another state or other partitions, or deleted the group (UTC)"),
        Column("duration_ms", BIGINT, "From from_at to to_at, or to the capture if it has not ended, in ms"),
        HISTORY,
        CLOCK_SKEW,
    ),
    ended_at="to_at",
)
