"""Groups in which nothing is open: what comes next changes nothing that was told of them so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc

from kip848_records.timeline.operations import (
    CURRENT_ASSIGNMENT,
    GROUP_METADATA,
    MEMBER,
    MEMBER_TARGET,
    TARGET_ASSIGNMENT,
)
from kip848_records.timeline.partitions import ACQUIRED
from kip848_records.timeline.states import EMPTY, STABLE
from kip848_records.timeline.windows import NO_VALUE, NONE, NULL, Window, within

if TYPE_CHECKING:
    import pyarrow as pa

    from kip848_records.timeline.handovers import Ownership
    from kip848_records.timeline.story import Story
    from kip848_records.timeline.windows import Bools

_WITH_STATE: Final = (GROUP_METADATA, MEMBER, TARGET_ASSIGNMENT, MEMBER_TARGET, CURRENT_ASSIGNMENT)


def settled_groups(story: Story, owned: Ownership, judged: pa.StructArray) -> Bools:
    """Return for each event whether its group is settled with it: true at most for the last events of operations.

    It is Stable; of the partitions that ever had an owner each has one, and only one; each that somebody is to have is
    in one target, and in that since the last assignment, unless a static member took another's place; its epochs have
    never gone back, as where a deletion was compacted away; and its deletions left no key behind. Then all its epochs
    have ended, its members have settled all their assignments, and who owns what is in their last types 8. All that is
    known of a classic group is in its last type 2. (What is asked of a whole incarnation is asked as of its end: of
    interest is only the answer for a group's last event.)
    """
    state, group_type = pc.struct_field(judged, "state"), pc.struct_field(judged, "group_type")
    is_at_rest = pc.or_(pc.equal(state, STABLE), pc.and_(pc.equal(state, EMPTY), pc.equal(group_type, "classic")))
    is_astray = _has_stray_partitions(story, owned) | _has_stray_targets(story) | _has_stray_epochs(story)
    is_astray |= _has_orphans(story)
    return np.asarray(is_at_rest.fill_null(False).to_numpy(zero_copy_only=False)) & ~is_astray  # noqa: FBT003


def _has_stray_partitions(story: Story, owned: Ownership) -> Bools:
    steps, owners, claims = owned.steps, owned.owners, owned.claims
    was_owned = (owners.acquired_before != NONE) | (steps.step == ACQUIRED)
    is_last = owners.of_partition.following() == NONE
    is_alone = (owners.owner != NULL) & (claims.owners == 1)
    is_astray = is_last & ((was_owned & ~is_alone) | (claims.wanters > 1))
    incarnations = story.states.incarnation[steps.state[is_astray]]
    return np.isin(story.operations.of_incarnation.codes, incarnations)


def _has_stray_targets(story: Story) -> Bools:
    """Tell where a target was written behind the last assignment, but for a static member that took another's place."""
    operations, numbered, key_type = story.operations, story.numbered, story.events.ints("key_type")
    is_stray = (key_type == MEMBER_TARGET) & (numbered.so_far == numbered.total)
    is_static = (key_type == MEMBER) & (story.events.codes("instance_id") != NO_VALUE)
    return operations.of_incarnation.any(is_stray & ~operations.of_operation.any(is_static))


def _has_stray_epochs(story: Story) -> Bools:
    of_incarnation = story.operations.of_incarnation
    bumped, assigned = story.events.ints("group_epoch"), story.events.ints("assignment_epoch")
    goes_back = (bumped != NULL) & (bumped < of_incarnation.running_max(bumped, before=True))
    stays = (assigned != NULL) & (assigned <= of_incarnation.running_max(assigned, before=True))
    return of_incarnation.any(goes_back | stays)


def _has_orphans(story: Story) -> Bools:
    """Tell which groups have a key of an earlier incarnation that was not deleted: a snapshot would take it for new."""
    operations, key_type = story.operations, story.events.ints("key_type")
    is_last = Window(within(operations.of_member, key_type)).following() == NONE
    is_past = operations.incarnation < operations.incarnation[operations.last_of_group]
    is_live = np.isin(key_type, _WITH_STATE) & ~story.events.bools("is_tombstone")
    return operations.of_group.any(is_last & is_past & is_live)
