"""The tables `group_state` and `group_state_timeline`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    CAPTURED_AT,
    CLOCK_SKEW,
    GROUP,
    GROUP_TYPE,
    HISTORY,
    INT,
    IS_READ_TO_END,
    OFFSET,
    PARTITION,
    STATE,
    STRING,
    TIMESTAMP,
    Column,
    TableSpec,
)

_GROUP_TYPE: Final = replace(
    GROUP_TYPE,
    comment=f"{GROUP_TYPE.comment}. With --offset-commits also simple: a group that has committed offsets and no "
    "record of its own, which Kafka lists as Empty",
)

GROUP_STATE_TIMELINE: Final = TableSpec(
    "group_state_timeline",
    "Every interval in which a group was in one state",
    ("cluster", "group_id", "incarnation", "from_offset"),
    (
        *GROUP,
        _GROUP_TYPE,
        PARTITION,
        STATE,
        Column("from_at", TIMESTAMP, "When the group entered this state (UTC)"),
        Column("from_offset", BIGINT, "Offset of the record that caused it", required=True),
        Column("to_at", TIMESTAMP, "When the group left the state; null: not yet (UTC)"),
        Column("to_offset", BIGINT, "Offset of the last record of the operation that ended it; null: not yet"),
        Column("duration_ms", BIGINT, "From from_at to to_at, or to the capture if it has not ended, in ms"),
        Column(
            "hides_rebalance",
            BOOLEAN,
            "Whether the state reads Stable while the group rebalances: for classic and share groups",
            required=True,
        ),
        HISTORY,
        CLOCK_SKEW,
    ),
    ended_at="to_at",
)

GROUP_STATE: Final = TableSpec(
    "group_state",
    "The present state of every group that was not deleted. In state unknown, what lost records may change is null",
    ("cluster", "group_id", "partition"),
    (
        *GROUP,
        replace(_GROUP_TYPE, comment=f"{_GROUP_TYPE.comment}; in state unknown that of the group's last record"),
        PARTITION,
        Column("offset", OFFSET.type, "Offset of the last record that was replayed", required=True),
        STATE,
        Column("since", TIMESTAMP, "Start of the state; Assigning and Reconciling count as one, not converged (UTC)"),
        Column(
            "rebalancing_since",
            TIMESTAMP,
            "When the ongoing rebalance began. Consumer and streams groups rebalance in Assigning, Reconciling and "
            "NotReady; share groups, whose state does not show it, while a member is not at the group's epoch; classic "
            "ones from the join phase of a generation that leaves something to the next one until that is complete. It "
            "is rebalance.began_at. If that is censored or null, it is the start of the state or the time of the last "
            "operation: it has lasted since then at least. If a static member went away, and there is no new epoch, it "
            "is the start of the state. Null: none is ongoing, or the state is unknown (UTC)",
        ),
        Column(
            "rebalancing_history",
            STRING,
            "right_censored: its beginning was seen; censored: it may have begun before rebalancing_since; null: no "
            "rebalance is ongoing, or the state is unknown",
        ),
        Column("group_epoch", INT, "Group epoch; null for classic groups, or if the log does not show it"),
        Column("assignment_epoch", INT, "Epoch of the target assignment, with nulls as group_epoch"),
        Column("generation", INT, "Generation of a classic group"),
        Column("topology_epoch", INT, "Epoch of a streams group's topology"),
        Column(
            "validated_topology_epoch",
            INT,
            "Epoch of the topology whose topics all existed, -1 for none; null: Kafka before 4.2 does not write it",
        ),
        Column("standby_replicas", INT, "num.standby.replicas of a streams group's last assignment"),
        Column("members", INT, "Members; null if records are missing that compaction would have kept"),
        Column(
            "converged_members",
            INT,
            "Members that own exactly their target at the assignment epoch; share: members at that epoch",
        ),
        Column("members_away", INT, "Static members that went away and may come back (member epoch -2)"),
        Column(
            "waits_for_away_only",
            BOOLEAN,
            "Whether the group is Reconciling only because static members are away",
            required=True,
        ),
        Column(
            "protocol_type", STRING, "Classic: consumer, connect, or another; null for a group that was only created"
        ),
        Column("protocol", STRING, "Classic: the chosen assignor"),
        Column("leader", STRING, "Classic: member id of the leader"),
        Column(
            "upgradable",
            BOOLEAN,
            "Classic: whether a consumer member can join: the broker then converts the group, or replaces it if it is "
            "Empty. Null: its record is lost, or unreadable. The broker's migration policy and largest group size are "
            "not in the log",
        ),
        Column(
            "upgradable_reason",
            STRING,
            "Why not, all that hold, separated by a comma and a space: duplicate_instance (no broker can load the "
            "record); protocol_type (it is not consumer); malformed_assignment, malformed_subscription (a member's "
            "bytes lack a field of their version: classic_member); assignor_user_data (an assignment has data of a "
            "custom assignor); no_protocol (members, but no assignor); streams_application (Kafka Streams)",
        ),
        Column(
            "group_id_hash",
            BIGINT,
            "Hash of the group id, which determines its partition: the remainder by the number of partitions of "
            "__consumer_offsets",
            required=True,
        ),
        Column("records", BIGINT, "Records of the group in the log", required=True),
        Column("operations", BIGINT, "Operations of the group in the log", required=True),
        Column("largest_operation_bytes", BIGINT, "Bytes of keys and values of its largest operation", required=True),
        Column("largest_operation_offset", BIGINT, "Offset of the first record of that operation"),
        Column("complete_from", BIGINT, "From this offset on no record of the group is missing; null: some may be"),
        Column(
            "known_since",
            TIMESTAMP,
            "The time of the record at complete_from (UTC). Null: the present incarnation was seen from its creation "
            "on, "
            "or it is not known",
        ),
        Column("has_full_history", BOOLEAN, "Whether no record of its present incarnation is missing", required=True),
        Column(
            "has_lost_prefix",
            BOOLEAN,
            "Whether records of this incarnation are missing that compaction would have kept",
            required=True,
        ),
        CAPTURED_AT,
        IS_READ_TO_END,
        Column(
            "history",
            STRING,
            "right_censored: the beginning was seen; censored: it may have been in this state before since",
            required=True,
        ),
    ),
)
