"""What the records of a group say over time: operations, group states, epochs, assignments, owners of partitions.

Pure ``DataFrame -> DataFrame`` steps: `group_events` puts the records in order and tells what is known with each
(`told`, in NumPy), and `timelines` makes every table of them.
"""

from kip848_records.timeline.events import EVENT_TABLES, group_events
from kip848_records.timeline.losses import lost_records, partition_losses
from kip848_records.timeline.present import last_states
from kip848_records.timeline.timelines import timelines

__all__ = [
    "EVENT_TABLES",
    "group_events",
    "last_states",
    "lost_records",
    "partition_losses",
    "timelines",
]
