"""The tables `classic_generation`, `classic_member`, `connect_assignment` and `group_migration`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BINARY,
    BOOLEAN,
    CLIENT,
    CLOCK_SKEW,
    GROUP,
    HISTORY,
    INT,
    INTS,
    MEMBER_ID,
    OFFSET,
    PARTITION,
    REBALANCE_TIMEOUT,
    STRING,
    STRINGS,
    TIMESTAMP,
    Column,
    TableSpec,
    list_of,
    struct_of,
)

STATIC_REPLACEMENTS: Final = list_of(struct_of(instance_id=STRING, from_member=STRING, to_member=STRING, at=TIMESTAMP))
_PARTITIONS: Final = list_of(struct_of(topic=STRING, partitions=INTS))
_TASKS: Final = list_of(struct_of(connector=STRING, tasks=INTS))
_GENERATION: Final = Column("generation", INT, "Generation of the classic group", required=True)

CLASSIC_GENERATION: Final = TableSpec(
    "classic_generation",
    "Every generation of a classic group that its leader completed, the group's creation, and its becoming Empty. "
    "PreparingRebalance, CompletingRebalance and rounds that were given up are not in the log",
    ("cluster", "group_id", "incarnation", "generation"),
    (
        *GROUP,
        PARTITION,
        _GENERATION,
        OFFSET,
        Column("protocol_type", STRING, "consumer, connect, or another; null for a group that was only created"),
        Column("protocol", STRING, "The chosen assignor (Connect: the protocol version's name); null without members"),
        Column("leader", STRING, "Member id of the leader; null without members"),
        Column(
            "cause",
            STRING,
            "created; downgraded; emptied; assignor_changed; member_joined; member_left; members_changed (both); "
            "subscription_changed; follow_up (the round before left partitions to no member, or a downgrade); "
            "topic_metadata_changed; static_member_replaced (a static member expired and was back in the same round); "
            "Connect: protocol_changed, follow_up (the generation before revoked something), "
            "delay_expired, config_changed; unknown (a member rejoined, or the log does not show it)",
            required=True,
        ),
        Column(
            "mode",
            STRING,
            "By evidence, not by the assignor's name. cooperative: a member kept partitions while it joined; eager: no "
            "member did, although one had some; unknown: neither shows; null: no members, or bytes do not parse",
        ),
        Column(
            "rounds",
            INT,
            "Generation minus the one before: above 1, rounds were given up before their leader synced. Null: the one "
            "before was not seen",
        ),
        Column("joined_at", TIMESTAMP, "When the join phase ended; created, emptied: when the group became so (UTC)"),
        Column("completed_at", TIMESTAMP, "When its record was written: the leader had synced (UTC)"),
        Column("join_ms", BIGINT, "Duration of the join phase in ms; only a group's first generation shows its start"),
        Column(
            "sync_ms",
            BIGINT,
            "From joined_at to completed_at, in ms: every member had joined, and no member had an assignment. The rest "
            "of the rebalance, its join phase, is not in the log",
        ),
        Column("members", INT, "Number of members", required=True),
        Column(
            "joined", STRINGS, "Instance ids, or member ids, that the generation before lacks; null: it was not seen"
        ),
        Column("left", STRINGS, "Instance ids, or member ids, that only the generation before has"),
        Column(
            "static_replaced",
            STATIC_REPLACEMENTS,
            "Static members that came back under a new member id: in its round, after they had expired, or later",
        ),
        Column("units", INT, "Assigned partitions (Connect: connectors and tasks); null: bytes do not parse"),
        Column("moved", INT, "Those with another owner than their last one since the group was last Empty"),
        Column("unassigned", INT, "Partitions that members still had when they joined and that no member has now"),
        Column("ended_at", TIMESTAMP, "When it ended (UTC); null: not yet, or not seen"),
        Column(
            "ended_by",
            STRING,
            "next_generation; emptied; upgraded; replaced by a group of another type; deleted; null: not ended, or not "
            "seen",
        ),
        Column(
            "history",
            HISTORY.type,
            "observed: the record before it was seen, or the group's creation; left_censored: it may be missing, and "
            "columns that compare with it are null. sync_ms is right in both",
            required=True,
        ),
        CLOCK_SKEW,
    ),
    ended_at="ended_at",
)

CLASSIC_MEMBER: Final = TableSpec(
    "classic_member",
    "Every member of every completed generation of a classic group, as the generation's record contains it",
    ("cluster", "group_id", "incarnation", "generation", "member_id"),
    (
        *GROUP,
        PARTITION,
        _GENERATION,
        MEMBER_ID,
        *CLIENT,
        Column("session_timeout_ms", BIGINT, "The member's session timeout in ms"),
        REBALANCE_TIMEOUT,
        Column("is_leader", BOOLEAN, "Whether it led the generation", required=True),
        Column("topics", STRINGS, "Topics that it subscribes to; null for other protocol types than consumer"),
        Column("owned", _PARTITIONS, "Partitions that it still had when it joined; null: its bytes are cut there"),
        Column("assigned", _PARTITIONS, "Partitions that it has from this generation on"),
        Column("subscription", BINARY, "Bytes of its subscription, if they are malformed or of another protocol type"),
        Column("assignment", BINARY, "Bytes of its assignment, if they are malformed or of another protocol type"),
        Column(
            "subscription_error",
            STRING,
            "Consumer: why its subscription is malformed, such as 'version 1 ends before ownedPartitions'; the columns "
            "before have what it contains. Null: it is not",
        ),
        Column("assignment_error", STRING, "Consumer: why its assignment is malformed; null: it is not"),
    ),
)

CONNECT_ASSIGNMENT: Final = TableSpec(
    "connect_assignment",
    "Every worker of every generation of a Connect cluster, as the generation's record contains it. Task -1 is the "
    "connector itself. Failed and paused tasks look like running ones",
    ("cluster", "group_id", "incarnation", "generation", "member_id"),
    (
        *GROUP,
        PARTITION,
        _GENERATION,
        MEMBER_ID,
        Column("worker_url", STRING, "URL of the worker, which it keeps when it restarts"),
        Column("version", INT, "Protocol version: 0 eager, 1 compatible, 2 sessioned"),
        Column("error", INT, "1: the leader had not read the configuration far enough, and assigned nothing"),
        Column("config_offset", BIGINT, "Offset of the configuration that the leader had read"),
        Column("worker_config_offset", BIGINT, "Offset of the configuration that the worker had read"),
        Column("owned", _TASKS, "Connectors and tasks that it ran when it joined"),
        Column("assigned", _TASKS, "Connectors and tasks that the leader assigned; from version 1 on, only new ones"),
        Column("revoked", _TASKS, "Connectors and tasks that the leader asked it to give up"),
        Column("running", _TASKS, "Connectors and tasks that it runs then; null: it got no assignment"),
        Column("delay_ms", BIGINT, "How long the leader waits for workers that left before it reassigns their tasks"),
        Column("quarantine_reason", STRING, "Why its bytes do not parse; they are in classic_member"),
    ),
)

GROUP_MIGRATION: Final = TableSpec(
    "group_migration",
    "Every conversion of a group id from one type of group to another, by the operation that wrote it",
    ("cluster", "group_id", "incarnation", "partition", "offset"),
    (
        *GROUP,
        PARTITION,
        Column(
            "direction",
            STRING,
            "upgrade: a consumer member joined a classic group with members; downgrade: the last consumer member left; "
            "empty_replaced: a member of another type joined an Empty group",
            required=True,
        ),
        Column("from_type", STRING, "Type of the group before: classic, consumer or streams", required=True),
        Column("to_type", STRING, "Type of the group after", required=True),
        Column("at", TIMESTAMP, "When it was converted (UTC)"),
        Column(
            "offset", BIGINT, "Offset of its record of type 2: the tombstone, or the new classic group", required=True
        ),
        Column("epoch", INT, "Upgrade, downgrade: the generation and epoch that both have; else the first new one"),
        Column("converted", INT, "Members that were converted", required=True),
        Column(
            "mixed_until",
            TIMESTAMP,
            "Upgrade: when no member used the classic protocol any more, or the group ended (UTC); null: still mixed",
        ),
        Column("history", HISTORY.type, "observed; left_censored: its operation may lack records", required=True),
    ),
    ended_at="CASE WHEN direction <> 'upgrade' OR mixed_until IS NOT NULL THEN coalesce(mixed_until, `at`) END",
)
