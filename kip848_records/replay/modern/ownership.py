"""The owner of each topic partition, and the handovers from one owner to the next.

An owner is a member whose type 8 lists the partition as assigned or pending revocation at the end of an operation. A
static member that is away (member epoch -2) still holds its partitions, but owns none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kip848_records.kinds import KINDS
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.owned_partitions import Acquisition, OwnedPartitions
from kip848_records.replay.modern.handover import Gap, handover
from kip848_records.replay.modern.member import AWAY_EPOCH, NOTHING
from kip848_records.replay.modern.ownership_intervals import OwnershipIntervals

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.modern.handover import Handover
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.ownership_intervals import Begin
    from kip848_records.replay.modern.targets import Assignment, Targets
    from kip848_records.replay.modern.timelines.rebalances import Rebalances
    from kip848_records.replay.modern.waits import Waits
    from kip848_records.replay.numbers import Units


class _Group(Protocol):
    """What is needed of `state.ModernState`."""

    context: Context
    kind: str
    units: Units
    targets: Targets


class Ownership:
    """The owners of an incarnation's partitions.

    `has_intervals`: the intervals of its members are rows, too. `holders`: the members whose type 8 lists a partition,
    the newest last; more than one only if two members claim it at once. `unwanted`: partitions without an owner that
    are in no target any more. `free_since`: the offset from which on an acquisition counts as a first one. `_freed`:
    when partitions without a holder became free. `_gaps`: partitions without an owner, that had one or are in a target.
    """

    has_intervals = False

    def __init__(self, group: _Group, waits: Waits, rebalances: Rebalances) -> None:
        context, kind = group.context, KINDS[group.kind]
        self._context = context
        self._units = group.units
        self._targets = group.targets
        self._waits = waits
        self._rebalances = rebalances
        # The group becomes Empty, or its incarnation ends: what its members give up is no rebalance.
        self._is_ending = False
        self.holders = waits.holders
        self._gaps: dict[int, Gap] = {}
        self._freed: dict[int, int | None] = {}
        self.unwanted: set[int] = set()
        self._released: dict[int, Member] = {}
        self.free_since = context.incarnation_offset
        # The operation converted the group from or to a classic one: members of that protocol keep their partitions.
        self.is_upgrade = self.is_downgrade = False
        self.is_lost = False
        self._intervals = OwnershipIntervals(context, kind.group_type, group.units)
        self._stays = OwnedPartitions(context, kind.group_type, self.partitions_of)
        self._has_stays = kind.commits and context.reads_commits
        # Units whose owner may have changed in the operation.
        self._changed: set[int] = set()

    def partitions_of(self, unit: int) -> Iterable[tuple[str | None, str | None, int]]:
        """Return the topic partitions of a unit: topic id or name, the other one None, and the partition's number."""
        topic_id, number = self._context.numbers.name(unit)
        return ((topic_id, None, number),)

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
            if gap.was_wanted or partition in self._targets.wanted:
                self._rebalances.add_unowned(gap.elapsed, gap.offset)

    def end_unseen(self) -> None:
        """End the intervals and stays of an incarnation that ends while its state is unknown. Gaps have no row then."""
        self._intervals.end_all()
        self._stays.end_all()

    def baseline(self, changed: Iterable[tuple[Member, frozenset[int]]]) -> None:
        """Set the owners without handovers: how the members acquired the partitions is unknown."""
        members = set()
        for member, held in changed:
            members.add(member)
            self._move_holder(member, held, is_seen=False)
            for partition in self._units.owned(held):
                self._end_gap_unseen(partition)
                if member.was_away:
                    self._begin_gap(partition, member, member.current_at, was_wanted=partition in self._targets.wanted)
        self._freed.clear()
        self._retarget()
        self._targets.end_operation()
        self._settle(members)

    def end_operation(self, changed: list[tuple[Member, frozenset[int]]]) -> None:
        """Apply the changed members' partitions at the end of an operation, in the order of their types 8."""
        acquired = self._release_changed(changed)
        for member, held in changed:
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
        self._settle(())

    def _release_changed(self, changed: list[tuple[Member, frozenset[int]]]) -> list[tuple[Member, Iterable[int]]]:
        """Let the changed members release partitions, and return those that they acquire."""
        acquired: list[tuple[Member, Iterable[int]]] = []
        for member, held in changed:
            before = NOTHING if member.was_away else member.held
            owned = NOTHING if member.epoch == AWAY_EPOCH else held
            if before and before != owned:
                for partition in self._units.owned(before - owned if owned else before):
                    self._release(member, partition)
            if owned and owned != before:
                acquired.append((member, self._units.owned(owned - before if before else owned)))
        return acquired

    def end_unwanted_gaps(self) -> None:
        """End the gaps of partitions that are in no target, at equal group epoch and assignment epoch."""
        for partition in sorted(self.unwanted):
            self._end_gap(partition)
        self.unwanted.clear()

    def end_all_gaps(self) -> None:
        """End all gaps, intervals and stays: the group became Empty, or its incarnation ends."""
        self._is_ending = True
        for partition in sorted(self._gaps):
            self._end_gap(partition)
        self._is_ending = False
        self.unwanted.clear()
        self.free_since = self._context.operation.last
        self._intervals.end_all()
        self._stays.end_all()

    def finish(self, elapsed: int | None) -> None:
        """Write what is open at the end of the log; `elapsed`: when it was captured."""
        self._end_open(self._context.captured_at, elapsed)
        self._intervals.finish()
        self._stays.finish()

    def lose(self) -> None:
        """Write what is open where records of the group are lost: how it ends is unknown."""
        self.is_lost = True
        self._end_open(self._context.operation.at, self._context.operation.elapsed)
        self._intervals.lose()
        self._stays.lose()

    def _end_open(self, at: int | None, elapsed: int | None) -> None:
        for partition, gap in sorted(self._gaps.items()):
            self._emit_gap(partition, gap, at, elapsed, has_end=False)
        self._gaps.clear()

    def _settle(self, unseen: Collection[Member]) -> None:
        """Let units have their owners after the operation.

        `unseen`: the members whose records were written before the history is complete.
        """
        acquisitions: dict[Member, Acquisition] = {}
        for unit in self._units.owned(self._changed):
            owner = self._owner_of(unit)
            if owner is None:
                self._stays.end(unit)
                continue
            if owner not in acquisitions:
                begin = self._begin_of(owner, is_seen=owner not in unseen)
                acquisitions[owner] = Acquisition(owner.member_id, owner.known, *begin)
            self._stays.own(unit, acquisitions[owner])
        self._changed.clear()

    def _begin_of(self, member: Member, *, is_seen: bool) -> Begin:
        """Return since when a member owns what it got in the operation.

        Not `is_seen`: its record was written before the history is complete. It has owned them at least since then.
        """
        if not is_seen:
            return member.current_at, member.current_offset, NEVER
        return self._context.operation.at, self._context.operation.last, self._context.operation.last

    def _move_holder(self, member: Member, held: frozenset[int], *, is_seen: bool = True) -> None:
        before = member.held
        owned_before = NOTHING if member.was_away else before
        member.was_away = member.epoch == AWAY_EPOCH
        owned = NOTHING if member.was_away else held
        if self.has_intervals:
            self._intervals.change(member, owned_before, owned, self._begin_of(member, is_seen=is_seen))
        if self._has_stays:
            self._changed |= owned_before ^ owned
        member.held = held
        if held == before:
            return
        holders, waits, at = self.holders, self._waits, self._context.operation.at
        for partition in before - held if held else before:
            holders.remove(partition, member)
            if partition not in holders:
                self._freed[partition] = at
            if partition in waits.waiters:
                waits.gained(member, partition, -1)
        for partition in held - before if before else held:
            holders.add(partition, member)
            if partition in waits.waiters:
                waits.gained(member, partition)

    def _release(self, member: Member, partition: int) -> None:
        if self._owner_of(partition) is member:  # one with a successor releases nothing
            self._released[partition] = member

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
        else:
            before = self._gaps.get(partition)
            if before is not None:
                self._end_gap(partition, member)
            if before is None or before.member_id is None:
                self._emit_acquired(partition, self.free_since, member, None)

    def _keep(self, _: Member, partition: int) -> None:
        """Let a member go on with a partition that it had in the classic group."""
        self._end_gap_unseen(partition)

    def _was_wanted(self, partition: int) -> bool:
        """Return whether a released partition was in some target, including the targets of leavers."""
        return partition in self._targets.wanted or partition in self._targets.deleted

    def _begin_gap(self, partition: int, member: Member, at: int | None, *, was_wanted: bool) -> None:
        elapsed = self._context.operation.elapsed
        gap = Gap(member.member_id, at, member.current_offset, elapsed, was_wanted)
        self._gaps[partition] = gap
        self._want(partition, gap)

    def _open_gaps(self) -> None:
        for partition, member in self._released.items():
            if self._owner_of(partition) is None:
                self._begin_gap(partition, member, self._context.operation.at, was_wanted=self._was_wanted(partition))
        self._released.clear()

    def _owner_of(self, unit: int) -> Member | None:
        """Return the owner: of several claims the newest counts, but not that of a member that is away."""
        for holder in reversed(self.holders.get(unit, ())):
            if not holder.was_away:
                return holder
        return None

    def _want(self, partition: int, gap: Gap) -> None:
        wanted = partition in self._targets.wanted
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
            if gap is None and partition in targets.wanted and self._owner_of(partition) is None:
                gap = self._gaps[partition] = Gap(None, None, None, elapsed, was_wanted=True)
            if gap is not None:
                self._want(partition, gap)

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
        """Write a gap that lasts until a time, None if unknown. A gap that never had an owner is no handover."""
        wanted = gap.was_wanted or partition in self._targets.wanted
        if wanted:
            self._rebalances.add_unowned(gap.elapsed, gap.offset, elapsed)
        if gap.offset is not None:
            operation = self._context.operation
            ended = handover(operation, gap.member_id, member, at, gap=gap, elapsed=elapsed, was_wanted=wanted)
            self._emit(partition, gap.offset, ended, member, has_end=has_end)

    def _end_gap_unseen(self, partition: int) -> None:
        self._gaps.pop(partition, None)
        self.unwanted.discard(partition)

    def _emit_acquired(self, partition: int, begin: int, member: Member, owner: str | None) -> None:
        """Write an acquisition that ends no gap; `owner`: the member that has not released the partition."""
        operation = self._context.operation
        self._emit(partition, begin, handover(operation, owner, member, operation.at), member)

    def _emit(
        self, partition: int, begin: int, handover: Handover, member: Member | None, *, has_end: bool = True
    ) -> None:
        """Write a handover, to a new owner, if there is one."""
        raise NotImplementedError
