"""The table `ownership`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.specs.columns import (
    BIGINT,
    CLOCK_SKEW,
    GROUP,
    GROUP_TYPE,
    HAS_CHANGELOGS,
    HISTORY,
    INT,
    MEMBER_ID,
    OFFSETS_PARTITION,
    STRING,
    TIMESTAMP,
    Column,
    TableSpec,
)
from kip848_records.specs.completion import named, with_column

if TYPE_CHECKING:
    import pyarrow as pa


def _with_topics(topics: pa.Table, rows: pa.RecordBatch) -> pa.RecordBatch:
    return with_column(rows, "topic", named(rows["topic_id"], topics))


OWNERSHIP: Final = TableSpec(
    "ownership",
    "Every interval in which a member of a share group had a partition, or one of a streams group a task in a role. "
    "An active task has one owner at a time; partitions of share groups and other tasks may have several",
    (
        *("cluster", "group_id", "incarnation", "group_type", "member_id"),
        *("topic_id", "subtopology_id", "partition", "role", "from_offset"),
    ),
    (
        *GROUP,
        GROUP_TYPE,
        OFFSETS_PARTITION,
        MEMBER_ID,
        Column("topic_id", STRING, "Share: topic id as Kafka prints it (URL-safe base64)"),
        Column("topic", STRING, "Share: topic name; the topic id if no name is known"),
        Column("subtopology_id", STRING, "Streams: the task's subtopology"),
        Column("partition", INT, "Partition of the topic or the subtopology", required=True),
        Column("role", STRING, "Streams: active, standby or warmup"),
        HAS_CHANGELOGS,
        Column("from_at", TIMESTAMP, "When the member acquired it (UTC). It still has what it was asked to revoke"),
        Column("from_offset", BIGINT, "Offset of the last record of that operation", required=True),
        Column("to_at", TIMESTAMP, "When it gave it up, or left, or when records were lost (UTC); null: not yet"),
        Column("duration_ms", BIGINT, "From from_at to to_at, or to the capture if it has not ended, in ms"),
        HISTORY,
        CLOCK_SKEW,
    ),
    ended_at="to_at",
    complete=_with_topics,
)
