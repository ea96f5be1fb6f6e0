"""The columns of the truth's files: those of the tables that the replay writes, in their order.

Times are timestamps in UTC, durations and offsets int64. `partition` is that of `__consumer_offsets`; only in
`partition_handover` and in awaited partitions it is the topic's.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

TEXT, INT, LONG, FLAG = pa.string(), pa.int32(), pa.int64(), pa.bool_()
TIME: Final = pa.timestamp("us", "UTC")
_TEXTS = pa.list_(TEXT)

INCARNATION = [("partition", INT), ("group_id", TEXT), ("incarnation", INT)]
GROUP = [*INCARNATION, ("group_type", TEXT)]
HISTORY = [("history", TEXT), ("clock_skew", FLAG)]
INTERVAL = [("from_at", TIME), ("from_offset", LONG), ("to_at", TIME), ("duration_ms", LONG)]
_CLIENT = [("client_id", TEXT), ("client_host", TEXT)]

_AWAITED = pa.struct(
    [
        *[("topic_id", TEXT), ("partition", INT), ("owner", TEXT), ("released_at", TIME)],
        *[("subtopology_id", TEXT), ("role", TEXT)],
    ]
)
_BLOCKER = pa.struct(
    [
        ("member_id", TEXT),
        *_CLIENT,
        ("instance_id", TEXT),
        ("late_ms", LONG),
        ("blocked_ms", LONG),
        ("held_up", INT),
        ("revoke_ms", LONG),
        ("away_ms", LONG),
        ("last_state", TEXT),
        ("late_now", FLAG),
        ("waiting_now", INT),
    ]
)

_COLUMNS: Final = {
    "epoch_timeline": [
        *INCARNATION,
        ("group_epoch", INT),
        ("group_type", TEXT),
        ("bumped_at", TIME),
        ("bump_offset", LONG),
        ("cause", TEXT),
        ("metadata_changed", FLAG),
        ("trigger_member_ids", _TEXTS),
        ("assigned_at", TIME),
        ("target_partitions", INT),
        ("target_duplicates", INT),
        ("converged_at", TIME),
        ("status", TEXT),
        ("superseded_by", INT),
        ("members", INT),
        ("partitions_moved", INT),
        ("assign_lag_ms", LONG),
        ("reconcile_lag_ms", LONG),
        ("rebalance_lag_ms", LONG),
        *HISTORY,
    ],
    "rebalance_lag": [
        *GROUP,
        ("group_epoch", INT),
        ("member_id", TEXT),
        ("target_at", TIME),
        ("reconciled_at", TIME),
        ("status", TEXT),
        ("superseded", FLAG),
        ("first_bumped_at", TIME),
        ("behind_since", TIME),
        ("lag_ms", LONG),
        ("revoke_ms", LONG),
        ("wait_ms", LONG),
        ("blocked_by", _TEXTS),
        ("awaited", pa.list_(_AWAITED)),
        ("instance_id", TEXT),
        *_CLIENT,
        ("rebalance_timeout_ms", LONG),
        *HISTORY,
    ],
    "partition_handover": [
        ("offsets_partition", INT),
        ("group_id", TEXT),
        ("incarnation", INT),
        ("topic_id", TEXT),
        ("partition", INT),
        ("acquired_offset", LONG),
        ("from_member", TEXT),
        ("released_at", TIME),
        ("released_offset", LONG),
        ("to_member", TEXT),
        ("acquired_at", TIME),
        ("unowned_ms", LONG),
        ("wanted", FLAG),
        ("wanted_ms", LONG),
        ("group_epoch", INT),
        *HISTORY,
        ("group_type", TEXT),
        ("topic", TEXT),
        ("generation", INT),
    ],
    "group_state_timeline": [
        *GROUP,
        ("state", TEXT),
        *INTERVAL[:3],
        ("to_offset", LONG),
        INTERVAL[3],
        ("hides_rebalance", FLAG),
        *HISTORY,
    ],
    "group_state": [
        *GROUP,
        ("state", TEXT),
        ("rebalancing_since", TIME),
        ("rebalancing_history", TEXT),
        ("group_epoch", INT),
        ("assignment_epoch", INT),
        ("generation", INT),
        ("members", INT),
        ("converged_members", INT),
        ("members_away", INT),
        ("waits_for_away_only", FLAG),
    ],
    "rebalance": [
        *GROUP,
        ("began_offset", LONG),
        ("began_at", TIME),
        ("first_epoch", INT),
        ("last_epoch", INT),
        ("epochs", INT),
        ("causes", _TEXTS),
        ("trigger_member_ids", _TEXTS),
        ("ended_at", TIME),
        ("ended_offset", LONG),
        ("outcome", TEXT),
        ("duration_ms", LONG),
        ("started_empty", FLAG),
        ("members_before", INT),
        ("members", INT),
        ("members_waited", INT),
        ("partitions_moved", LONG),
        ("unowned_ms", LONG),
        ("longest_unowned_ms", LONG),
        ("assigning_ms", LONG),
        ("late_ms", LONG),
        ("not_ready_ms", LONG),
        ("blockers", pa.list_(_BLOCKER)),
        ("blockers_count", INT),
        *HISTORY,
        ("leader_changed", FLAG),
        ("rounds", INT),
        ("duration_is_minimum", FLAG),
        ("delay_ms", LONG),
        ("expected_at", TIME),
        ("revoked", INT),
        ("partitions_stopped", INT),
        ("is_measured", FLAG),
    ],
    "member_state_timeline": [
        *GROUP,
        ("member_id", TEXT),
        ("state", TEXT),
        ("member_epoch", INT),
        *INTERVAL,
        ("is_classic", FLAG),
        ("history", TEXT),
    ],
    "membership": [
        *GROUP,
        ("member_id", TEXT),
        ("joined_offset", LONG),
        ("instance_id", TEXT),
        *_CLIENT,
        ("rack_id", TEXT),
        ("server_assignor", TEXT),
        ("rebalance_timeout_ms", LONG),
        ("topics", _TEXTS),
        ("regex", TEXT),
        ("process_id", TEXT),
        ("topology_epoch", INT),
        ("joined_at", TIME),
        ("joined_epoch", INT),
        ("joined_how", TEXT),
        ("left_at", TIME),
        ("left_offset", LONG),
        ("left_epoch", INT),
        ("left_how", TEXT),
        ("returned", FLAG),
        ("away_ms", LONG),
        ("topology_lag_ms", LONG),
        ("history", TEXT),
    ],
    "regex_resolution": [
        *INCARNATION,
        ("regex", TEXT),
        ("topics", _TEXTS),
        ("version", INT),
        ("resolved_at", TIME),
        ("offset", LONG),
    ],
    "anomaly": [
        ("kind", TEXT),
        ("group_id", TEXT),
        ("incarnation", INT),
        ("partition", INT),
        ("offset", LONG),
        ("at", TIME),
        ("member_id", TEXT),
        ("epoch", INT),
        ("expected", TEXT),
        ("seen", TEXT),
        ("is_proven", FLAG),
    ],
}

SCHEMAS: Final = {table: pa.schema(columns) for table, columns in _COLUMNS.items()}
"""By table. `group_state` has only the columns that do not depend on the form of the log; `anomaly` has no rows."""
