"""What each member was at the end of every operation that wrote of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kip848_records.timeline.operations import AWAY, AWAY_EPOCH, CURRENT_ASSIGNMENT, MEMBER, MEMBER_TARGET
from kip848_records.timeline.windows import NONE, NULL, Window, holds_of, of_rows, within

if TYPE_CHECKING:
    from kip848_records.timeline.columns import Events
    from kip848_records.timeline.operations import Operations
    from kip848_records.timeline.windows import Bools, Ints


@dataclass(frozen=True)
class States:
    """What each member was, owned and was meant to own at the end of an operation that wrote a type 5, 7 or 8 of it.

    In the order of operations. `row`: the last such event of the operation. `is_member`: the member's type 5 is there,
    and its group; `life`: how often its type 5 had been tombstoned. `identity`, `current`, `target`: the events that
    tell of it as of then: its last type 5 that is no tombstone, its last types 8 and 7; NONE if there is none.
    `member_state`: that of its type 8, or AWAY; NULL if there is none. `deletion`: the event that deleted its
    incarnation; NONE if none did. `of_member`: the states of one member; `of_life`: those of one of its lives.
    """

    row: Ints
    operation: Ints
    timestamp: Ints
    incarnation: Ints
    member_id: Ints
    is_member: Bools
    life: Ints
    identity: Ints
    current: Ints
    target: Ints
    member_state: Ints
    deletion: Ints
    of_member: Window
    of_life: Window

    def __len__(self) -> int:
        return len(self.row)


def member_states(events: Events, operations: Operations) -> States:
    """Tell the states of the members in events."""
    key_type, is_live = events.ints("key_type"), ~events.bools("is_tombstone")
    row = _last_of_operations(events, operations)
    is_of_member = key_type == MEMBER
    deletion = operations.of_incarnation.max(np.where(operations.deletes, np.arange(len(events)), NONE))[row]
    is_deleted = operations.operation[row] == of_rows(operations.operation, deletion)
    current = operations.of_member.last(key_type == CURRENT_ASSIGNMENT)[row]
    life = operations.of_member.running_sum(is_of_member & ~is_live)[row]
    of_member = Window(operations.of_member.codes[row])
    return States(
        row=row,
        operation=operations.operation[row],
        timestamp=events.ints("timestamp")[row],
        incarnation=operations.of_incarnation.codes[row],
        member_id=events.codes("member_id")[row],
        is_member=holds_of(is_live, operations.of_member.last(is_of_member)[row]) & ~is_deleted,
        life=life,
        identity=operations.of_member.last(is_of_member & is_live)[row],
        current=current,
        target=operations.of_member.last(key_type == MEMBER_TARGET)[row],
        member_state=_state(events, current),
        deletion=deletion,
        of_member=of_member,
        of_life=Window(within(of_member, life)),
    )


def _state(events: Events, current: Ints) -> Ints:
    """Return the states that types 8 tell of.

    A static member that goes away has nothing pending of it any more, nor does it wait for anything; but its type 8 has
    the state that it was in. Of one without a state nobody can tell whether it had reconciled before.
    """
    state = of_rows(events.ints("member_state"), current)
    is_away = of_rows(events.ints("member_epoch"), current) == AWAY_EPOCH
    return np.where(is_away & (state != NULL), AWAY, state)


def _last_of_operations(events: Events, operations: Operations) -> Ints:
    """Return the last events with types 5, 7 and 8 of each member in each operation."""
    rows = np.flatnonzero(np.isin(events.ints("key_type"), (MEMBER, MEMBER_TARGET, CURRENT_ASSIGNMENT)))
    following = Window(operations.of_member.codes[rows]).following()
    return np.asarray(rows[of_rows(operations.operation[rows], following) != operations.operation[rows]])
