"""What the records of a group say over time: operations, group states, epochs, assignments, owners of partitions.

Pure ``DataFrame -> DataFrame`` steps: `group_events` puts the records in order and tells what is known of them, and
`timelines` makes every table of them, by way of `judge` (the group's state after each operation) and `member_states`
(what each member was, owned and was meant to own).
"""

from kip848_records.timeline.events import EVENT_TABLES, group_events
from kip848_records.timeline.losses import lost_records, partition_losses
from kip848_records.timeline.states import judge, last_states
from kip848_records.timeline.timelines import timelines

__all__ = [
    "EVENT_TABLES",
    "group_events",
    "judge",
    "last_states",
    "lost_records",
    "partition_losses",
    "timelines",
]
