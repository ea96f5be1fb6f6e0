"""Who holds the partitions that a member waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kip848_records.timeline.operations import UNRELEASED_PARTITIONS
from kip848_records.timeline.owners import owners
from kip848_records.timeline.partitions import ASKED, Lists, changes
from kip848_records.timeline.settlements import numbers
from kip848_records.timeline.windows import (
    NONE,
    NULL,
    Window,
    arrow,
    differs,
    lists_by_row,
    of_rows,
    spread,
    struct,
    within,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from kip848_records.timeline.settlements import Settlements
    from kip848_records.timeline.story import Story
    from kip848_records.timeline.windows import Ints

AWAITED: Final = "topic_id string, number int, owner string, released_at timestamp"
"""A partition that a member waits for at the end of the log; `owner` is null for nobody."""
_END: Final = 2**63 - 1
"""The operation of questions that are asked at the end of the log: after all others."""


@dataclass(frozen=True)
class OwnersOfAwaited:
    """Who owned each partition that a member in UNRELEASED_PARTITIONS waited for, whenever that counts.

    That is at the end of each operation with a type 8 of its own, for all assignments that it has not settled then; at
    the end of the one that wrote an assignment, for that one; and at the end of the log.

    `state`: that of the member; `operation`; `assignment`: its number, NULL for all that were not settled; `partition`;
    `owner`: a member, NULL for nobody; `released_at`: when the last owner seen released it, NULL while it has one, or
    if none was seen.
    """

    state: Ints
    operation: Ints
    assignment: Ints
    partition: Ints
    owner: Ints
    released_at: Ints


def owners_of_awaited(story: Story) -> OwnersOfAwaited:
    """Ask for the owners of awaited partitions, of all members at once."""
    states, partitions = story.states, story.partitions
    asking = _questions(story)
    # Of groups in which nobody waits nobody asks.
    is_asked = np.isin(states.incarnation, states.incarnation[asking.state])
    with_type_8 = np.flatnonzero((states.current != NONE) & is_asked)
    current = states.current[with_type_8]
    owning = changes(
        Window(states.of_member.codes[with_type_8]),
        [(partitions["assigned"], current), (partitions["pending"], current)],
    )
    changed = with_type_8[owning.state]

    state = np.concatenate([changed, asking.state])
    step = np.concatenate([owning.step, np.full(len(asking.state), ASKED)])
    when = np.concatenate([states.operation[changed], asking.operation])
    partition = np.concatenate([owning.partition, asking.partition])
    assignment = np.concatenate([np.full(len(changed), NULL), asking.assignment])
    in_order = np.lexsort((states.current[state], step, when))
    state, step, when, partition = state[in_order], step[in_order], when[in_order], partition[in_order]
    found = owners(states.incarnation[state], partition, step, states.member_id[state])
    released_at = of_rows(states.timestamp[state], found.released_before)
    asked = np.flatnonzero(step == ASKED)
    owner = found.owner[asked]
    return OwnersOfAwaited(
        state=state[asked],
        operation=when[asked],
        assignment=assignment[in_order[asked]],
        partition=partition[asked],
        owner=owner,
        released_at=np.where(owner == NULL, released_at[asked], NULL),
    )


@dataclass(frozen=True)
class _Questions:
    """Who owns a partition then? As in `OwnersOfAwaited`."""

    state: Ints
    operation: Ints
    assignment: Ints
    partition: Ints


def _questions(story: Story) -> _Questions:
    states, progress, operations = story.states, story.progress, story.operations
    waiting = np.flatnonzero(states.is_member & (states.member_state == UNRELEASED_PARTITIONS))
    is_of_type_8 = operations.operation[states.current[waiting]] == states.operation[waiting]
    at_type_8 = np.flatnonzero(is_of_type_8)
    at_end = np.flatnonzero(progress.until_operation[waiting] == NULL)
    # The operations that wrote an assignment and no type 8 of the member, which waits already.
    above = np.where(is_of_type_8, story.numbered.after[states.row[waiting]], progress.met_above[waiting])
    at_assignment, number = numbers(above, progress.met_up_to[waiting])
    written = story.written.row[story.written.place(states.incarnation[waiting[at_assignment]], number)]

    of_type_8, of_end = np.full(len(at_type_8), NULL), np.full(len(at_end), NULL)
    assignment = np.concatenate([of_type_8, number, of_end])
    operation = np.concatenate(
        [states.operation[waiting[at_type_8]], operations.operation[written], np.full(len(at_end), _END)]
    )
    asking = np.concatenate([at_type_8, at_assignment, at_end])
    question, partition = _awaited(story, waiting).of(asking)
    return _Questions(waiting[asking][question], operation[question], assignment[question], partition)


def _awaited(story: Story, waiting: Ints) -> Lists:
    """Return the partitions that the member of each state waits for: in its target, but not assigned."""
    states, partitions = story.states, story.partitions
    wanting, target = partitions["target"].of(states.target[waiting])
    having, assigned = partitions["assigned"].of(states.current[waiting])
    known, dense = np.unique(np.concatenate([target, assigned]), return_inverse=True)
    keys = np.concatenate([wanting, having]) * len(known) + dense.reshape(-1)
    missing = np.setdiff1d(keys[: len(target)], keys[len(target) :])
    state, partition = np.divmod(missing, max(len(known), 1))
    return Lists(np.searchsorted(state, np.arange(len(waiting) + 1)), known[partition])


def seen_blocking(story: Story, asked: OwnersOfAwaited, met: Settlements) -> pa.ListArray:
    """Tell which members blocked the member of each settlement on its way to the assignment: ids, sorted."""
    events, states = story.events, story.states
    hits = np.flatnonzero(
        (asked.owner != NULL) & (asked.owner != states.member_id[asked.state]) & (asked.operation != _END)
    )
    state, owner, assignment = asked.state[hits], asked.owner[hits], asked.assignment[hits]
    is_own = assignment == NULL
    nth, own = _of_unsettled(story, asked.operation[hits][is_own], state[is_own], owner[is_own])
    state = np.concatenate([state[is_own][nth], state[~is_own]])
    number = np.concatenate([own, assignment[~is_own]])
    owner = np.concatenate([owner[is_own][nth], owner[~is_own]])

    # Both sides by member and assignment.
    member = states.of_member.codes
    count = int(max(met.assignment.max(initial=0), number.max(initial=0))) + 1
    blocked = member[state] * count + number
    wanted = member[met.settled_by] * count + met.assignment
    ranks = events.ranks("member_id")
    in_order = np.lexsort((ranks[owner], blocked))
    blocked, owner = blocked[in_order], owner[in_order]
    is_new = differs(blocked, owner)
    blocked, owner = blocked[is_new], owner[is_new]
    first, end = np.searchsorted(blocked, wanted), np.searchsorted(blocked, wanted, side="right")
    place, nth = spread(end - first)
    ids = events.ids("member_id", owner[first[place] + nth])
    return lists_by_row(ids, place, len(wanted))


def _of_unsettled(story: Story, operation: Ints, state: Ints, owner: Ints) -> tuple[Ints, Ints]:
    """Return the assignments that were open when an owner was seen, each with the place of the hit.

    Of several times that one owner is seen, the last before an assignment is settled speaks for it: so a hit covers
    the assignments met by then that are settled before the same owner is seen again, and each comes up once.
    """
    states = story.states
    of_life = states.of_life.codes[state]
    in_order = np.lexsort((operation, owner, of_life))
    # One hit for all partitions that the owner holds.
    hit = in_order[differs(of_life[in_order], owner[in_order], operation[in_order])]
    of_owner = Window(within(Window(of_life[hit]), owner[hit]))
    settled, met = story.progress.settled_before[state[hit]], story.numbered.after[states.row[state[hit]]]
    following = of_owner.following()
    settled_next = np.where(following == NONE, met, settled[following])
    place, assignment = numbers(settled, np.minimum(met, settled_next))
    return hit[place], assignment


def awaited_at_end(story: Story, asked: OwnersOfAwaited) -> pa.ListArray:
    """Return for each event what its member waits for at the end of the log, and for whom (`AWAITED`)."""
    events, states, partitions = story.events, story.states, story.partitions
    rows = np.flatnonzero(asked.operation == _END)
    rows = rows[np.argsort(states.row[asked.state[rows]], kind="stable")]
    partition = asked.partition[rows]
    columns = {
        "topic_id": partitions.topic_ids(partition),
        "number": partitions.numbers(partition),
        "owner": events.ids("member_id", asked.owner[rows]),
        "released_at": arrow(asked.released_at[rows], events.times),
    }
    return lists_by_row(struct(columns), states.row[asked.state[rows]], len(events))
