"""The tables that tell what happened in the groups."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, StructType

from kip848_records.tables.columns import (
    BIGINT,
    BOOLEAN,
    CLUSTER,
    GROUP_ID,
    INT,
    LOGGED_AT,
    OFFSET,
    PARTITION,
    STRING,
    TIMESTAMP,
    Column,
    TableSpec,
)
from kip848_records.timeline.present import SETTLED

INCARNATION = Column("incarnation", INT, "How often the group id had been deleted before", required=True)
HISTORY = Column(
    "history",
    STRING,
    "observed: both ends seen and no record missing between; left_censored: began, or may have lost records, where "
    "history is not complete; right_censored: open at the end of the log, or until records were lost; censored: both. "
    "Only observed rows measure",
    required=True,
)
CLOCK_SKEW = Column(
    "clock_skew", BOOLEAN, "Whether a time in ms came out negative, as brokers' clocks differ", required=True
)
_AWAITED = ArrayType(
    StructType()
    .add("topic_id", STRING)
    .add("topic", STRING)
    .add("partition", INT)
    .add("owner", STRING)
    .add("released_at", TIMESTAMP)
)
EPOCH_TIMELINE = TableSpec(
    "epoch_timeline",
    "The life of every group epoch: bumped, assigned, converged, or what ended it before",
    ("cluster", "group_id", "incarnation", "group_epoch"),
    (
        CLUSTER,
        GROUP_ID,
        INCARNATION,
        Column("group_epoch", INT, "Group epoch", required=True),
        Column("group_type", STRING, "consumer", required=True),
        PARTITION,
        Column("bumped_at", TIMESTAMP, "When the first record with this group epoch was written (UTC)"),
        Column("bump_offset", BIGINT, "Offset of that record", required=True),
        Column(
            "cause",
            STRING,
            "What the same operation wrote before it: upgraded, topic_metadata_changed, subscription_changed, "
            "static_member_replaced, member_joined, member_left (left, expired or fenced), regex_resolved; else "
            "topic_metadata_changed where the group's only topic came or went; or unknown",
            required=True,
        ),
        Column("assigned_at", TIMESTAMP, "When an assignment for this epoch or a later one was written (UTC)"),
        Column("converged_at", TIMESTAMP, "When the group was Stable for the first time since the bump (UTC)"),
        Column(
            "status",
            STRING,
            "converged; superseded: Stable or still open at a later epoch; emptied; deleted; open",
            required=True,
        ),
        Column("superseded_by", INT, "The group's epoch when it became Stable without this one, or at the end"),
        Column("members", INT, "Members of the group at the bump; null where that is not known"),
        Column(
            "partitions_moved",
            INT,
            "Partitions that this assignment gave to another owner than the assignment before; one instance id is one "
            "owner; null without an assignment, and where the one before may be compacted away",
        ),
        Column("assign_lag_ms", BIGINT, "From bump to assignment, in ms"),
        Column("reconcile_lag_ms", BIGINT, "From assignment to convergence, in ms"),
        Column("rebalance_lag_ms", BIGINT, "From bump to convergence, in ms"),
        HISTORY,
        CLOCK_SKEW,
    ),
    also_partitioned_by="status",
)

REBALANCE_LAG = TableSpec(
    "rebalance_lag",
    "How long each member took to reconcile each target assignment that was written while it was there, and who held "
    "it up",
    ("cluster", "group_id", "incarnation", "group_epoch", "member_id"),
    (
        CLUSTER,
        GROUP_ID,
        INCARNATION,
        Column("group_epoch", INT, "Epoch of the assignment", required=True),
        Column("member_id", STRING, "Member id, in full", required=True),
        PARTITION,
        Column("target_at", TIMESTAMP, "When the assignment was written (UTC)"),
        Column("reconciled_at", TIMESTAMP, "When the member owned exactly its target, at this epoch or later (UTC)"),
        Column(
            "status",
            STRING,
            "reconciled; left: the member or the group was gone first; open: neither by the end of the log; unknown: "
            "the log does not tell",
            required=True,
        ),
        Column("superseded", BOOLEAN, "Whether a later assignment was written before this row ended", required=True),
        Column("first_bumped_at", TIMESTAMP, "When the oldest epoch that this assignment answers was bumped (UTC)"),
        Column("lag_ms", BIGINT, "From first_bumped_at to reconciled_at, or to the capture while open; else null"),
        Column(
            "revoke_ms",
            BIGINT,
            "Time in UNREVOKED_PARTITIONS since target_at, in ms: asked to give partitions up, and not away meanwhile",
        ),
        Column("wait_ms", BIGINT, "Time in UNRELEASED_PARTITIONS, likewise: waiting for other members"),
        Column(
            "blocked_by",
            ArrayType(STRING),
            "Ids of members that held partitions which this one waited for; of an open row, those that hold one still",
            required=True,
        ),
        Column(
            "awaited",
            _AWAITED,
            "Of an open row in UNRELEASED_PARTITIONS: the partitions it waits for; owner null: nobody has it, since "
            "released_at if that was seen. topic is the id where no name is known",
        ),
        Column("instance_id", STRING, "Static members: group.instance.id"),
        Column("client_id", STRING, "client.id"),
        Column("client_host", STRING, "Host of the client"),
        Column("rebalance_timeout_ms", INT, "The member's rebalance timeout: how long it may take to revoke, in ms"),
        HISTORY,
        CLOCK_SKEW,
    ),
    also_partitioned_by="status",
)

PARTITION_HANDOVER = TableSpec(
    "partition_handover",
    "Every change of a topic partition's owner in a group: an owner is a member that has it assigned or pending "
    "revocation",
    ("cluster", "group_id", "incarnation", "topic_id", "partition", "acquired_offset"),
    (
        CLUSTER,
        GROUP_ID,
        INCARNATION,
        Column("topic_id", STRING, "Topic id as Kafka prints it (URL-safe base64)", required=True),
        Column("topic", STRING, "Topic name; the topic id where no name is known", required=True),
        Column("partition", INT, "Partition of the topic", required=True),
        Column("offsets_partition", INT, "Partition of __consumer_offsets", required=True),
        Column("acquired_offset", BIGINT, "Offset of the new owner's record, in __consumer_offsets", required=True),
        Column("from_member", STRING, "Member id of the owner before; null: the first owner seen"),
        Column(
            "released_at",
            TIMESTAMP,
            "When the owner before released it (UTC); of a static member that went away, when it went. Null if it had "
            "not by acquired_at: two members claimed it at once",
        ),
        Column("to_member", STRING, "Member id of the new owner", required=True),
        Column("acquired_at", TIMESTAMP, "When the new owner acquired it (UTC)"),
        Column(
            "unowned_ms",
            BIGINT,
            "From released_at to acquired_at, in ms; a lower bound: how long a member was dead before its session "
            "expired is not in the log",
        ),
        Column(
            "wanted",
            BOOLEAN,
            "Whether it was in some member's target while nobody owned it: only then is unowned_ms a loss",
            required=True,
        ),
        Column("wanted_ms", BIGINT, "Of unowned_ms, the time in which it was in some member's target, in ms"),
        Column("group_epoch", INT, "Member epoch of the new owner"),
        HISTORY,
        CLOCK_SKEW,
    ),
)

GROUP_STATE_TIMELINE = TableSpec(
    "group_state_timeline",
    "Every interval in which a consumer or classic group was in one state",
    ("cluster", "group_id", "incarnation", "from_offset"),
    (
        CLUSTER,
        GROUP_ID,
        INCARNATION,
        Column("group_type", STRING, "consumer or classic", required=True),
        PARTITION,
        Column("state", STRING, "Empty, Assigning, Reconciling, Stable; unknown: the log does not tell", required=True),
        Column("from_at", TIMESTAMP, "When the group came into this state (UTC)"),
        Column("from_offset", BIGINT, "Offset of the record with which it did", required=True),
        Column("to_at", TIMESTAMP, "When it left the state; null: it is in it still (UTC)"),
        Column("duration_ms", BIGINT, "From from_at to to_at, or to the capture while it lasts, in ms"),
        HISTORY,
        CLOCK_SKEW,
    ),
    also_partitioned_by="history",
)

GROUP_STATE = TableSpec(
    "group_state",
    "The present state of every consumer and classic group that was not deleted",
    ("cluster", "group_id"),
    (
        CLUSTER,
        GROUP_ID,
        INCARNATION,
        Column("group_type", STRING, "consumer or classic", required=True),
        PARTITION,
        Column("offset", BIGINT, "Offset of the last record that was counted", required=True),
        Column("state", STRING, "Empty, Assigning, Reconciling, Stable; unknown: the log does not tell", required=True),
        Column("since", TIMESTAMP, "Since when; Assigning and Reconciling count as one, not converged (UTC)"),
        Column("group_epoch", INT, "Group epoch; null for classic groups, or where the log does not tell"),
        Column("assignment_epoch", INT, "Epoch of the target assignment, likewise"),
        Column("generation", INT, "Generation of a classic group"),
        Column("members", INT, "Members; null where records are missing that compaction would have kept"),
        Column("converged_members", INT, "Members that own exactly their target at the assignment epoch"),
        Column("members_away", INT, "Static members that went away and may come back (member epoch -2)"),
        Column(
            "waits_for_away_only",
            BOOLEAN,
            "Whether it is Reconciling only for static members that are away",
            required=True,
        ),
        Column(
            "history",
            STRING,
            "right_censored: the beginning was seen; censored: it may have been in this state before since",
            required=True,
        ),
        Column("seen_from", BIGINT, "From this offset on no record of the group is missing; null: some may be"),
        Column("is_whole", BOOLEAN, "Whether no record of its present life is missing", required=True),
        Column(
            "settled",
            SETTLED,
            "When nothing was open in it for the last time, and each partition that ever had an owner had one: what "
            "came from the offset `until` on changes nothing that was told of it by then. Null: never",
        ),
    ),
)

GROUP_EVENT = TableSpec(
    "group_event",
    "Every record that tells of a consumer or classic group's state, with the operation and the life of the group that "
    "it is part of",
    ("cluster", "partition", "offset"),
    (
        CLUSTER,
        PARTITION,
        OFFSET,
        LOGGED_AT,
        Column("key_type", INT, "Record type; in early dialects that of the record that took its place", required=True),
        Column("is_tombstone", BOOLEAN, "Whether the record deletes its key", required=True),
        Column("size", INT, "Bytes of the record's key and value"),
        GROUP_ID,
        INCARNATION,
        Column("operation", BIGINT, "Offset of the first record of its operation, such as a heartbeat", required=True),
        Column("ends_operation", BOOLEAN, "Whether it is the last record of its operation", required=True),
        Column("member_id", STRING, "Member id, in full; null for records about a whole group"),
        Column("instance_id", STRING, "Types 5: group.instance.id of a static member"),
        Column("client_id", STRING, "Types 5: client.id"),
        Column("client_host", STRING, "Types 5: host of the client"),
        Column("rebalance_timeout_ms", INT, "Types 5: how long the member may take to revoke, in ms"),
        Column("group_epoch", INT, "Types 3: group epoch"),
        Column("assignment_epoch", INT, "Types 6: epoch of the target assignment"),
        Column("member_epoch", INT, "Types 8: member epoch; -2 a static member that went away"),
        Column(
            "member_state",
            INT,
            "Types 8: 0 STABLE, 1 UNREVOKED_PARTITIONS, 2 UNRELEASED_PARTITIONS; at epoch -2, away, the one it was in",
        ),
        Column(
            "is_complete",
            BOOLEAN,
            "Whether it was read before compaction could remove a record of the group that counts with it",
            required=True,
        ),
        Column(
            "seen_from",
            BIGINT,
            "From this offset up to here no record of the group is missing; null if it is not complete",
        ),
        Column(
            "is_headless",
            BOOLEAN,
            "Whether records of this life, from before, are missing that compaction would have kept",
            required=True,
        ),
    ),
)

TIMELINES = (EPOCH_TIMELINE, REBALANCE_LAG, PARTITION_HANDOVER, GROUP_STATE_TIMELINE, GROUP_STATE, GROUP_EVENT)
