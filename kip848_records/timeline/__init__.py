"""What the records of a group say over time: operations, group states, epochs.

Pure ``DataFrame -> DataFrame`` steps; each takes what the one before it returns::

    events = group_events(tables, history)
    judged = judge(events)
    epoch_timeline(judged), last_states(judged)
"""

from kip848_records.timeline.epochs import epoch_timeline
from kip848_records.timeline.operations import EVENT_TABLES, group_events
from kip848_records.timeline.states import judge, last_states

__all__ = ["EVENT_TABLES", "epoch_timeline", "group_events", "judge", "last_states"]
