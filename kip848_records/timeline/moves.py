"""How many partitions a new target assignment takes from one member to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kip848_records.timeline.operations import MEMBER, MEMBER_TARGET
from kip848_records.timeline.owners import owners
from kip848_records.timeline.partitions import ACQUIRED, changes
from kip848_records.timeline.windows import NONE, NULL, Window, of_rows

if TYPE_CHECKING:
    from kip848_records.timeline.story import Story
    from kip848_records.timeline.windows import Ints


def partitions_moved(story: Story) -> Ints:
    """Count, of each assignment, the partitions whose target owner differs from that in the assignment before.

    A partition counts if it has an owner in both. One instance id is one owner, whatever its member id. A type 7
    belongs to the next assignment, which closes its operation. Where compaction may have removed records from before
    the assignment before, nobody can tell.

    Returns:
        A number for each event that wrote an assignment; NULL where nobody can tell, and for all other events.
    """
    history, written = story.history, story.written
    incarnation, assignment = _moves(story)
    place = written.place(incarnation, assignment)
    # Targets behind the last assignment belong to none.
    moved = np.bincount(place[place != NONE], minlength=len(written.row))
    before = Window(story.operations.of_incarnation.codes[written.row], are_together=True).previous()
    was_seen = history.saw(np.where(before == NONE, NONE, written.row[before]), written.row)
    counted = np.full(len(story.events), NULL)
    counted[written.row] = np.where(was_seen | ((before == NONE) & history.is_whole[written.row]), moved, NULL)
    return counted


def _moves(story: Story) -> tuple[Ints, Ints]:
    """Return of each partition that an assignment moves its incarnation, and the number of the assignment."""
    events, operations = story.events, story.operations
    key_type, is_live = events.ints("key_type"), ~events.bools("is_tombstone")
    row = np.flatnonzero(key_type == MEMBER_TARGET)
    identity = operations.of_member.last((key_type == MEMBER) & is_live)[row]
    instance = np.where(identity == NONE, NONE, events.codes("instance_id")[identity])
    changed = changes(Window(operations.of_member.codes[row]), [(story.partitions["target"], row)])
    in_order = np.lexsort((changed.step, row[changed.state]))
    state, step, partition = changed.state[in_order], changed.step[in_order], changed.partition[in_order]
    at = row[state]
    incarnation, assignment = operations.of_incarnation.codes[at], story.numbered.so_far[at] + 1
    found = owners(incarnation, partition, step, events.codes("member_id")[at])
    # A member's code or, behind all of them, an instance id's.
    acquired = np.where(step == ACQUIRED, np.arange(len(step)), found.acquired_before)
    of_owner = of_rows(instance[state], acquired)
    owner = np.where(of_owner >= 0, of_owner + len(events), found.owner)
    owner = np.where(found.owner == NULL, NULL, owner)

    is_last = of_rows(assignment, found.of_partition.following()) != assignment
    last = np.flatnonzero(is_last)
    before = Window(found.of_partition.codes[last]).previous()
    owner, owner_before = owner[last], of_rows(owner[last], before)
    moves = last[(owner != NULL) & (owner_before != NULL) & (owner != owner_before)]
    return incarnation[moves], assignment[moves]
