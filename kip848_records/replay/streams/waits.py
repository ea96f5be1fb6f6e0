"""Members of a streams group that wait for tasks of another member, or of another thread of their process.

A member gets an active task when no member has it as active, and a task in any role when no member of its own process
has it in any role: the threads of a process share the task's state on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.modern.waits import Waits, awaited
from kip848_records.replay.numbers import ROLES, is_active, role_name, task_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.numbers import PartitionNumbers


class StreamsWaits(Waits):
    """Which members await which tasks, and who has them.

    `waiters`: by each unit that may block a waiter: the awaited task in every role. `holders`: by unit. A process has a
    task in one role only, so a member awaits a task in one role.
    """

    def gained(self, holder: Member, partition: int) -> None:
        """Note that a member has a task that some member awaits."""
        self._pair_with_waiters(holder, partition, 1)

    def lost(self, holder: Member, partition: int) -> None:
        """Note that a member no longer has a task that some member awaits."""
        self._pair_with_waiters(holder, partition, -1)

    def update(self, member: Member) -> None:
        """Note the tasks that a member awaits at the end of an operation."""
        awaits, before = awaited(member), member.awaits
        if awaits == before:
            return
        tasks = {task_of(unit) for unit in before ^ awaits}
        for unit in _in_all_roles(tasks & set(map(task_of, before))):
            self.waiters.remove(unit, member)
            self._pair_with_holders(member, unit, -1)
        member.awaits = awaits
        for unit in _in_all_roles(tasks & set(map(task_of, awaits))):
            self.waiters.add(unit, member)
            self._pair_with_holders(member, unit, 1)

    def change_process(self, member: Member, process_id: str | None) -> None:
        """Note the process of a member; a member that comes back may have another one."""
        if process_id == member.process_id:
            return
        self._pair_all(member, -1)
        member.process_id = process_id
        self._pair_all(member, 1)

    def owners_awaited_by(self, member: Member) -> set[str]:
        """Return the members that have what a member awaits; of an active task the newest of several claims counts."""
        owners = set()
        for unit in _in_all_roles(map(task_of, member.awaits)):
            ids = [holder.member_id for holder in self._blockers(member, unit)]
            owners.update(ids[:1] if is_active(unit) else ids)
        owners.discard(member.member_id)
        return owners

    def owner_awaited_by(self, member: Member, partition: int) -> str | None:
        """Return the member that has an awaited task; None if no member does, or only the member itself."""
        for unit in _in_all_roles([task_of(partition)]):
            for holder in self._blockers(member, unit):
                if holder is not member:
                    return holder.member_id
        return None

    def names(self, numbers: PartitionNumbers, partition: int) -> tuple[str | None, int, str | None, str | None]:
        """Return a task's number, subtopology id and role; it has no topic id."""
        subtopology_id, number = numbers.name(task_of(partition))
        return None, number, subtopology_id, role_name(partition)

    def new_pairs(self) -> Iterable[tuple[Member, Member]]:
        """Return holders with members that began to wait for them in this operation, and still wait at its end."""
        for holder, waiter, unit in self._new_pairs:
            if unit in holder.held and waiter in self.waiters.get(unit, ()) and _blocks(holder, unit, waiter):
                yield holder, waiter

    def pairs(self) -> Iterable[tuple[Member, Member]]:
        """Return every holder with every member that waits for it."""
        for unit, waiters in self.waiters.items():
            for waiter in waiters:
                for holder in self._blockers(waiter, unit):
                    if waiter is not holder:
                        yield holder, waiter

    def _blockers(self, waiter: Member, unit: int) -> Iterable[Member]:
        return (holder for holder in reversed(self.holders.get(unit, ())) if _blocks(holder, unit, waiter))

    def _pair_with_waiters(self, holder: Member, unit: int, step: int) -> None:
        for waiter in self.waiters.get(unit, ()):
            if _blocks(holder, unit, waiter):
                self._pair(holder, waiter, unit, step)

    def _pair_with_holders(self, waiter: Member, unit: int, step: int) -> None:
        for holder in self._blockers(waiter, unit):
            self._pair(holder, waiter, unit, step)

    def _pair_all(self, member: Member, step: int) -> None:
        for unit in member.held:
            self._pair_with_waiters(member, unit, step)
        for unit in _in_all_roles(set(map(task_of, member.awaits))):
            self._pair_with_holders(member, unit, step)


def _in_all_roles(tasks: Iterable[int]) -> Iterable[int]:
    return (task + role for task in tasks for role in ROLES)


def _blocks(holder: Member, unit: int, waiter: Member) -> bool:
    """Return whether a member with a unit blocks one that awaits this task in some role."""
    if is_active(unit) and unit in waiter.awaits:
        return True
    return waiter.process_id is not None and holder.process_id == waiter.process_id
