"""What the records of a group say over time: operations, group states, epochs, assignments, owners of partitions.

Pure ``DataFrame -> DataFrame`` steps: `group_events` puts the records in order and tells what is known with each, and
`timelines` makes every table of them. In between, in Python workers, `pieces` takes whole groups, a large one piece by
piece, and `told` tells of them as NumPy columns. `story` adds to these step by step: `operations`, `censoring`,
`numbering`, `assignments`, `members`, `settlements`. Of these `states`, `causes`, `moves`, `handovers`, `blockers`,
`lags` tell what the tables say, and `settled` where a group can be told on from. `windows` does for columns what window
functions do in Spark.
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
