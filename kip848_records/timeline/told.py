"""What Python workers tell of groups' events: whole groups of them as columns, and what is known with each.

Spark brings the records of a group together and in order. Everything that follows from one group's order is told in one
pass over them; names of topics, and when the log was copied, are for Spark to add.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.timeline.blockers import AWAITED, awaited_at_end, owners_of_awaited, seen_blocking
from kip848_records.timeline.causes import bump_causes
from kip848_records.timeline.handovers import HANDOVER, handovers, ownership
from kip848_records.timeline.lags import SETTLEMENT, settled_lags
from kip848_records.timeline.moves import partitions_moved
from kip848_records.timeline.settled import settled_until
from kip848_records.timeline.settlements import settlements
from kip848_records.timeline.states import JUDGED, judge
from kip848_records.timeline.story import story
from kip848_records.timeline.windows import arrow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.timeline.censoring import PartitionHistory

RECORD: Final = {
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "key_type": "int",
    "is_tombstone": "boolean",
    "size": "int",
    "group_id": "string",
    "member_id": "string",
    "group_epoch": "int",
    "assignment_epoch": "int",
    "member_epoch": "int",
    "member_state": "int",
    "instance_id": "string",
    "client_id": "string",
    "client_host": "string",
    "rebalance_timeout_ms": "int",
}
"""What stays of an event's own record (`events.group_events`)."""

TOLD: Final = (
    f"{', '.join(f'{name} {kind}' for name, kind in RECORD.items())}, "
    "operation bigint, incarnation int, ends_operation boolean, "
    "of_snapshot boolean, is_complete boolean, seen_from bigint, seen_at_end bigint, is_headless boolean, "
    "is_whole boolean, settled_until bigint, "
    f"cause string, partitions_moved int, judged struct<{JUDGED}>, handovers array<struct<{HANDOVER}>>, "
    f"settlements array<struct<{SETTLEMENT}>>, awaited_at_end array<struct<{AWAITED}>>"
)
"""Its operation (`operations.Operations`); whether it is of a snapshot (`snapshots`); what is known of its group's
history (`censoring.History`), as of the group's last event too (`seen_at_end`); from where on its group is told if it
is settled with it (`settled`); the cause of a new group epoch (`causes.bump_causes`); how many partitions an
assignment moves (`moves.partitions_moved`); the group as of it (`states.judge`). With the last event of each operation
that wrote of a member: what it acquired, which assignments it settled, and what it waits for if the log ends with it.
"""


def told(groups: pa.Table, known: Mapping[int, PartitionHistory]) -> pa.Table:
    """Tell everything that `TOLD` names of the events of whole groups; `known`: the history of their partitions."""
    of_groups = story(groups, known)
    events, operations, history = of_groups.events, of_groups.operations, of_groups.history
    settled = settlements(of_groups)
    asked = owners_of_awaited(of_groups)
    owned, judged = ownership(of_groups), judge(events, operations, history)
    columns = {name: events.rows[name] for name in RECORD}
    columns |= {
        "operation": pa.array(operations.operation),
        "incarnation": arrow(operations.incarnation, pa.int32()),
        "ends_operation": pa.array(operations.ends_operation),
        "of_snapshot": pa.array(of_groups.snapshots.is_snapshot),
        "is_complete": pa.array(history.is_complete),
        "seen_from": arrow(history.seen_from, pa.int64()),
        "seen_at_end": arrow(history.seen_from[operations.last_of_group], pa.int64()),
        "is_headless": pa.array(history.is_headless),
        "is_whole": pa.array(history.is_whole),
        "settled_until": arrow(settled_until(of_groups, owned, judged), pa.int64()),
        "cause": bump_causes(events, operations, history),
        "partitions_moved": arrow(partitions_moved(of_groups), pa.int32()),
        "judged": judged,
        "handovers": handovers(of_groups, owned),
        "settlements": settled_lags(of_groups, settled, seen_blocking(of_groups, asked, settled)),
        "awaited_at_end": awaited_at_end(of_groups, asked),
    }
    return pa.table(columns)
