"""Moments at which nothing is open in a group: what comes next changes nothing that was told of it so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from kip848_records.timeline.operations import MEMBER, MEMBER_TARGET
from kip848_records.timeline.partitions import ACQUIRED
from kip848_records.timeline.snapshots import WITH_STATE
from kip848_records.timeline.states import EMPTY, STABLE
from kip848_records.timeline.windows import NO_VALUE, NONE, NULL, Window, holds_of, ints, of_rows, within

if TYPE_CHECKING:
    import pyarrow as pa

    from kip848_records.timeline.columns import Events
    from kip848_records.timeline.handovers import Ownership
    from kip848_records.timeline.operations import Operations
    from kip848_records.timeline.story import Story
    from kip848_records.timeline.windows import Bools, Ints


def settled_until(story: Story, owned: Ownership, judged: pa.StructArray) -> Ints:
    """Return for each event the offset from which on a group is to be told that is settled with it; NULL if it is not.

    It is Stable; of the partitions that ever had an owner each has one, and only one; each that somebody is to have is
    in one target, and in that since the last assignment, unless a static member took another's place; of its last epoch
    it has an assignment. Then all its epochs have ended, those to come are higher, its members have settled all their
    assignments, and who owns what is in their last types 8. All that is known of a classic group is in its last type 2.
    And none of its events may say something of what came long before it (`tells_of_the_past`).
    """
    state, group_type = pc.struct_field(judged, "state"), pc.struct_field(judged, "group_type")
    is_at_rest = pc.or_(pc.equal(state, STABLE), pc.and_(pc.equal(state, EMPTY), pc.equal(group_type, "classic")))
    assignment_epoch = ints(pc.struct_field(judged, "assignment_epoch"))
    is_astray = _has_stray_partitions(story, owned) | _has_stray_targets(story)
    is_astray |= _has_other_epochs(story.events, story.operations, assignment_epoch)
    is_astray |= tells_of_the_past(story.events, story.operations)
    is_settled = np.asarray(is_at_rest.fill_null(False).to_numpy(zero_copy_only=False)) & ~is_astray  # noqa: FBT003
    behind = story.events.ints("offset") + 1
    return np.where(is_settled, np.where(story.snapshots.is_snapshot, story.snapshots.until, behind), NULL)


def tells_of_the_past(events: Events, operations: Operations) -> Bools:
    """Return for each event whether any event of its group says something of what came before it, long ago as it was.

    Epochs that go back do, as where a deletion was compacted away, and deletions that leave a key behind.
    """
    return _has_stray_epochs(events, operations) | _has_orphans(events, operations)


def _has_stray_partitions(story: Story, owned: Ownership) -> Bools:
    """Tell with which ends of operations a partition that ever had an owner does not have one, or has several."""
    steps, owners, claims = owned.steps, owned.owners, owned.claims
    was_owned = (owners.acquired_before != NONE) | (steps.step == ACQUIRED)
    is_alone = (owners.owner != NULL) & (claims.owners == 1)
    is_astray = (was_owned & ~is_alone) | (claims.wanters > 1)
    operation = story.states.operation[steps.state]
    ends_operation = of_rows(operation, owners.of_partition.following()) != operation
    was_astray = holds_of(is_astray, owners.of_partition.last(ends_operation, before=True))
    changes = np.zeros(len(story.events), np.int64)
    change = np.where(ends_operation, is_astray.astype(np.int64) - was_astray, 0)
    np.add.at(changes, story.states.row[steps.state], change)
    return story.operations.of_incarnation.running_sum(changes) > 0


def _has_stray_targets(story: Story) -> Bools:
    """Tell where a target was written behind the last assignment, but for a static member that took another's place."""
    operations, key_type = story.operations, story.events.ints("key_type")
    is_static = (key_type == MEMBER) & (story.events.codes("instance_id") != NO_VALUE)
    is_target = (key_type == MEMBER_TARGET) & ~operations.of_operation.any(is_static)
    of_incarnation = operations.of_incarnation
    return of_incarnation.last(is_target) > of_incarnation.last(story.numbered.is_assignment)


def _has_other_epochs(events: Events, operations: Operations, assignment_epoch: Ints) -> Bools:
    """Tell where the last bump or the last assignment is of another epoch than this: NULL where there is to be none."""
    of_incarnation = operations.of_incarnation
    bumped = of_incarnation.running_max(events.ints("group_epoch"))
    assigned = of_incarnation.running_max(events.ints("assignment_epoch"))
    return np.asarray((bumped != assignment_epoch) | (assigned != assignment_epoch))


def _has_stray_epochs(events: Events, operations: Operations) -> Bools:
    of_incarnation = operations.of_incarnation
    bumped, assigned = events.ints("group_epoch"), events.ints("assignment_epoch")
    goes_back = (bumped != NULL) & (bumped < of_incarnation.running_max(bumped, before=True))
    stays = (assigned != NULL) & (assigned <= of_incarnation.running_max(assigned, before=True))
    return operations.of_group.any(goes_back | stays)


def _has_orphans(events: Events, operations: Operations) -> Bools:
    """Tell which groups have a key of an earlier incarnation that was not deleted: a snapshot would take it for new."""
    key_type = events.ints("key_type")
    is_last = Window(within(operations.of_member, key_type)).following() == NONE
    is_past = operations.incarnation < operations.incarnation[operations.last_of_group]
    is_live = np.isin(key_type, WITH_STATE) & ~events.bools("is_tombstone")
    return operations.of_group.any(is_last & is_past & is_live)
