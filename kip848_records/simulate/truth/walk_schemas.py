"""The columns of the truth about classic groups, Connect clusters, share groups and streams groups.

These tables have rows of other kinds than consumer groups only. They have the tables' columns, as far as a walk knows
them without a look at the records.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kip848_records.simulate.truth.schemas import FLAG, GROUP, HISTORY, INCARNATION, INT, INTERVAL, LONG, TEXT, TIME

_TEXTS = pa.list_(TEXT)
_UNITS = pa.list_(pa.struct([("connector", TEXT), ("tasks", pa.list_(INT))]))
_REPLACED = pa.list_(
    pa.struct([("instance_id", TEXT), ("from_member", TEXT), ("to_member", TEXT), ("at", TIME)]),
)

_COLUMNS: Final = {
    "classic_generation": [
        *INCARNATION,
        *[("generation", INT), ("offset", LONG), ("protocol_type", TEXT), ("protocol", TEXT), ("leader", TEXT)],
        *[("cause", TEXT), ("mode", TEXT), ("rounds", INT), ("joined_at", TIME), ("completed_at", TIME)],
        *[("join_ms", LONG), ("sync_ms", LONG), ("members", INT), ("joined", _TEXTS), ("left", _TEXTS)],
        *[("static_replaced", _REPLACED), ("units", INT), ("moved", INT), ("unassigned", INT)],
        *[("ended_at", TIME), ("ended_by", TEXT)],
        *HISTORY,
    ],
    "connect_assignment": [
        *INCARNATION,
        *[("generation", INT), ("member_id", TEXT), ("worker_url", TEXT), ("version", INT), ("error", INT)],
        *[("config_offset", LONG), ("worker_config_offset", LONG), ("owned", _UNITS), ("assigned", _UNITS)],
        *[("revoked", _UNITS), ("running", _UNITS), ("delay_ms", LONG)],
    ],
    "task_handover": [
        *GROUP,
        *[("subtopology_id", TEXT), ("connector", TEXT), ("task", INT), ("acquired_offset", LONG)],
        *[("from_member", TEXT), ("reason", TEXT), ("released_at", TIME), ("released_offset", LONG)],
        *[("to_member", TEXT), ("acquired_at", TIME), ("unowned_ms", LONG), ("was_warm", FLAG), ("epoch", INT)],
        *[("status", TEXT), ("ended_at", TIME), ("expected_at", TIME)],
        *HISTORY,
    ],
    "ownership": [
        *[("offsets_partition", INT), ("group_id", TEXT), ("incarnation", INT), ("group_type", TEXT)],
        *[("member_id", TEXT), ("topic_id", TEXT), ("subtopology_id", TEXT), ("partition", INT), ("role", TEXT)],
        *INTERVAL,
        *HISTORY,
    ],
    "share_partition_state": [
        *INCARNATION,
        *[("topic_id", TEXT), ("topic", TEXT), ("state", TEXT), ("partitions", pa.list_(INT))],
        *INTERVAL,
        *HISTORY,
    ],
}

WALK_SCHEMAS: Final = {table: pa.schema(columns) for table, columns in _COLUMNS.items()}
"""By table."""
