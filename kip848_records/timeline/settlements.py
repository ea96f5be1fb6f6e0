"""Which assignments each member met, and which of its records settled them.

A member that lives through a stretch of the log meets the assignments of a range of numbers. When it gets STABLE at an
epoch, all that it has met up to the last assignment with that epoch or a lower one are settled, and stay so. So each
(member, assignment) comes up once, and nobody pairs members with epochs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kip848_records.timeline.operations import (
    MEMBER_STABLE,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
)
from kip848_records.timeline.windows import NONE, NULL, ms_between, of_rows, spread

if TYPE_CHECKING:
    from kip848_records.timeline.members import States
    from kip848_records.timeline.numbering import Assignments
    from kip848_records.timeline.story import Story
    from kip848_records.timeline.windows import Bools, Ints


@dataclass(frozen=True)
class Progress:
    """How far each state of a member takes it.

    `until`, `until_operation`, `until_timestamp`: the event that ends the state, the member's next one or its group's
    deletion, or nothing (NONE, NULL); `ends_life`. The member met the assignments above `met_above` up to `met_up_to`;
    all up to `settled_before` were settled before the state, and up to `settled` with it. `revoked_ms`, `waited_ms`:
    how long it had been in UNREVOKED_PARTITIONS and UNRELEASED_PARTITIONS before.
    """

    until: Ints
    until_operation: Ints
    until_timestamp: Ints
    ends_life: Bools
    met_above: Ints
    met_up_to: Ints
    settled_before: Ints
    settled: Ints
    revoked_ms: Ints
    waited_ms: Ints


@dataclass(frozen=True)
class Settlements:
    """The assignments that members met: in which state, and what settled each. In the order of that event.

    `assignment`: its number; `met` and `settled_by`: places of states, the latter the member's last if nothing settled
    it; `is_reconciled`.
    """

    assignment: Ints
    met: Ints
    settled_by: Ints
    is_reconciled: Bools


def progress_of(states: States, numbered: Assignments, timestamp: Ints, operation: Ints) -> Progress:
    """Tell how far the states take their members; timestamps and operations are those of all events."""
    following = states.of_member.following()
    goes_on, is_deleted = following != NONE, states.deletion != NONE
    met_above = numbered.before[states.row]
    met_at_end = np.where(is_deleted, numbered.before[states.deletion], numbered.total[states.row])
    met_up_to = np.where(goes_on, met_above[following], met_at_end)
    until = np.where(goes_on, states.row[following], states.deletion)
    until_timestamp = of_rows(timestamp, until)
    is_same_life = states.is_member[following] & (states.life[following] == states.life)

    of_life = states.of_life
    settles = states.is_member & (states.member_state == MEMBER_STABLE)
    reached = np.where(settles, np.minimum(of_rows(numbered.reached, states.current), met_up_to), NULL)
    first_met = of_rows(met_above, of_life.first(states.is_member))
    lasted = ms_between(states.timestamp, until_timestamp)

    def spent_in(state: int) -> Ints:
        is_spent = (states.member_state == state) & (lasted != NULL)
        return states.of_member.running_sum(np.where(is_spent, lasted, 0), before=True)

    return Progress(
        until=until,
        until_operation=of_rows(operation, until),
        until_timestamp=until_timestamp,
        ends_life=~(goes_on & is_same_life),
        met_above=met_above,
        met_up_to=met_up_to,
        settled_before=np.maximum(of_life.running_max(reached, before=True), first_met),
        settled=np.maximum(of_life.running_max(reached), first_met),
        revoked_ms=spent_in(UNREVOKED_PARTITIONS),
        waited_ms=spent_in(UNRELEASED_PARTITIONS),
    )


def settlements(story: Story) -> Settlements:
    """Tell of each assignment that a member met in which state it met it and what settled it.

    But not of one that is in a snapshot: that all its members have settled.
    """
    states, progress, written = story.states, story.progress, story.written
    is_member = states.is_member
    met, met_numbers = numbers(progress.met_above, np.where(is_member, progress.met_up_to, NULL))
    reconciled, reconciled_numbers = numbers(progress.settled_before, np.where(is_member, progress.settled, NULL))
    is_last = is_member & progress.ends_life
    left, left_numbers = numbers(progress.settled, np.where(is_last, progress.met_up_to, NULL))
    # Both sides in the order of lives and numbers: what a life meets is settled in it, at the latest by its end.
    of_life = states.of_life.codes
    settled_by, assignment = np.concatenate([reconciled, left]), np.concatenate([reconciled_numbers, left_numbers])
    in_order = np.lexsort((assignment, of_life[settled_by]))
    met = met[np.lexsort((met_numbers, of_life[met]))]
    place = written.place(states.incarnation[settled_by[in_order]], assignment[in_order])
    new = np.flatnonzero(~story.snapshots.is_snapshot[written.row[place]])
    by_row = new[np.argsort(states.row[settled_by[in_order[new]]], kind="stable")]
    in_order = in_order[by_row]
    return Settlements(
        assignment=assignment[in_order],
        met=met[by_row],
        settled_by=settled_by[in_order],
        is_reconciled=in_order < len(reconciled),
    )


def numbers(above: Ints, up_to: Ints) -> tuple[Ints, Ints]:
    """Return each number above the one up to the other of the same place, and its place; none where one is NULL."""
    is_any = (above != NULL) & (up_to > above)
    counts = np.where(is_any, up_to, 0) - np.where(is_any, above, 0)
    place, nth = spread(counts)
    return place, above[place] + 1 + nth
