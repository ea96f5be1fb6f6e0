"""Rebalances: the epochs of a group that end together, and the members that blocked them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import KINDS
from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.vocabulary import (
    ASSIGNING,
    DELETED,
    DOWNGRADED,
    EMPTIED,
    NOT_READY,
    OPEN,
    RECONCILING,
    UNKNOWN,
    UNSEEN,
)
from kip848_records.replay.modern.member import UNRELEASED
from kip848_records.replay.modern.timelines.open_rebalance import OpenRebalance
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import REBALANCE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.timelines.epochs import Bump
    from kip848_records.replay.modern.waits import Waits

_write: Final = row_writer(REBALANCE, "rounds", "delay_ms", "expected_at", "revoked", "partitions_stopped")

_CAN_BE_LATE: Final = (RECONCILING, NOT_READY, UNKNOWN)
_BEFORE_END: Final = (EMPTIED, DELETED, DOWNGRADED)


class Rebalances:
    """The rebalances of an incarnation. `open`: the one that has not ended.

    `members_before`: members before the operation, None if unknown. `assignment_epoch`: at the
    operation's end.
    """

    def __init__(self, context: Context, group_type: str) -> None:
        self._context = context
        self._group_type = group_type
        self.open: OpenRebalance | None = None
        self._number = 0
        self.members_before: int | None = None
        self.assignment_epoch: int | None = None

    def bump(self, bump: Bump, triggers: Iterable[str], *, is_known: bool) -> None:
        """Add an epoch; the first one begins a rebalance. `is_known`: the previous state was."""
        rebalance = self.open
        if rebalance is None:
            rebalance = self._begin(bump.at, bump.offset, is_known=is_known)
        rebalance.add(bump, triggers)

    def reopen(self, last: Bump) -> None:
        """Begin a rebalance with the last epoch again: the group leaves Empty without a new epoch."""
        operation = self._context.operation
        rebalance = self._begin(operation.at, operation.first, is_known=True)
        rebalance.add(last, last.triggers)

    def jump(self) -> None:
        """Note that records before this operation are missing."""
        rebalance = self.open
        if rebalance is not None:
            rebalance.causes, rebalance.triggers = dict(rebalance.causes_before), dict(rebalance.triggers_before)

    def lose(self) -> None:
        """Note that records were lost: from now on it is unknown which members are late."""
        rebalance = self.open
        if rebalance is not None:
            elapsed = self._context.operation.elapsed
            rebalance.run(elapsed)
            for times in rebalance.blockers.values():
                times.stop(elapsed)
            rebalance.late_members = 0
            rebalance.known_until = self._context.operation.at

    def add_unowned(self, since: int, offset: int | None = None, until: int | None = None) -> None:
        """Add the time in which a wanted partition had no owner, within the rebalance.

        `offset`: of the record that released it.
        """
        rebalance = self.open
        if rebalance is None:
            return
        end = self._context.operation.elapsed if until is None else until
        unowned_ms = max(0, end - max(since, rebalance.began))
        rebalance.unowned_ms += unowned_ms
        if offset is not None and unowned_ms:
            rebalance.rests_on = min(rebalance.rests_on, offset)
        rebalance.longest_unowned_ms = max(rebalance.longest_unowned_ms, unowned_ms)

    def end_operation(
        self, state: str, members: Collection[Member], touched: Iterable[Member], waits: Waits, *, is_new_epoch: bool
    ) -> None:
        """Note who is late and who waits for whom: all members if the group changed, else those written.

        `state`: of the group; Assigning while an assignment is missing, also if it is not ready. `is_new_epoch`: the
        assignment epoch changed.
        """
        rebalance = self.open
        if rebalance is None:
            return
        elapsed, epoch, is_new = self._context.operation.elapsed, self.assignment_epoch, rebalance.is_new
        could_be_late, can_be_late = rebalance.can_be_late, state in _CAN_BE_LATE
        rebalance.is_new, rebalance.can_be_late = False, can_be_late
        is_all = is_new or is_new_epoch or can_be_late != could_be_late
        for member in rebalance.concerned(members if is_new or can_be_late else (), epoch) if is_all else touched:
            # While no member can be late, a member that blocks another may change its state.
            if can_be_late or member.blocking or member.member_id in rebalance.blockers:
                rebalance.mark(member, epoch, elapsed)
        for member in waits.changed:
            if is_all or not member.wrote_current:
                rebalance.mark(member, epoch, elapsed)
        for member in members if is_new else touched:
            if member.state == UNRELEASED and member.waited_in != rebalance.number:
                member.waited_in = rebalance.number
                rebalance.waited.add(member.member_id)
        if waits.waiters:
            for holder, waiter in waits.pairs() if is_new else waits.new_pairs():
                rebalance.times(holder, epoch).hold_up(waiter)
        is_assigning = state == ASSIGNING
        is_late = not is_assigning and rebalance.late_members > 0
        rebalance.run(elapsed, is_assigning=is_assigning, is_late=is_late, is_ready=state != NOT_READY)

    def end(self, outcome: str | None, members: int | None) -> None:
        """End the rebalance with the operation."""
        operation = self._context.operation
        self._end(outcome, members, operation.elapsed, operation.at, has_end=outcome != UNKNOWN)

    def finish(self, members: int | None, elapsed: int | None, waits: Waits, *, is_known: bool) -> None:
        """Write the rebalance that is open at the end of the log; `elapsed`: when it was captured.

        Not `is_known`: records of the group were lost, so the log does not show whether it ended, or who blocks it now.
        """
        if self.open is None:
            return
        outcome, ended_at = UNKNOWN, self.open.known_until
        if is_known:
            outcome, ended_at = OPEN, self._context.captured_at
            self.open.observe(waits.pairs(), self.assignment_epoch)
        until = self._context.operation.elapsed if elapsed is None else elapsed
        self._end(outcome, members, until, ended_at, has_end=False)

    def _begin(self, at: int | None, offset: int, *, is_known: bool) -> OpenRebalance:
        self._number += 1
        operation = self._context.operation
        self.open = OpenRebalance(
            *(self._number, operation.elapsed, at, offset, self.members_before),
            leader_epoch=operation.leader_epoch,
            is_known=is_known,
            rests_on=offset,
        )
        return self.open

    def _end(
        self, outcome: str | None, members: int | None, elapsed: int, ended_at: int | None, *, has_end: bool
    ) -> None:
        rebalance = self.open
        if rebalance is None:
            return
        self.open = None
        rebalance.run(elapsed)
        for times in rebalance.blockers.values():
            member = times.member
            if member is not None:
                times.identify(member)
                times.end(member, elapsed)
        self._emit(rebalance, outcome, members, ended_at, has_end=has_end)

    def _emit(
        self, rebalance: OpenRebalance, outcome: str | None, members: int | None, ended_at: int | None, *, has_end: bool
    ) -> None:
        context = self._context
        operation = context.operation
        before = rebalance.members_before
        at_end = self.members_before if outcome in _BEFORE_END else members
        duration_ms = ended_offset = moved = None
        unowned_ms = longest_unowned_ms = assigning_ms = late_ms = not_ready_ms = None
        if outcome is UNSEEN:
            ended_at = None
        else:
            duration_ms = ms_between(rebalance.began_at, ended_at)
            moved = rebalance.moved if rebalance.assignments or KINDS[self._group_type].shares_units else 0
            unowned_ms, longest_unowned_ms = rebalance.unowned_ms, rebalance.longest_unowned_ms
            assigning_ms, late_ms = rebalance.assigning.ms, rebalance.late.ms
            not_ready_ms = rebalance.not_ready.ms
            ended_at, ended_offset = (ended_at, operation.last) if has_end else (None, None)
        blockers, blockers_count = rebalance.worst()
        before_causes = tuple(rebalance.causes_before), tuple(rebalance.triggers_before)
        _write(
            context,
            rebalance.rests_on if rebalance.is_known else NEVER,
            group_type=self._group_type,
            began_offset=rebalance.began_offset,
            began_at=rebalance.began_at,
            first_epoch=rebalance.first_epoch,
            last_epoch=rebalance.last_epoch,
            epochs=rebalance.epochs,
            causes=tuple(rebalance.causes),
            trigger_member_ids=tuple(rebalance.triggers),
            ended_at=ended_at,
            ended_offset=ended_offset,
            outcome=outcome,
            duration_ms=duration_ms,
            started_empty=None if before is None else before == 0,
            members_before=before,
            members=at_end,
            members_waited=rebalance.waited.count,
            partitions_moved=moved,
            unowned_ms=unowned_ms,
            longest_unowned_ms=longest_unowned_ms,
            assigning_ms=assigning_ms,
            late_ms=late_ms,
            not_ready_ms=not_ready_ms,
            blockers=blockers,
            blockers_count=blockers_count,
            clock_skew=operation.is_skewed(rebalance.began_offset, duration_ms),
            leader_changed=operation.is_led_by_another(rebalance.leader_epoch),
            duration_is_minimum=False,
            is_measured=False,
            has_end=has_end,
            extra=(rebalance.compared_from, rebalance.compared_to, *before_causes),
        )
