"""The table `partition_handover`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    CLOCK_SKEW,
    GROUP,
    GROUP_TYPE,
    HISTORY,
    INT,
    OFFSETS_PARTITION,
    STRING,
    TIMESTAMP,
    WANTED,
    Column,
    TableSpec,
)
from kip848_records.specs.completion import with_topics

PARTITION_HANDOVER: Final = TableSpec(
    "partition_handover",
    "Every change of a topic partition's owner in a group, and every gap without an owner that is open at the end. An "
    "owner is a member that has the partition assigned or pending revocation. In classic groups, every move to another "
    "owner than the last one",
    ("cluster", "group_id", "incarnation", "topic_id", "topic", "partition", "acquired_offset", "released_offset"),
    (
        *GROUP,
        GROUP_TYPE,
        Column("topic_id", STRING, "Topic id as Kafka prints it (URL-safe base64); null: classic groups name topics"),
        Column("topic", STRING, "Topic name; the topic id if no name is known", required=True),
        Column("partition", INT, "Partition of the topic", required=True),
        OFFSETS_PARTITION,
        Column(
            "acquired_offset",
            BIGINT,
            "Offset of the new owner's record, in __consumer_offsets; null: it has no new owner",
        ),
        Column("from_member", STRING, "Member id of the previous owner; null: the first owner seen"),
        Column(
            "released_at",
            TIMESTAMP,
            "When the previous owner released it, or went away if static (UTC). Null if it had not released it by "
            "acquired_at: two members claimed it at once. Classic: the latest moment, the end of the join phase",
        ),
        Column("released_offset", BIGINT, "Offset of the record that released it, in __consumer_offsets"),
        Column("to_member", STRING, "Member id of the new owner; null: none by the end of the gap or the log"),
        Column("acquired_at", TIMESTAMP, "When the new owner acquired it (UTC)"),
        Column(
            "unowned_ms",
            BIGINT,
            "From released_at to acquired_at, or to the capture while it has no owner, in ms. A lower bound: the log "
            "does not show how long a member was dead before its session expired. Null for a first acquisition",
        ),
        *WANTED,
        Column(
            "unowned_max_ms",
            BIGINT,
            "Classic: since the round that left it to no member, in ms: an upper bound. Null: not known",
        ),
        Column("group_epoch", INT, "Member epoch of the new owner"),
        Column("generation", INT, "Classic: the generation that gave it to the new owner"),
        HISTORY,
        CLOCK_SKEW,
    ),
    ended_at=(
        "coalesce(acquired_at, CASE WHEN history NOT IN ('right_censored', 'censored') "
        "THEN timestamp_millis(unix_millis(released_at) + unowned_ms) END)"
    ),
    complete=with_topics,
)
