"""The tables that are derived from the log, by name. `tables.registry` adds the log, the runs and the record types."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.anomaly import ANOMALY
from kip848_records.specs.classic import CLASSIC_GENERATION, CLASSIC_MEMBER, CONNECT_ASSIGNMENT, GROUP_MIGRATION
from kip848_records.specs.commit_jump import COMMIT_JUMP
from kip848_records.specs.commit_progress import COMMIT_PROGRESS
from kip848_records.specs.consumption_stop import CONSUMPTION_STOP
from kip848_records.specs.diagnosis import DIAGNOSIS
from kip848_records.specs.end_offset import END_OFFSET
from kip848_records.specs.epoch_timeline import EPOCH_TIMELINE
from kip848_records.specs.group_states import GROUP_STATE, GROUP_STATE_TIMELINE
from kip848_records.specs.latest_state import LATEST_STATE
from kip848_records.specs.member_assignment import MEMBER_ASSIGNMENT
from kip848_records.specs.members import MEMBER_STATE_TIMELINE, MEMBERSHIP, REGEX_RESOLUTION
from kip848_records.specs.open_transaction import OPEN_TRANSACTION
from kip848_records.specs.ownership import OWNERSHIP
from kip848_records.specs.partition_handover import PARTITION_HANDOVER
from kip848_records.specs.partition_history import PARTITION_HISTORY
from kip848_records.specs.protocol_comparison import PROTOCOL_COMPARISON
from kip848_records.specs.rebalance import REBALANCE
from kip848_records.specs.rebalance_lag import REBALANCE_LAG
from kip848_records.specs.share_partition_state import SHARE_PARTITION_STATE
from kip848_records.specs.task_handover import TASK_HANDOVER
from kip848_records.specs.topic_name import TOPIC_NAME
from kip848_records.specs.undecoded import QUARANTINE, UNKNOWN_RECORD

REPLAYED: Final = {
    spec.name: spec
    for spec in (
        *(EPOCH_TIMELINE, REBALANCE_LAG, PARTITION_HANDOVER, REBALANCE, GROUP_STATE_TIMELINE, GROUP_STATE),
        *(TASK_HANDOVER, OWNERSHIP, SHARE_PARTITION_STATE),
        *(MEMBERSHIP, MEMBER_STATE_TIMELINE, MEMBER_ASSIGNMENT, REGEX_RESOLUTION, ANOMALY),
        *(CLASSIC_GENERATION, CLASSIC_MEMBER, CONNECT_ASSIGNMENT, GROUP_MIGRATION),
        *(DIAGNOSIS, LATEST_STATE, QUARANTINE, UNKNOWN_RECORD),
    )
}
"""The tables whose rows the replay emits."""

DERIVED: Final = {
    **REPLAYED,
    PARTITION_HISTORY.name: PARTITION_HISTORY,
    TOPIC_NAME.name: TOPIC_NAME,
    COMMIT_PROGRESS.name: COMMIT_PROGRESS,
    COMMIT_JUMP.name: COMMIT_JUMP,
    CONSUMPTION_STOP.name: CONSUMPTION_STOP,
    OPEN_TRANSACTION.name: OPEN_TRANSACTION,
    END_OFFSET.name: END_OFFSET,
    PROTOCOL_COMPARISON.name: PROTOCOL_COMPARISON,
}
"""The tables that are derived from the log: each run replaces the cluster's rows in them."""

WITH_GROUPS: Final = frozenset(
    spec.name for spec in DERIVED.values() if any(column.name == "group_id" for column in spec.columns)
)
"""The tables with the column `group_id`."""
