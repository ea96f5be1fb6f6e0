"""The columns of the truth's files: those of the tables that the simulator knows the rows of, without the cluster.

Times are timestamps in UTC. `partition` is that of `__consumer_offsets`; only in `partition_handover`, in `ownership`
and in awaited partitions it is the topic's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.simulate.truth.facts import FACTS
from kip848_records.specs.columns import CLUSTER, TIMESTAMP
from kip848_records.specs.registry import REPLAYED

if TYPE_CHECKING:
    from collections.abc import Mapping

TIME: Final = TIMESTAMP

# A column that depends on the form of the log, or that a simulated coordinator does not show, is missing in the truth.
_UNKNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "epoch_timeline": (),
    "rebalance_lag": (),
    "partition_handover": ("unowned_max_ms",),
    "group_state_timeline": (),
    "group_state": (
        *("offset", "since", "topology_epoch", "validated_topology_epoch", "standby_replicas", "protocol_type"),
        *("protocol", "leader", "upgradable", "upgradable_reason", "group_id_hash", "records", "operations"),
        *("largest_operation_bytes", "largest_operation_offset", "complete_from", "known_since", "has_full_history"),
        *("has_lost_prefix", "captured_at", "is_read_to_end", "history"),
    ),
    "rebalance": (),
    "member_state_timeline": (),
    "membership": (),
    "regex_resolution": (),
    "anomaly": ("releases", "known_bug"),
    "classic_generation": (),
    "connect_assignment": ("quarantine_reason",),
    "task_handover": ("unowned_max_ms", "wanted", "wanted_ms", "has_changelogs"),
    "ownership": ("topic", "has_changelogs"),
    "share_partition_state": (),
    "diagnosis": tuple(
        column.name
        for column in REPLAYED["diagnosis"].columns
        if column.name not in {"group_id", "partition", "pattern", "subject", "count", "first_seen", "last_seen"}
    ),
}
"""Table -> its columns that the simulator does not know."""


def _schema(table: str, unknown: tuple[str, ...]) -> pa.Schema:
    known = (each for each in REPLAYED[table].columns if each.name not in {CLUSTER.name, *unknown})
    return pa.schema([(each.name, each.type) for each in known])


SCHEMAS: Final = {table: _schema(table, unknown) for table, unknown in _UNKNOWN.items()} | FACTS
"""By table, and by the names of facts that no table has. `anomaly` has no rows."""
