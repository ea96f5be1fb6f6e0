"""The tables by name, as mypy checks them: what each is stands in the TOML files beside this module."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.loading import shared_columns, struct_type, table_spec

# Columns that code names.
(CLUSTER,) = shared_columns("cluster")
(GROUP_ID,) = shared_columns("group_id")
(HISTORY,) = shared_columns("history")

AUDIT_RUNS: Final = table_spec("audit_runs")

EPOCH_TIMELINE: Final = table_spec("epoch_timeline")
REBALANCE_LAG: Final = table_spec("rebalance_lag")
PARTITION_HANDOVER: Final = table_spec("partition_handover")
REBALANCE: Final = table_spec("rebalance")
GROUP_STATE_TIMELINE: Final = table_spec("group_state_timeline")
GROUP_STATE: Final = table_spec("group_state")
TASK_HANDOVER: Final = table_spec("task_handover")
OWNERSHIP: Final = table_spec("ownership")
SHARE_PARTITION_STATE: Final = table_spec("share_partition_state")
MEMBERSHIP: Final = table_spec("membership")
MEMBER_STATE_TIMELINE: Final = table_spec("member_state_timeline")
MEMBER_ASSIGNMENT: Final = table_spec("member_assignment")
REGEX_RESOLUTION: Final = table_spec("regex_resolution")
ANOMALY: Final = table_spec("anomaly")
REFUSED_RECORD: Final = table_spec("refused_record")
CLASSIC_GENERATION: Final = table_spec("classic_generation")
CLASSIC_MEMBER: Final = table_spec("classic_member")
CONNECT_ASSIGNMENT: Final = table_spec("connect_assignment")
GROUP_MIGRATION: Final = table_spec("group_migration")
DIAGNOSIS: Final = table_spec("diagnosis")
LATEST_STATE: Final = table_spec("latest_state")
QUARANTINE: Final = table_spec("quarantine")
UNKNOWN_RECORD: Final = table_spec("unknown_record")

PARTITION_HISTORY: Final = table_spec("partition_history")
PARTITION_CONTENT: Final = table_spec("partition_content")
TOPIC_CONTENT: Final = table_spec("topic_content")
TOPIC_NAME: Final = table_spec("topic_name")
COMMIT_PROGRESS: Final = table_spec("commit_progress")
COMMIT_JUMP: Final = table_spec("commit_jump")
CONSUMPTION_STOP: Final = table_spec("consumption_stop")
OPEN_TRANSACTION: Final = table_spec("open_transaction")
END_OFFSET: Final = table_spec("end_offset")
PROTOCOL_COMPARISON: Final = table_spec("protocol_comparison")

# Structs that code makes.
AWAITED_PARTITION: Final = struct_type("awaited_partition")
BLOCKER: Final = struct_type("blocker")
PRESENT_BLOCKER: Final = struct_type("present_blocker")
STATIC_REPLACEMENT: Final = struct_type("static_replacement")
UNAPPLIED: Final = struct_type("unapplied")
WARM_UP: Final = struct_type("warm_up")

# Rows between the replay and the pipeline; they are not stored.
GROUP_OUTLINE: Final = table_spec("group_outline")
OWNED_PARTITION: Final = table_spec("owned_partition")
STOPPED_PARTITION: Final = table_spec("stopped_partition")
FOUND_STOP: Final = table_spec("found_stop")
FOUND_JUMP: Final = table_spec("found_jump")
FOUND_PROGRESS: Final = table_spec("found_progress")
RECORDED_TOPIC_NAME: Final = table_spec("recorded_topic_name")

REPLAYED: Final = {
    spec.name: spec
    for spec in (
        *(EPOCH_TIMELINE, REBALANCE_LAG, PARTITION_HANDOVER, REBALANCE, GROUP_STATE_TIMELINE, GROUP_STATE),
        *(TASK_HANDOVER, OWNERSHIP, SHARE_PARTITION_STATE),
        *(MEMBERSHIP, MEMBER_STATE_TIMELINE, MEMBER_ASSIGNMENT, REGEX_RESOLUTION, ANOMALY, REFUSED_RECORD),
        *(CLASSIC_GENERATION, CLASSIC_MEMBER, CONNECT_ASSIGNMENT, GROUP_MIGRATION),
        *(DIAGNOSIS, LATEST_STATE, QUARANTINE, UNKNOWN_RECORD),
    )
}
"""The tables whose rows the replay emits."""

DERIVED: Final = REPLAYED | {
    spec.name: spec
    for spec in (
        *(PARTITION_HISTORY, PARTITION_CONTENT, TOPIC_CONTENT, TOPIC_NAME),
        *(COMMIT_PROGRESS, COMMIT_JUMP, CONSUMPTION_STOP, OPEN_TRANSACTION, END_OFFSET, PROTOCOL_COMPARISON),
    )
}
"""The tables that are derived from the log: each run replaces the cluster's rows in them."""

OF_COMMITS: Final = tuple(
    spec.name for spec in (COMMIT_PROGRESS, COMMIT_JUMP, OPEN_TRANSACTION, CONSUMPTION_STOP, END_OFFSET)
)
"""The tables that are empty without offset commits."""

WITH_GROUPS: Final = frozenset(
    spec.name for spec in DERIVED.values() if any(column.name == "group_id" for column in spec.columns)
)
"""The tables with the column `group_id`."""

OFFSETS_RETENTION_MS: Final = 7 * 24 * 60 * 60 * 1000
"""Kafka's default of `offsets.retention.minutes`: an older commit may have expired."""
