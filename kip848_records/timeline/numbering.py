"""The target assignments of an incarnation, numbered from 1 in the order in which they were written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kip848_records.timeline.operations import CURRENT_ASSIGNMENT, TARGET_ASSIGNMENT
from kip848_records.timeline.windows import NULL, SPAN

if TYPE_CHECKING:
    from kip848_records.timeline.columns import Events
    from kip848_records.timeline.operations import Operations
    from kip848_records.timeline.windows import Bools, Ints


@dataclass(frozen=True)
class Assignments:
    """Which assignments were there at each event, by number: so the time in which a member lives is a range of numbers.

    An assignment is a type 6 whose epoch is higher than all before it in its incarnation. One that repeats an epoch
    does not count, and none that goes back is ever written. So numbers, epochs and offsets have one order.

    `is_assignment`; `so_far`: how many there were up to and including this record; `before` and `after` its operation;
    `total`: of the incarnation; `reached` (type 8): how many have an epoch that is not above the member's.
    """

    is_assignment: Bools
    so_far: Ints
    before: Ints
    after: Ints
    total: Ints
    reached: Ints


def numbered_assignments(events: Events, operations: Operations) -> Assignments:
    """Number the assignments among events."""
    of_incarnation, of_operation = operations.of_incarnation, operations.of_operation
    key_type, epoch = events.ints("key_type"), events.ints("assignment_epoch")
    highest_before = of_incarnation.running_max(epoch, before=True)
    is_assignment = (key_type == TARGET_ASSIGNMENT) & (epoch > np.maximum(-1, highest_before))
    so_far = of_incarnation.running_sum(is_assignment)
    return Assignments(
        is_assignment=is_assignment,
        so_far=so_far,
        before=of_operation.min(so_far - is_assignment),
        after=of_operation.max(so_far),
        total=of_incarnation.max(so_far),
        reached=np.where(key_type == CURRENT_ASSIGNMENT, _reached(events, operations, is_assignment), NULL),
    )


def _reached(events: Events, operations: Operations, is_assignment: Bools) -> Ints:
    """Count by bisection: incarnations and the epochs of their assignments have one order."""
    incarnation = operations.of_incarnation.codes * SPAN
    written = incarnation[is_assignment] + events.ints("assignment_epoch")[is_assignment]
    epoch = np.maximum(events.ints("member_epoch"), -1)
    so_far = np.searchsorted(written, incarnation + epoch, side="right")
    return np.asarray(so_far - np.searchsorted(written, incarnation - 1, side="right"), np.int64)
