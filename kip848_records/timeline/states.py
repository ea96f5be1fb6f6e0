"""The state of a group, judged at the end of each of its operations and never inside one.

The rules are those of `ConsumerGroup.maybeUpdateGroupState` in Kafka's group coordinator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kip848_records.timeline.operations import (
    AWAY_EPOCH,
    CURRENT_ASSIGNMENT,
    GROUP_EPOCH,
    GROUP_METADATA,
    LOST_CLASSIC,
    LOST_TO_ANY,
    MEMBER,
    MEMBER_STABLE,
    TARGET_ASSIGNMENT,
)
from kip848_records.timeline.windows import NONE, NULL, Window, arrow, holds_of, of_rows, within

if TYPE_CHECKING:
    from kip848_records.timeline.censoring import History
    from kip848_records.timeline.columns import Events
    from kip848_records.timeline.operations import Operations
    from kip848_records.timeline.windows import Bools, Ints

EMPTY: Final = "Empty"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
STABLE: Final = "Stable"
DEAD: Final = "Dead"
UNKNOWN: Final = "unknown"

JUDGED: Final = (
    "group_type string, group_epoch int, assignment_epoch int, generation int, members int, converged_members int, "
    "members_away int, state string"
)
"""What is known of a group, counted up to and including a record.

`group_type`: ``consumer``, or ``classic`` by a type 2, be it lost. `group_epoch, assignment_epoch`: null for classic
groups, and where the log does not tell. `generation`: of classic groups. `members, converged_members` (consumer groups;
null if records of before Kafka 3.8 have no member states), `members_away` (static members with member epoch -2): null
where records are missing that compaction would have kept. `state`: Empty, Assigning, Reconciling, Stable, Dead
(deleted) or ``unknown``; null inside an operation.
"""


@dataclass(frozen=True)
class _Members:
    """Of each event's member and as of it: whether it is one, is away, has no state, and the epoch it has settled at.

    Only the tombstone of type 5 removes a member, and a type 8 may outlive its member. A member has settled at an
    epoch when it is STABLE there: at that epoch, and owning exactly its target. Of a member whose type 8 has no state,
    as before Kafka 3.8, nobody can tell.
    """

    is_member: Bools
    is_away: Bools
    is_stateless: Bools
    settled_at: Ints


@dataclass(frozen=True)
class _Group:
    """What is true of the whole group as of each event: its members, epochs, and whether the log tells them.

    Before the first types 3 and 6 both epochs have their start value: 0, and 1 from Kafka 4.3. The log does not say
    which, but members that join then are given it, so their highest epoch is the start.
    """

    members: Ints
    members_away: Ints
    members_stateless: Ints
    classic: Ints  # the row that tells what is known of a classic group; NONE if none does
    is_classic: Bools
    group_epoch: Ints
    assignment_epoch: Ints
    is_unassigned: Bools
    is_known: Bools


def judge(events: Events, operations: Operations, history: History) -> pa.StructArray:
    """Tell what is known of a group (`JUDGED`) at each new group epoch, new assignment and end of an operation.

    Of all other events nothing is told: null.
    """
    is_asked = operations.ends_operation | np.isin(events.ints("key_type"), (GROUP_EPOCH, TARGET_ASSIGNMENT))
    members = _members(events, operations)
    group = _group(events, operations, history, members)
    converged = _converged_members(operations, members, group, is_asked)
    is_counted = group.is_classic | ~history.is_headless
    is_consumer = ~group.is_classic
    of_classic = np.where(group.is_classic, group.classic, NONE)
    told_members = np.where(is_counted, group.members, NULL)
    tells_converged = is_counted & is_consumer & (group.members_stateless == 0)
    columns = {
        "group_type": pa.array(["consumer", "classic"]).take(pa.array(group.is_classic.astype(np.int64))),
        "group_epoch": _int(np.where(is_consumer, group.group_epoch, NULL)),
        "assignment_epoch": _int(np.where(is_consumer, group.assignment_epoch, NULL)),
        "generation": _int(of_rows(events.ints("generation"), of_classic)),
        "members": _int(
            np.where(group.is_classic, of_rows(events.ints("classic_members"), group.classic), told_members)
        ),
        "converged_members": _int(np.where(tells_converged, converged, NULL)),
        "members_away": _int(np.where(is_counted, group.members_away, NULL)),
        "state": _state(events, operations, history, group, converged),
    }
    return pa.StructArray.from_arrays([*columns.values()], [*columns], mask=pa.array(~is_asked))


def _members(events: Events, operations: Operations) -> _Members:
    key_type, epoch = events.ints("key_type"), events.ints("member_epoch")
    is_member = holds_of(~events.bools("is_tombstone"), operations.of_member.last(key_type == MEMBER))
    current = operations.of_member.last(key_type == CURRENT_ASSIGNMENT)
    member_epoch, state = of_rows(epoch, current), of_rows(events.ints("member_state"), current)
    return _Members(
        is_member=is_member,
        is_away=is_member & (member_epoch == AWAY_EPOCH),
        is_stateless=is_member & (state == NULL) & (member_epoch != NULL),
        settled_at=np.where(is_member & (state == MEMBER_STABLE), member_epoch, NULL),
    )


def _group(events: Events, operations: Operations, history: History, members: _Members) -> _Group:
    so_far, key_type, epoch = operations.of_incarnation, events.ints("key_type"), events.ints("group_epoch")
    before = operations.of_member.previous()

    def count(flag: Bools) -> Ints:
        return so_far.running_sum(flag.astype(np.int64) - holds_of(flag, before))

    is_live = (key_type == GROUP_METADATA) & ~events.bools("is_tombstone")
    classic = so_far.last(np.isin(key_type, (GROUP_METADATA, GROUP_EPOCH)))
    # A type 2 that was lost may have been the tombstone of an upgrade; but then records of a consumer group follow.
    of_known_type = so_far.last(key_type != LOST_TO_ANY)
    bumped = of_rows(epoch, so_far.last(epoch != NULL))
    assigned = of_rows(events.ints("assignment_epoch"), so_far.last(key_type == TARGET_ASSIGNMENT))
    present = events.ints("member_epoch")
    start = so_far.running_max(np.where(present >= 0, present, NULL))
    start = np.where(history.is_complete & (assigned == NULL), start, NULL)
    is_bumped, is_assigned = bumped != NULL, assigned != NULL
    return _Group(
        members=count(members.is_member),
        members_away=count(members.is_away),
        members_stateless=count(members.is_stateless),
        classic=classic,
        is_classic=holds_of(is_live, classic) | holds_of(key_type == LOST_CLASSIC, of_known_type),
        group_epoch=np.where(is_bumped, bumped, start),
        assignment_epoch=np.where(is_assigned, assigned, start),
        is_unassigned=is_bumped & (~is_assigned | (bumped > assigned)),
        is_known=np.where(is_assigned, is_bumped, history.is_complete) & ~history.is_headless,
    )


def _converged_members(operations: Operations, members: _Members, group: _Group, is_asked: Bools) -> Ints:
    """Count the members that have settled at the group's assignment epoch, for each event that asks.

    A member that settles at an epoch adds one to the epoch's count, and takes it away when it moves on; an event that
    asks adds nothing, and comes after what the event itself changed. In the order of events within an epoch the running
    sum answers each, and nobody pairs members with epochs.
    """
    settled_at, was_settled_at = members.settled_at, of_rows(members.settled_at, operations.of_member.previous())
    moves = settled_at != was_settled_at
    leaves = np.flatnonzero(moves & (was_settled_at != NULL))
    arrives = np.flatnonzero(moves & (settled_at != NULL))
    asks = np.flatnonzero(is_asked)
    rows = np.concatenate([leaves, arrives, asks])
    epochs = np.concatenate([was_settled_at[leaves], settled_at[arrives], group.assignment_epoch[asks]])
    changes = np.repeat([-1, 1, 0], [len(leaves), len(arrives), len(asks)])
    in_order = np.argsort(rows, kind="stable")
    codes = operations.of_incarnation.codes[rows[in_order]]
    of_epoch = Window(within(Window(codes, are_together=True), epochs[in_order]))
    counted = of_epoch.running_sum(changes[in_order])
    is_answer = changes[in_order] == 0
    converged = np.zeros(len(is_asked), np.int64)
    converged[rows[in_order][is_answer]] = counted[is_answer]
    return converged


def _state(events: Events, operations: Operations, history: History, group: _Group, converged: Ints) -> pa.Array:
    """Take the first that fits. A type 2 or 3 is tombstoned last of all when its group is deleted.

    All that is known of a classic group is in its last type 2, so one that was lost may be told by the next.
    """
    key_type, is_classic = events.ints("key_type"), group.is_classic
    classic_is_unscathed = holds_of(history.is_unscathed, group.classic)
    classic_is_empty = of_rows(events.ints("classic_members"), group.classic) == 0
    rules = [
        (DEAD, np.isin(key_type, (GROUP_METADATA, GROUP_EPOCH)) & events.bools("is_tombstone")),
        (UNKNOWN, is_classic & history.is_headless & ~classic_is_unscathed),
        (EMPTY, is_classic & classic_is_empty),
        (STABLE, is_classic),
        (UNKNOWN, ~group.is_known),
        (EMPTY, group.members == 0),
        (ASSIGNING, group.is_unassigned),
        (UNKNOWN, group.members_stateless > 0),
        (RECONCILING, converged < group.members),
        (STABLE, np.ones(len(events), bool)),
    ]
    first = np.select([fits for _, fits in rules], range(len(rules)))
    return pa.array([state for state, _ in rules]).take(pa.array(first, mask=~operations.ends_operation))


def _int(values: Ints) -> pa.Array:
    return arrow(values, pa.int32())
