"""What the records of a group say over time: operations, group states, epochs, assignments, owners of partitions.

Pure ``DataFrame -> DataFrame`` steps; each takes what the ones before it return::

    events = group_events(records, history, lost_records(quarantine), partition_losses(quarantine, history))
    judged, members = judge(events), member_states(events)
    epoch_timeline(events, judged), last_states(judged), group_state_timeline(judged, captured_at)
    rebalance_lag(events, members, topics, captured_at), partition_handover(members, topics)

``events``, ``judged`` and ``members`` are read several times: whoever can keeps them.
"""

from kip848_records.timeline.epochs import epoch_timeline
from kip848_records.timeline.events import EVENT_TABLES, group_events
from kip848_records.timeline.handovers import partition_handover
from kip848_records.timeline.intervals import group_state_timeline
from kip848_records.timeline.lags import rebalance_lag
from kip848_records.timeline.losses import lost_records, partition_losses
from kip848_records.timeline.members import member_states
from kip848_records.timeline.states import judge, last_states

__all__ = [
    "EVENT_TABLES",
    "epoch_timeline",
    "group_events",
    "group_state_timeline",
    "judge",
    "last_states",
    "lost_records",
    "member_states",
    "partition_handover",
    "partition_losses",
    "rebalance_lag",
]
