"""The end of an operation: a modern group is evaluated at the end of an operation, never within it.

Records before the history is complete are the survivors of compaction, in any order: a state after each of them never
existed. Their result is evaluated once, at the start of the complete history: earlier ends are unknown, and what is
open there began before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.group.vocabulary import (
    CONVERGED,
    DEAD,
    DELETED,
    DOWNGRADED,
    EMPTIED,
    EMPTY,
    LEFT,
    REBALANCING,
    RECONCILING,
    REGEX_RESOLVED,
    STABLE,
    UNKNOWN,
    UNSEEN,
)
from kip848_records.replay.modern.member import AWAY_EPOCH, GONE, NO_EPOCH, UNRELEASED, MemberStates, held_by, state_of
from kip848_records.replay.modern.member import STABLE as MEMBER_STABLE
from kip848_records.replay.modern.timelines.epochs import Bump, Epochs
from kip848_records.replay.modern.timelines.memberships import Memberships
from kip848_records.replay.modern.timelines.rebalances import Rebalances
from kip848_records.replay.modern.timelines.reconciliation import Reconciliations
from kip848_records.replay.modern.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kip848_records.replay.modern.causes import Trigger
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.state import ModernState
    from kip848_records.replay.modern.targets import Assignment

_ENDS: Final = (STABLE, EMPTY, DEAD)


class OperationEnd:
    """The tables of a modern group at the end of operations.

    `bumps`: the operation's types 3 with a new epoch. `assignments`: those that it wrote. `is_eventful`: it wrote other
    types than 8. `deletes_classic`: it deleted the classic group.
    """

    def __init__(self, group: ModernState) -> None:
        context = group.context
        self.group = group
        self.context = context
        self.waits = Waits(group.units)
        self.lags = Reconciliations(context, self.waits, group.units, group.kind)
        self.member_states = MemberStates(context, group.kind)
        self.epochs = Epochs(context, group.kind)
        self.rebalances = Rebalances(context, group.kind)
        self.ownership = group.new_ownership(group, self.waits, self.rebalances)
        self.memberships = Memberships(context, group.kind)
        self.bumps: list[tuple[int, int | None, int, int, Trigger]] = []
        self.assignments: list[Assignment] = []
        self.is_eventful = self.deletes_classic = False
        # Assignments that have no rows of `rebalance_lag` yet, each with the oldest bump that it answers.
        self._assigned: list[tuple[Assignment, tuple[int | None, int]]] = []
        self._state: str | None = None  # at the end of the last operation; None before the first
        self._is_doubtful = self._is_lost = False  # doubtful: it is unknown whether an epoch is open
        # Members with records in operations that are not evaluated.
        self._survivors: dict[Member, None] = {}

    def end_operation(self, *, is_deleted: bool = False, classic_ids: Collection[str] | None = None) -> str:
        """End an operation where the history is complete, and return the group's state after it.

        `classic_ids`: members of the type 2 that it wrote after the tombstone of the group (a downgrade).
        """
        group, before, is_eventful, ownership = self.group, self._state, self.is_eventful, self.ownership
        touched = group.touched
        has_bump, is_upgrade = bool(self.bumps), self.deletes_classic
        if is_eventful:
            self._bump(is_complete=True)
        changed = self._apply(touched)
        if changed or (is_eventful and group.targets.retargeted):
            ownership.is_upgrade, ownership.is_downgrade = is_upgrade, bool(classic_ids)
            ownership.end_operation(changed)
        self._reconcile(touched, is_deleted=is_deleted)
        state = self._state = DEAD if is_deleted else group.evaluate(is_complete=True)
        phase = state if is_deleted else group.phase or state
        if before == EMPTY and not has_bump and phase in REBALANCING and self.epochs.last is not None:
            self.rebalances.reopen(self.epochs.last)
        if state in {EMPTY, DEAD}:
            ownership.end_all_gaps()
        elif ownership.unwanted and group.group_epoch == group.assignment_epoch:
            ownership.end_unwanted_gaps()
        self._progress(phase, touched)
        if phase in _ENDS:
            self._is_doubtful = False
            outcome = EMPTIED if state == EMPTY else CONVERGED
            if state == DEAD:
                outcome = DOWNGRADED if classic_ids else DELETED
            # Stable by its epochs, but the log does not show whether its topology is ready.
            self._end_epochs(state, UNKNOWN if state == UNKNOWN else outcome, group.member_count)
        if is_eventful:
            self.is_eventful = False
            self.memberships.end_operation(
                group.epoch, is_evaluated=True, is_deleted=is_deleted, classic_ids=classic_ids
            )
        group.anomalies.check(touched, group.group_epoch, group.assignment_epoch, group.targets, ownership.holders)
        group.anomalies.end_operation(is_evaluated=True, is_in_range=True)
        self._forget(touched)
        touched.clear()
        return state

    def end_survivors(self, *, is_in_range: bool = False) -> None:
        """End an operation that is not evaluated; `is_in_range`: only because its group epoch jumps."""
        group, survivors = self.group, self._survivors
        self.rebalances.members_before = None
        self._bump(is_complete=False)
        # Compaction leaves one type 6; earlier ones are known only to have existed.
        del self._assigned[:-1]
        self.memberships.end_operation(group.group_epoch, is_evaluated=False)
        group.anomalies.end_operation(is_evaluated=False, is_in_range=is_in_range)
        self.is_eventful = False
        for member in group.touched:
            member.touched = False
            is_there = member.value is not None or member.current is not None or member.has_target
            if is_there or member.state != GONE or member.held:
                survivors[member] = None
            else:
                group.members.pop(member.member_id, None)
                survivors.pop(member, None)
        group.touched.clear()

    def evaluate_survivors(self, *, is_complete: bool) -> str:
        """Evaluate and return the state of the surviving records. Rows that are not open there have no end."""
        group, survivors, rebalances = self.group, self._survivors, self.rebalances
        self._apply(survivors, left=UNSEEN)
        self.ownership.baseline((member, held_by(member.current)) for member in survivors)
        for member in survivors:
            self.waits.update(member)
        for assignment, first_bump in self._assigned:
            self.lags.assign(assignment, first_bump, group.members.values(), is_evaluated=False)
        self._assigned.clear()
        for member in survivors:
            if member.state == MEMBER_STABLE:
                self.lags.reconcile(member, UNSEEN)
        state = self._state = group.evaluate(is_complete=is_complete)
        phase = group.phase or state
        only_away = phase == RECONCILING and group.converged + group.away == group.member_count
        if phase in {STABLE, EMPTY} or only_away:
            self._end_epochs(state, UNSEEN, None)
        self._is_doubtful = phase not in {STABLE, EMPTY} and rebalances.open is None
        if rebalances.open is not None:
            rebalances.open.is_new = True
        self._progress(phase, survivors)
        self.restart(self.context.operation.at, self.context.operation.last)
        self._forget(survivors)
        survivors.clear()
        return state

    def restart(self, at: int | None, offset: int) -> None:
        """Note that all states have lasted at least since the last record before the history is complete."""
        self.member_states.restart(self.group.members.values(), at, offset)

    def start_over(self) -> None:
        """Note that the epochs go back: the group was deleted and created again, and its tombstone is missing."""
        for member in self.group.members.values():
            self.lags.leave(member, UNSEEN)
        self._assigned.clear()
        self.epochs.end(UNSEEN, self.group.group_epoch)
        self.epochs.restart()
        self.rebalances.end(UNSEEN, None)

    def lose(self) -> None:
        """Note that records of the group were lost: its state is unknown until it is deleted."""
        if not self._is_lost:
            self._is_lost = True
            self.lags.known_until = self.context.operation.elapsed
            self.ownership.lose()
            self.rebalances.lose()
            for member in self.group.members.values():
                self.member_states.end(member, is_seen=False)
        self._state = UNKNOWN

    def delete_survivors(self) -> None:
        """End an incarnation that is deleted while its state is unknown."""
        self.end_survivors()
        for member in (*self.group.members.values(), *self._survivors):
            self.lags.leave(member, UNKNOWN)
            self.member_states.end(member)
        self.ownership.end_unseen()
        self.epochs.end(UNSEEN, self.group.group_epoch)
        self.rebalances.end(UNSEEN, None)

    def spill(self) -> None:
        """Write the open rows to a file, because there are many."""
        queues = (member.open_lags for member in self.group.members.values())
        self.context.queues.spill((*queues, *self.epochs.queues))

    def finish(self, *, is_known: bool) -> None:
        """Write the rows that are open at the end of the log; not `is_known`: records of the group were lost."""
        context, group = self.context, self.group
        if not is_known:
            self.lose()
        members = list(group.members.values())
        elapsed = context.operation.elapsed_at(context.captured_at)
        for member in members:
            self.lags.finish(member, self.ownership, elapsed, is_known=is_known)
            self.member_states.finish(member)
        self.ownership.finish(elapsed)
        self.epochs.finish(group.group_epoch, is_known=is_known)
        count = group.member_count if is_known else None
        self.rebalances.finish(count, elapsed, self.waits, is_known=is_known)
        self.memberships.finish(members, elapsed)

    def _apply(self, members: Iterable[Member], *, left: str | None = LEFT) -> list[tuple[Member, frozenset[int]]]:
        """Apply the records to the members; return members with a changed set of partitions, with that set.

        The order is that of their types 8. `left`: the status of rows that end with a stay.
        """
        group, rebalance = self.group, self.rebalances.open
        changed: list[tuple[Member, frozenset[int]]] = []
        for member in members:
            member.touched = False
            if rebalance is not None and member.counted_in != rebalance.number:
                member.count_in(rebalance.number, rebalance.began)
            if member.has_left:
                self._leave(member, left)
            current = member.current
            state = GONE if member.value is None else state_of(current)
            epoch = NO_EPOCH if current is None else current.member_epoch
            if state != member.state or epoch != member.epoch:
                group.change(member, state, epoch)
            if member.wrote_current:
                held = held_by(current)
                if held != member.held or (epoch == AWAY_EPOCH) != member.was_away:
                    changed.append((member, held))
        if len(changed) > 1:
            changed.sort(key=lambda change: change[0].current_offset)
        return changed

    def _forget(self, touched: Iterable[Member]) -> None:
        """Clear the operation's records, and drop members without any records left."""
        group = self.group
        for member in touched:
            member.wrote_current = False
            if member.value is None and member.current is None and not member.has_target:
                group.members.pop(member.member_id, None)
        self.rebalances.members_before = group.member_count

    def _leave(self, member: Member, status: str | None) -> None:
        """End the open rows of a member's stay."""
        member.has_left = False
        self.lags.leave(member, status)
        if self.rebalances.open is not None:
            self.rebalances.open.leave(member, self.group.context.operation.elapsed)
        self.member_states.end(member)
        self.group.change(member, GONE, member.epoch)
        member.end_stay()
        self.waits.update(member)

    def _bump(self, *, is_complete: bool) -> None:
        """Begin the epochs of the operation, and let its assignments answer them."""
        causes, epochs, rebalances = self.group.causes, self.epochs, self.rebalances
        for epoch, at, offset, members, trigger in self.bumps:
            bump = Bump(epoch, at, offset, *causes.resolve(trigger, is_complete=is_complete), members)
            epochs.bump(bump)
            with_unbumped = trigger.unbumped if bump.cause == REGEX_RESOLVED else bump.triggers
            is_known = is_complete and self._state != UNKNOWN and not self._is_doubtful
            rebalances.bump(bump, with_unbumped, is_known=is_known)
        self.bumps.clear()
        for assignment in self.assignments:
            self._assigned.append((assignment, epochs.assign(assignment, is_complete=is_complete)))
            self.ownership.assign(assignment, self.group.members.values(), is_complete=is_complete)
            self.lags.highest = assignment.epoch
            if rebalances.open is not None:
                rebalances.open.assign(assignment)
        self.assignments.clear()
        causes.end_operation(is_complete=is_complete)
        self.deletes_classic = False

    def _reconcile(self, touched: Iterable[Member], *, is_deleted: bool) -> None:
        """Begin and end the rows of `rebalance_lag`."""
        lags, members = self.lags, self.group.members.values()
        for member in touched:
            if member.awaits or member.state == UNRELEASED:
                self.waits.update(member)
        for assignment, first_bump in self._assigned:
            lags.assign(assignment, first_bump, () if is_deleted else members)
        self._assigned.clear()
        for member in members if is_deleted else touched:
            if is_deleted:
                lags.leave(member, LEFT)
            elif member.wrote_current and member.open_lags:
                lags.end_operation(member)

    def _progress(self, state: str, touched: Iterable[Member]) -> None:
        """Note the condition of members for `rebalance` and `member_state_timeline`."""
        rebalances, members, epoch = self.rebalances, self.group.members.values(), self.group.effective_assignment_epoch
        is_new_epoch = epoch != rebalances.assignment_epoch
        rebalances.assignment_epoch = epoch
        rebalances.end_operation(state, members, touched, self.waits, is_new_epoch=is_new_epoch)
        if self.waits.changed:
            self.waits.end_operation()
        if state == DEAD:
            for member in members:
                self.member_states.end(member)
        else:
            self.member_states.end_operation(members if is_new_epoch else touched, epoch)

    def _end_epochs(self, state: str, outcome: str | None, members: int | None) -> None:
        if self.epochs:
            self.epochs.end(outcome, self.group.group_epoch)
        if self.rebalances.open is not None:
            self.ownership.end_rebalance()
            self.rebalances.end(outcome, members)
        if state == EMPTY:
            self.epochs.first_member = None
            self.group.targets.forget_assignment()
