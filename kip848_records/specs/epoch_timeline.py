"""The table `epoch_timeline`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    CLOCK_SKEW,
    GROUP,
    GROUP_TYPE,
    HAS_ENDED,
    HISTORY,
    INT,
    PARTITION,
    STRING,
    STRINGS,
    TIMESTAMP,
    Column,
    TableSpec,
)

EPOCH_TIMELINE: Final = TableSpec(
    "epoch_timeline",
    "The history of every group epoch: bumped, assigned, converged, or how it ended before",
    ("cluster", "group_id", "incarnation", "group_epoch"),
    (
        *GROUP,
        Column("group_epoch", INT, "Group epoch", required=True),
        GROUP_TYPE,
        PARTITION,
        Column("bumped_at", TIMESTAMP, "When the first record with this group epoch was written (UTC)"),
        Column("bump_offset", BIGINT, "Offset of that record", required=True),
        Column(
            "cause",
            STRING,
            "The trigger, from the records that the same operation wrote before the bump: upgraded, member_joined, "
            "subscription_changed, member_left (left, expired or fenced), regex_resolved, topic_metadata_changed, "
            "static_member_replaced, unknown. Streams groups also: topology_initialized; member_changed: any "
            "field of a dynamic member, or process, topology epoch, rack or tags of a static one; topology_validated, "
            "topology_invalidated: all its topics exist, or one is missing; assignment_configs_changed. Share groups "
            "also: partitions_initialized, if these are not the partitions of the targets",
            required=True,
        ),
        Column(
            "metadata_changed",
            BOOLEAN,
            "Whether a topic of the group changed: created, deleted, expanded, or its replicas or their racks moved. "
            "Null if the previous epoch is not known",
        ),
        Column("trigger_member_ids", STRINGS, "Members whose records are the cause; empty if no member is"),
        Column("assigned_at", TIMESTAMP, "When an assignment for this epoch or a later one was written (UTC)"),
        Column("target_partitions", INT, "Partitions, or active tasks, in all targets of that assignment"),
        Column("target_duplicates", INT, "How many of these are in the targets of two members"),
        Column("converged_at", TIMESTAMP, "When the group had converged for the first time since the bump (UTC)"),
        Column(
            "status",
            STRING,
            "converged; superseded: Stable or still open at a later epoch; emptied; deleted; downgraded; open; "
            "unknown: the log of Kafka before 4.2 does not show whether a streams group was ready, or records that "
            "may have ended it were lost. Null: it ended before the history is complete",
        ),
        Column("superseded_by", INT, "The group's epoch when it became Stable without this one, or at the end"),
        Column("members", INT, "Members of the group at the bump; null if unknown"),
        Column(
            "partitions_moved",
            INT,
            "Partitions, or active tasks, that this assignment gave to another owner than the previous assignment; one "
            "instance id is one owner; null for share groups, without an assignment, or if the previous one is not "
            "known",
        ),
        Column("assign_lag_ms", BIGINT, "From bump to assignment, in ms"),
        Column("reconcile_lag_ms", BIGINT, "From assignment to convergence, in ms"),
        Column("rebalance_lag_ms", BIGINT, "From bump to convergence, in ms"),
        HISTORY,
        CLOCK_SKEW,
    ),
    ended_at=f"CASE WHEN {HAS_ENDED} THEN coalesce(converged_at, assigned_at, bumped_at) END",
)
