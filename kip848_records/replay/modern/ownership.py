"""The owner of each topic partition, and the handovers from one owner to the next.

An owner is a member whose type 8 lists the partition as assigned or pending revocation at the end of an operation. A
static member that is away (member epoch -2) still holds its partitions, but owns none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.modern.handover import Gap, Handover
from kip848_records.replay.modern.member import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.targets import Assignment, Targets
    from kip848_records.replay.modern.timelines.rebalances import Rebalances
    from kip848_records.replay.modern.waits import Waits


class Ownership:
    """The owners of an incarnation's partitions.

    `holders`: the members whose type 8 lists a partition, the newest last; more than one only if two members claim it
    at once. `unwanted`: partitions without an owner that are in no target any more. `free_since`: the offset from which
    on an acquisition counts as a first one. `_freed`: when partitions without a holder became free. `_unmet`: since
    when a partition that never had an owner is in a target.
    """

    def __init__(self, context: Context, targets: Targets, waits: Waits, rebalances: Rebalances) -> None:
        self._context = context
        self._targets = targets
        self._waits = waits
        self._rebalances = rebalances
        # The group becomes Empty, or its incarnation ends: what its members give up is no rebalance.
        self._is_ending = False
        self.holders = waits.holders
        self._gaps: dict[int, Gap] = {}
        self._freed: dict[int, int | None] = {}
        self.unwanted: set[int] = set()
        self._unmet: dict[int, int] = {}
        self._released: dict[int, Member] = {}
        self.free_since = context.incarnation_offset
        # The operation converted the group from or to a classic one: members of that protocol keep their partitions.
        self.is_upgrade = self.is_downgrade = False
        self.is_lost = False

    def released_at(self, _: Member, partition: int) -> int | None:
        """Return when a partition without a holder became free for a member; None if that was not seen."""
        return self._freed.get(partition)

    def assign(self, assignment: Assignment, members: Iterable[Member], *, is_complete: bool) -> None:
        """Note an assignment, before the members' changes in its operation. Partitions need nothing of it."""

    def end_rebalance(self) -> None:
        """Count the gaps that are open when a rebalance ends up to there; they go on after it.

        From Kafka 4.3 on, the coordinator limits what a member gets to its present subscription: a converged member may
        own less than its target. A group without members has no gaps.
        """
        for partition, gap in self._gaps.items():
            if gap.was_wanted or partition in self._targets:
                self._rebalances.add_unowned(gap.elapsed, gap.offset)
        for since in self._unmet.values():
            self._rebalances.add_unowned(since)

    def end_unseen(self) -> None:
        """Note that the incarnation ends while its state is unknown. Gaps have no end then, and no row."""

    def baseline(self, changed: Iterable[tuple[Member, frozenset[int]]]) -> None:
        """Set the owners without handovers: how the members acquired the partitions is unknown."""
        for member, held in changed:
            self._move_holder(member, held)
            member.was_away = member.epoch < NEVER
            for partition in held:
                self._end_gap_unseen(partition)
                if member.was_away:
                    self._begin_gap(partition, member, member.current_at, was_wanted=partition in self._targets)
        self._freed.clear()
        self._retarget()
        self._targets.end_operation()

    def end_operation(self, changed: list[tuple[Member, frozenset[int]]]) -> None:
        """Apply the changed members' partitions at the end of an operation, in the order of their types 8."""
        acquired = self._release_changed(changed)
        for member, held in changed:
            member.was_away = member.epoch < NEVER
            self._move_holder(member, held)
        for member, partitions in acquired:
            is_kept = self.is_upgrade and member.value is not None and member.value.is_classic
            acquire = self._acquire if not is_kept else self._keep
            for partition in partitions:
                acquire(member, partition)
        if self.is_downgrade:
            self._released.clear()
        elif self._released:
            self._open_gaps()
        if self._targets.retargeted:
            self._retarget()
            self._targets.end_operation()

    def _release_changed(self, changed: list[tuple[Member, frozenset[int]]]) -> list[tuple[Member, Iterable[int]]]:
        """Let the changed members release partitions, and return those that they acquire."""
        acquired: list[tuple[Member, Iterable[int]]] = []
        for member, held in changed:
            before = NOTHING if member.was_away else member.held
            owned = NOTHING if member.epoch < NEVER else held
            if before and before != owned:
                for partition in before - owned if owned else before:
                    self._release(member, partition)
            if owned and owned != before:
                acquired.append((member, owned - before if before else owned))
        return acquired

    def end_unwanted_gaps(self) -> None:
        """End the gaps of partitions that are in no target, at equal group epoch and assignment epoch."""
        for partition in sorted(self.unwanted):
            if partition in self._gaps:
                self._end_gap(partition)
            else:
                self._rebalances.add_unowned(self._unmet.pop(partition))
        self.unwanted.clear()

    def end_all_gaps(self) -> None:
        """End all gaps: the group became Empty, or its incarnation ends."""
        self._is_ending = True
        for partition in sorted(self._gaps):
            self._end_gap(partition)
        self._is_ending = False
        for since in self._unmet.values():
            self._rebalances.add_unowned(since)
        self._unmet.clear()
        self.unwanted.clear()
        self.free_since = self._context.operation.last

    def finish(self, elapsed: int | None) -> None:
        """Write the gaps that are open at the end of the log; `elapsed`: when it was captured."""
        self._end_open(self._context.captured_at, elapsed)

    def lose(self) -> None:
        """Write what is open where records of the group are lost: how it ends is unknown."""
        self.is_lost = True
        self._end_open(self._context.operation.at, self._context.operation.elapsed)

    def _end_open(self, at: int | None, elapsed: int | None) -> None:
        for partition, gap in sorted(self._gaps.items()):
            self._emit_gap(partition, gap, at, elapsed, has_end=False)
        for since in self._unmet.values():
            self._rebalances.add_unowned(since, until=elapsed)
        self._gaps.clear()
        self._unmet.clear()

    def _move_holder(self, member: Member, held: frozenset[int]) -> None:
        before = member.held
        member.held = held
        if held == before:
            return
        holders, waits, at = self.holders, self._waits, self._context.operation.at
        for partition in before - held if held else before:
            holders.remove(partition, member)
            if partition not in holders:
                self._freed[partition] = at
            if partition in waits.waiters:
                waits.lost(member, partition)
        for partition in held - before if before else held:
            holders.add(partition, member)
            if partition in waits.waiters:
                waits.gained(member, partition)

    def _release(self, member: Member, partition: int) -> None:
        # The newest claim counts: a member with a successor releases nothing.
        for holder in reversed(self.holders[partition]):
            if not holder.was_away:
                if holder is member:
                    self._released[partition] = member
                return

    def _acquire(self, member: Member, partition: int) -> None:
        operation = self._context.operation
        others = [holder for holder in self.holders[partition] if holder is not member and not holder.was_away]
        released = self._released.pop(partition, None)
        if others:
            # The previous owner has not released it.
            self._end_gap_unseen(partition)
            self._emit_acquired(partition, NEVER, member, others[-1].member_id)
        elif released is not None:
            was_wanted = self._was_wanted(partition)
            gap = Gap(released.member_id, operation.at, released.current_offset, operation.elapsed, was_wanted)
            self._emit_gap(partition, gap, operation.at, operation.elapsed, member=member)
        elif partition in self._gaps:
            self._end_gap(partition, member)
        else:
            since = self._unmet.pop(partition, None)
            if since is not None:
                self.unwanted.discard(partition)
                self._rebalances.add_unowned(since)
            self._emit_acquired(partition, self.free_since, member, None)

    def _keep(self, _: Member, partition: int) -> None:
        """Let a member go on with a partition that it had in the classic group."""
        self._end_gap_unseen(partition)

    def _was_wanted(self, partition: int) -> bool:
        """Return whether a released partition was in some target, including the targets of leavers."""
        return partition in self._targets or partition in self._targets.deleted

    def _begin_gap(self, partition: int, member: Member, at: int | None, *, was_wanted: bool) -> None:
        elapsed = self._context.operation.elapsed
        gap = Gap(member.member_id, at, member.current_offset, elapsed, was_wanted)
        self._gaps[partition] = gap
        self._want(partition, gap)

    def _open_gaps(self) -> None:
        for partition, member in self._released.items():
            if any(not holder.was_away for holder in self.holders.get(partition, ())):
                continue
            self._begin_gap(partition, member, self._context.operation.at, was_wanted=self._was_wanted(partition))
        self._released.clear()

    def _want(self, partition: int, gap: Gap) -> None:
        wanted = partition in self._targets
        gap.wanted.run(self._context.operation.elapsed, is_running=wanted)
        if wanted:
            self.unwanted.discard(partition)
        else:
            self.unwanted.add(partition)

    def _retarget(self) -> None:
        """Note which partitions without an owner entered a target, or are in none any more."""
        elapsed, targets = self._context.operation.elapsed, self._targets
        for partition in targets.retargeted:
            gap = self._gaps.get(partition)
            if gap is not None:
                self._want(partition, gap)
            elif all(holder.was_away for holder in self.holders.get(partition, ())):
                if partition in targets:
                    self._unmet.setdefault(partition, elapsed)
                    self.unwanted.discard(partition)
                elif partition in self._unmet:
                    self.unwanted.add(partition)

    def _end_gap(self, partition: int, member: Member | None = None) -> None:
        operation = self._context.operation
        gap = self._gaps.pop(partition)
        self.unwanted.discard(partition)
        self._emit_gap(partition, gap, operation.at, operation.elapsed, member=member)

    def _emit_gap(  # noqa: PLR0913 - how it ends
        self,
        partition: int,
        gap: Gap,
        at: int | None,
        elapsed: int | None,
        *,
        member: Member | None = None,
        has_end: bool = True,
    ) -> None:
        """Write a gap that lasts until a time, None if unknown."""
        wanted = gap.was_wanted or partition in self._targets
        if wanted:
            self._rebalances.add_unowned(gap.elapsed, gap.offset, elapsed)
        handover = Handover.of_gap(gap, at, elapsed, member, was_wanted=wanted)
        self._emit(partition, gap.offset, handover, has_end=has_end)

    def _end_gap_unseen(self, partition: int) -> None:
        self._gaps.pop(partition, None)
        self.unwanted.discard(partition)
        self._unmet.pop(partition, None)

    def _emit_acquired(self, partition: int, begin: int, member: Member, owner: str | None) -> None:
        """Write an acquisition that ends no gap; `owner`: the member that has not released the partition."""
        handover = Handover.without_gap(member, owner, self._context.operation.at)
        self._emit(partition, begin, handover)

    def _emit(self, partition: int, begin: int, handover: Handover, *, has_end: bool = True) -> None:
        """Write a handover."""
        raise NotImplementedError
