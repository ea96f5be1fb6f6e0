"""When each target assignment was written, and which bump it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kip848_records.timeline.windows import NONE, NULL, SPAN, Window, of_rows

if TYPE_CHECKING:
    from kip848_records.timeline.columns import Events
    from kip848_records.timeline.numbering import Assignments
    from kip848_records.timeline.operations import Operations
    from kip848_records.timeline.windows import Ints


@dataclass(frozen=True)
class Written:
    """The assignments in events, in their order.

    `row`: the event that wrote it. `next_operation`: of the next assignment of its incarnation, NULL if there is none.
    `bump`: the event of the bump that it answers, NONE if that was not seen. One assignment may answer several: those
    above the previous assignment's epoch. The oldest counts.
    """

    row: Ints
    next_operation: Ints
    bump: Ints
    keys: Ints

    def place(self, incarnation: Ints, number: Ints) -> Ints:
        """Return the places of the assignments with these numbers in these incarnations; NONE where there is none."""
        keys = incarnation * SPAN + number
        place = np.searchsorted(self.keys, keys)
        return np.where(np.append(self.keys, NONE)[place] == keys, place, NONE)


def written_assignments(events: Events, operations: Operations, numbered: Assignments) -> Written:
    """Return the assignments in events."""
    row = np.flatnonzero(numbered.is_assignment)
    incarnation = operations.of_incarnation.codes
    following = Window(incarnation[row], are_together=True).following()
    return Written(
        row=row,
        next_operation=of_rows(operations.operation[row], following),
        bump=_oldest_bumps(events, incarnation, row),
        keys=incarnation[row] * SPAN + numbered.so_far[row],
    )


def _oldest_bumps(events: Events, incarnation: Ints, row: Ints) -> Ints:
    """Find the answer to each bump by bisection: the first assignment with its epoch or a higher one."""
    epoch = events.ints("group_epoch")
    bumps = np.flatnonzero(epoch != NULL)
    by_epoch = incarnation[row] * SPAN + events.ints("assignment_epoch")[row]
    answer = np.searchsorted(by_epoch, incarnation[bumps] * SPAN + epoch[bumps])
    is_answered = np.append(incarnation[row], NONE)[answer] == incarnation[bumps]
    answered, first = np.unique(answer[is_answered], return_index=True)
    oldest = np.full(len(row), NONE)
    oldest[answered] = bumps[is_answered][first]
    return np.where(oldest < row, oldest, NONE)
