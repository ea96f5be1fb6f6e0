"""Who owned which partition, from where to where in the log: what the pass over offset commits takes as marks."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    GROUP,
    GROUP_TYPE,
    HISTORY,
    INT,
    MEMBER_ID,
    OFFSETS_PARTITION,
    REBALANCE_TIMEOUT,
    STRING,
    TIMESTAMP,
    Column,
    TableSpec,
)

OWNED_PARTITION: Final = TableSpec(
    "owned_partition",
    "Not a table: every stay, the time in which one member owned a partition without a break. Consumer, classic and "
    "streams groups. The stays of a partition do not overlap: of several members that claim it, the newest owns it",
    ("cluster", "group_id", "incarnation", "topic_id", "topic", "partition", "acquired_offset"),
    (
        *GROUP,
        GROUP_TYPE,
        OFFSETS_PARTITION,
        Column("topic_id", STRING, "Topic id; null: classic and streams groups name topics"),
        Column("topic", STRING, "Topic name; null where the id is known"),
        Column("partition", INT, "Partition of the topic", required=True),
        MEMBER_ID,
        Column("instance_id", STRING, "group.instance.id of the member when it acquired the partition"),
        Column("client_id", STRING, "client.id of the member when it acquired the partition"),
        REBALANCE_TIMEOUT,
        Column("acquired_at", TIMESTAMP, "When the member acquired it (UTC)"),
        Column(
            "acquired_offset",
            BIGINT,
            "Offset of the last record of that operation, or of the type 2; before the history is complete, of the "
            "last record that shows the member with it",
            required=True,
        ),
        Column("released_at", TIMESTAMP, "When it lost it, or records were lost (UTC); null: not yet"),
        Column(
            "released_offset",
            BIGINT,
            "Offset of the last record of that operation, or of the type 2; null: not yet. With a right_censored or "
            "censored history, of the record by which others are known to be lost: the next owner is unknown",
        ),
        HISTORY,
    ),
)
