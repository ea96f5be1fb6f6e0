"""What is known of a stretch of the log, each step of it made of those before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.timeline.assignments import written_assignments
from kip848_records.timeline.censoring import histories
from kip848_records.timeline.columns import Events
from kip848_records.timeline.members import member_states
from kip848_records.timeline.numbering import numbered_assignments
from kip848_records.timeline.operations import operations
from kip848_records.timeline.partitions import TopicPartitions
from kip848_records.timeline.settlements import progress_of
from kip848_records.timeline.snapshots import Snapshots, with_begin_of_state
from kip848_records.timeline.windows import Window

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from kip848_records.timeline.assignments import Written
    from kip848_records.timeline.censoring import History, PartitionHistory
    from kip848_records.timeline.members import States
    from kip848_records.timeline.numbering import Assignments
    from kip848_records.timeline.operations import Operations
    from kip848_records.timeline.settlements import Progress


@dataclass(frozen=True)
class Story:
    """The events of whole groups, and what is known of each of them, of assignments, and of members' states."""

    events: Events
    snapshots: Snapshots
    operations: Operations
    history: History
    numbered: Assignments
    written: Written
    partitions: TopicPartitions
    states: States
    progress: Progress


def story(groups: pa.Table, known: Mapping[int, PartitionHistory]) -> Story:
    """Tell the story of whole groups, the events of each together and in order; `known`: by partition."""
    events = Events(with_begin_of_state(groups))
    of_group = Window(events.groups(), are_together=True)
    snapshots = Snapshots.of(events, of_group)
    told = operations(events, of_group, snapshots)
    numbered = numbered_assignments(events, told)
    states = member_states(events, told)
    return Story(
        events=events,
        snapshots=snapshots,
        operations=told,
        history=histories(events, told, snapshots, known),
        numbered=numbered,
        written=written_assignments(events, told, numbered),
        partitions=TopicPartitions(events),
        states=states,
        progress=progress_of(states, numbered, events.ints("timestamp"), told.operation),
    )
