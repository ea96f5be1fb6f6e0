"""What the records of a group say over time: operations, group states, epochs, assignments, owners of partitions.

Pure ``DataFrame -> DataFrame`` steps: `group_events` puts the records in order and tells what is known with each, and
`timelines` makes every table of them. In between, in Python workers, `told` takes whole groups as NumPy columns, and
`story` adds to them step by step: `operations`, `censoring`, `numbering`, `assignments`, `members`, `settlements`. Of
these `states`, `causes`, `moves`, `handovers`, `blockers`, `lags` tell what the tables say. `windows` does for columns
what window functions do in Spark.
"""

from kip848_records.timeline.censoring import PartitionHistory
from kip848_records.timeline.events import EVENT_TABLES, group_events
from kip848_records.timeline.losses import lost_records, partition_losses
from kip848_records.timeline.present import last_states
from kip848_records.timeline.timelines import timelines

__all__ = [
    "EVENT_TABLES",
    "PartitionHistory",
    "group_events",
    "last_states",
    "lost_records",
    "partition_losses",
    "timelines",
]
