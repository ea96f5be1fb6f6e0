"""The tables `membership`, `member_state_timeline` and `regex_resolution`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    CLIENT,
    GROUP,
    GROUP_TYPE,
    HISTORY,
    INT,
    MEMBER_ID,
    PARTITION,
    REBALANCE_TIMEOUT,
    STRING,
    STRINGS,
    TIMESTAMP,
    Column,
    TableSpec,
)

MEMBERSHIP: Final = TableSpec(
    "membership",
    "Every membership: one member in a group, from join to leave",
    ("cluster", "group_id", "incarnation", "group_type", "member_id", "joined_offset", "left_offset"),
    (
        *GROUP,
        GROUP_TYPE,
        PARTITION,
        MEMBER_ID,
        Column("joined_offset", BIGINT, "Offset of its first record; null: only its end was seen"),
        *CLIENT,
        Column("rack_id", STRING, "client.rack"),
        Column("server_assignor", STRING, "The broker's assignor that it requests; null: the broker's default"),
        REBALANCE_TIMEOUT,
        Column(
            "session_timeout_ms",
            BIGINT,
            "Classic: the member's session timeout in ms; null: its broker or its group sets it",
        ),
        Column("topics", STRINGS, "Topics that it subscribes to by name, as last written"),
        Column("regex", STRING, "Regular expression that it subscribes to, as last written"),
        Column("process_id", STRING, "Streams: the process of the member, which is a thread; they share its state"),
        Column("topology_epoch", INT, "Streams: the epoch of the topology that it runs, as last written"),
        Column("joined_at", TIMESTAMP, "When it joined (UTC)"),
        Column("joined_epoch", INT, "The group's epoch at the end of that operation"),
        Column(
            "joined_how",
            STRING,
            "joined; replaced: it replaced a static member, or came back in time after it was away; upgraded; "
            "downgraded; null: not seen",
        ),
        Column("left_at", TIMESTAMP, "When it left (UTC); null: it is a member"),
        Column("left_offset", BIGINT, "Offset of its tombstone"),
        Column("left_epoch", INT, "The group's epoch at the end of that operation"),
        Column(
            "left_how",
            STRING,
            "left (leaving, expiring and fencing write the same records); expired: a static member that was away "
            "and did not come back in time; replaced: its successor has its instance id, and sometimes its member id; "
            "group_deleted; upgraded; downgraded; null: it is a member",
        ),
        Column(
            "returned",
            BOOLEAN,
            "Whether the same member id joined again in this incarnation. Until it does, or the incarnation ends, the "
            "row is right_censored: left_at is still exact",
        ),
        Column("away_ms", BIGINT, "Time that a static member was away, in ms; null for dynamic members"),
        Column(
            "topology_lag_ms",
            BIGINT,
            "Streams: the longest time in which its topology was older than the group's, in ms; up to the capture "
            "while it is. Null: the group's topology was not seen",
        ),
        HISTORY,
    ),
    ended_at="left_at",
)

MEMBER_STATE_TIMELINE: Final = TableSpec(
    "member_state_timeline",
    "Every interval in which a member was in one state at one member epoch",
    ("cluster", "group_id", "incarnation", "group_type", "member_id", "from_offset"),
    (
        *GROUP,
        GROUP_TYPE,
        PARTITION,
        MEMBER_ID,
        Column(
            "state",
            STRING,
            "reconciled; behind: without a reaction at an older epoch; revoking; waiting: for partitions of other "
            "members; away: a static member; unknown: it has written no assignment yet, or the log does not show it",
            required=True,
        ),
        Column("member_epoch", INT, "Member epoch"),
        Column("from_at", TIMESTAMP, "Start of the interval (UTC)"),
        Column("from_offset", BIGINT, "Offset of the last record of the operation that started it", required=True),
        Column("to_at", TIMESTAMP, "End of the interval; null: not ended (UTC)"),
        Column("duration_ms", BIGINT, "From from_at to to_at, or to the capture if it has not ended, in ms"),
        Column("is_classic", BOOLEAN, "Whether the member uses the classic protocol", required=True),
        Column(
            "target_units",
            INT,
            "Partitions of its target at the end of the interval (streams: tasks in all roles); null: it has no target",
        ),
        Column(
            "owned_units",
            INT,
            "Partitions that it had at the end of the interval, those that it was asked to revoke included (streams: "
            "tasks in all roles)",
        ),
        HISTORY,
    ),
    ended_at="to_at",
)

REGEX_RESOLUTION: Final = TableSpec(
    "regex_resolution",
    "Every resolution of a regular expression to topics",
    ("cluster", "partition", "offset"),
    (
        *GROUP,
        PARTITION,
        Column("regex", STRING, "The regular expression", required=True),
        Column("topics", STRINGS, "The topics that it matched", required=True),
        Column("version", BIGINT, "Version of the metadata with which it was resolved"),
        Column("resolved_at", TIMESTAMP, "When (UTC)"),
        Column("offset", BIGINT, "Offset of the record", required=True),
    ),
)
