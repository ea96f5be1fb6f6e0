"""Members that wait for partitions or tasks which other members still hold: who blocks whom.

For how long is the matter of `timelines/reconciliation.py` (a member) and `timelines/open_rebalance.py` (a group).

A member gets a partition, or an active task, when no member has it. A member gets a task in any role when no member of
its own process has it in any role: the threads of a process share the task's state on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.modern.member import NOTHING, UNRELEASED, Claims
from kip848_records.replay.numbers import is_active

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.numbers import Units


class Waits:
    """Which members await which units, and who holds them.

    A member in UNRELEASED_PARTITIONS awaits the units of its target that are not in its assignment. `waiters`: by each
    unit that may block a waiter, see `Units.rivals`. `holders`: by unit, see `ownership`. `changed`: members that
    started or stopped to block another one, or to be blocked, in this operation. `Member.blocking` and `Member.blocked`
    count the pairs of a unit and a waiter, or a holder. A process has a task in one role only, so a member awaits a
    task in one role.
    """

    def __init__(self, units: Units) -> None:
        self._units = units
        self.waiters = Claims()
        self.holders = Claims()
        self.changed: dict[Member, None] = {}
        self._new_pairs: list[tuple[Member, Member, int]] = []

    def gained(self, holder: Member, unit: int, step: int = 1) -> None:
        """Note that a member holds a unit that some member awaits; with step -1, that it no longer does."""
        for waiter in self.waiters.get(unit, ()):
            if not self._units.has_tasks or _blocks(holder, unit, waiter):
                self._pair(holder, waiter, unit, step)

    def update(self, member: Member) -> None:
        """Note the units that a member awaits at the end of an operation."""
        awaits, before = awaited(member), member.awaits
        if awaits == before:
            return
        rivals = self._units.rivals
        changed = set(rivals(before ^ awaits))
        for unit in changed.intersection(rivals(before)):
            self.waiters.remove(unit, member)
            self._pair_with_holders(member, unit, -1)
        member.awaits = awaits
        for unit in changed.intersection(rivals(awaits)):
            self.waiters.add(unit, member)
            self._pair_with_holders(member, unit, 1)

    def change_process(self, member: Member, process_id: str | None) -> None:
        """Note the process of a member; a member that comes back may have another one."""
        if process_id != member.process_id:
            self._pair_all(member, -1)
            member.process_id = process_id
            self._pair_all(member, 1)

    def owners_awaited_by(self, member: Member) -> set[str]:
        """Return the members that have what a member awaits; of several claims to own a unit the newest counts."""
        owners = set()
        for unit in self._units.rivals(member.awaits):
            ids = [holder.member_id for holder in self._blockers(member, unit)]
            owners.update(ids[:1] if is_active(unit) else ids)
        owners.discard(member.member_id)
        return owners

    def owner_awaited_by(self, member: Member, awaited_unit: int) -> str | None:
        """Return the member that has an awaited unit; None if no member does, or of a task only the member itself."""
        for unit in self._units.rivals([awaited_unit]):
            for holder in self._blockers(member, unit):
                if holder is not member or not self._units.has_tasks:
                    return holder.member_id
        return None

    def new_pairs(self) -> Iterable[tuple[Member, Member]]:
        """Return holders with members that began to wait for them in this operation, and still wait at its end."""
        for holder, waiter, unit in self._new_pairs:
            if unit in holder.held and _blocks(holder, unit, waiter) and waiter in self.waiters.get(unit, ()):
                yield holder, waiter

    def pairs(self) -> Iterable[tuple[Member, Member]]:
        """Return every holder with every member that waits for it."""
        for unit, waiters in self.waiters.items():
            for waiter in waiters:
                for holder in self._blockers(waiter, unit):
                    if waiter is not holder:
                        yield holder, waiter

    def end_operation(self) -> None:
        """Clear the changes of the operation."""
        self.changed.clear()
        self._new_pairs.clear()

    def _blockers(self, waiter: Member, unit: int) -> Iterable[Member]:
        holders = reversed(self.holders.get(unit, ()))
        # Whoever has a partition blocks those that await it.
        return (each for each in holders if _blocks(each, unit, waiter)) if self._units.has_tasks else holders

    def _pair_with_holders(self, waiter: Member, unit: int, step: int) -> None:
        for holder in self._blockers(waiter, unit):
            self._pair(holder, waiter, unit, step)

    def _pair_all(self, member: Member, step: int) -> None:
        for unit in member.held:
            self.gained(member, unit, step)
        for unit in self._units.rivals(member.awaits):
            self._pair_with_holders(member, unit, step)

    def _pair(self, holder: Member, waiter: Member, unit: int, step: int) -> None:
        if holder is waiter:
            return
        holder.blocking += step
        waiter.blocked += step
        self.changed[holder] = self.changed[waiter] = None
        if step > 0:
            self._new_pairs.append((holder, waiter, unit))


def awaited(member: Member) -> frozenset[int]:
    """Return the units that a member in UNRELEASED_PARTITIONS lacks of its target; none in another state."""
    if member.state != UNRELEASED or member.current is None:
        return NOTHING
    return member.target - member.current.assigned


def _blocks(holder: Member, unit: int, waiter: Member) -> bool:
    """Return whether a member with a unit blocks one that awaits this partition, or this task in some role."""
    if is_active(unit) and unit in waiter.awaits:
        return True
    return waiter.process_id is not None and holder.process_id == waiter.process_id
