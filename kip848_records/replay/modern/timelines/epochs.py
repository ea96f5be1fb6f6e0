"""The epochs of a group: from the bump (type 3) to the operation that ends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.spill import SpillingQueue
from kip848_records.replay.group.vocabulary import CONVERGED, OPEN, SUPERSEDED, UNKNOWN, UNSEEN
from kip848_records.replay.modern.targets import Assignment
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import EPOCH_TIMELINE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.replay.group.context import Context

_write: Final = row_writer(EPOCH_TIMELINE)

_NO_ASSIGNMENT: Final = Assignment(NEVER, None, NEVER, NEVER, None, None, None, NEVER)


class Bump(NamedTuple):
    """A new group epoch: the first type 3 with it.

    `cause_before`: its cause if its record lies before the history is complete. `members`: their number at the record.
    """

    epoch: int
    at: int | None
    offset: int
    cause: str
    cause_before: str
    metadata_changed: bool | None
    triggers: tuple[str, ...]
    members: int | None


class Epochs:
    """The epochs of an incarnation that have not ended.

    Each is a row of its number, its bump, and the assignment that answers it. `last`: the last bump; None if there was
    none. `first_member`: time and offset of the first join since the group was last Empty.
    """

    def __init__(self, context: Context, group_type: str) -> None:
        self._context = context
        self._group_type = group_type
        self._unanswered = SpillingQueue(context.queues)
        self._answered = SpillingQueue(context.queues)
        self._last_epoch: int | None = None
        self._last_assignment: Assignment | None = None
        self.last: Bump | None = None
        self.first_member: tuple[int | None, int] | None = None

    @property
    def queues(self) -> tuple[SpillingQueue, SpillingQueue]:
        """The queues of its rows."""
        return self._unanswered, self._answered

    def __bool__(self) -> bool:
        return bool(self._answered or self._unanswered)

    def restart(self) -> None:
        """Forget earlier epochs, because the numbers start again."""
        self._last_epoch = None
        self._last_assignment = None

    def is_new(self, epoch: int) -> bool:
        """Return whether a type 3 has another epoch than the previous one, and remember it."""
        is_new = epoch != self._last_epoch
        self._last_epoch = epoch
        return is_new

    def bump(self, bump: Bump) -> None:
        """Begin an epoch."""
        self.last = bump
        before = self._last_assignment
        if before is not None and before.epoch >= bump.epoch:
            self._answered.append((bump.epoch, tuple(bump), tuple(before)))
        else:
            self._unanswered.append((bump.epoch, tuple(bump)))

    def assign(self, assignment: Assignment, *, is_complete: bool) -> tuple[int | None, int]:
        """Let an assignment answer the bumps up to its epoch; return timestamp and offset of the oldest of them.

        A group with regular expressions that was Empty gets an assignment at the epoch that emptied it: then its first
        member counts.
        """
        first: tuple[int | None, int] | None = None
        for epoch, bump in self._unanswered.take(assignment.epoch):
            answered = Bump(*bump)
            first = first or (answered.at, answered.offset)
            self._answered.append((epoch, bump, tuple(assignment)))
        self._last_assignment = assignment
        if first is None:
            first = (self.first_member or (assignment.at, assignment.offset)) if is_complete else (None, NEVER)
        return first

    def end(self, outcome: str | None, group_epoch: int | None) -> None:
        """End all epochs with the operation with this status; an epoch below a later one is superseded."""
        for row in self._take():
            self._emit(row, outcome, group_epoch, has_end=outcome != UNKNOWN)

    def finish(self, group_epoch: int | None, *, is_known: bool) -> None:
        """Write the epochs that are open at the end of the log; not `is_known`: records of the group were lost."""
        for row in self._take():
            self._emit(row, OPEN if is_known else UNKNOWN, group_epoch, has_end=False)

    def _take(self) -> Iterator[tuple[Any, ...]]:
        yield from self._answered.take()
        yield from ((*row, None) for row in self._unanswered.take())

    def _emit(self, open_row: tuple[Any, ...], outcome: str | None, group_epoch: int | None, *, has_end: bool) -> None:
        context = self._context
        operation = context.operation
        _, bump, assignment = open_row
        epoch, at, offset, cause, cause_before, metadata_changed, triggers, members = bump
        assigned = _NO_ASSIGNMENT if assignment is None else Assignment(*assignment)
        status = outcome
        if status in {CONVERGED, OPEN} and group_epoch is not None and group_epoch > epoch:
            status = SUPERSEDED
        converged_at = operation.at if outcome == CONVERGED else None
        assign_lag_ms = reconcile_lag_ms = rebalance_lag_ms = None
        if status is not UNSEEN:
            assign_lag_ms = ms_between(at, assigned.at)
            reconcile_lag_ms = ms_between(assigned.at, converged_at)
            rebalance_lag_ms = ms_between(at, converged_at)
        lags = (assign_lag_ms, reconcile_lag_ms, rebalance_lag_ms)
        _write(
            context,
            offset,
            group_epoch=epoch,
            group_type=self._group_type,
            bumped_at=at,
            bump_offset=offset,
            cause=cause,
            metadata_changed=metadata_changed,
            trigger_member_ids=triggers,
            assigned_at=assigned.at,
            target_partitions=assigned.target_partitions,
            target_duplicates=assigned.target_duplicates,
            converged_at=converged_at,
            status=status,
            superseded_by=group_epoch if status == SUPERSEDED else None,
            members=members,
            partitions_moved=assigned.moved,
            assign_lag_ms=assign_lag_ms,
            reconcile_lag_ms=reconcile_lag_ms,
            rebalance_lag_ms=rebalance_lag_ms,
            clock_skew=operation.is_skewed(offset, min((lag for lag in lags if lag is not None), default=None)),
            has_end=has_end,
            extra=(assigned.compared_with, assigned.offset, cause_before),
        )
