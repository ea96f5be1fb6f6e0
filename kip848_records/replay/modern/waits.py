"""Members that wait for partitions which other members still hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.modern.member import NOTHING, UNRELEASED, Claims

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.numbers import PartitionNumbers


class Waits:
    """Which members await which partitions, and who holds them.

    A member in UNRELEASED_PARTITIONS awaits the partitions of its target that are not in its assignment. `waiters`,
    `holders`: by partition; see `ownership` for the latter. `changed`: members that started or stopped to block another
    one, or to be blocked, in this operation. `Member.blocking` and `Member.blocked` count the pairs of a partition and
    a waiter, or a holder.
    """

    def __init__(self) -> None:
        self.waiters = Claims()
        self.holders = Claims()
        self.changed: dict[Member, None] = {}
        self._new_pairs: list[tuple[Member, Member, int]] = []

    def gained(self, holder: Member, partition: int) -> None:
        """Note that a member holds a partition that some member awaits."""
        for waiter in self.waiters[partition]:
            self._pair(holder, waiter, partition, 1)

    def lost(self, holder: Member, partition: int) -> None:
        """Note that a member no longer holds a partition that some member awaits."""
        for waiter in self.waiters[partition]:
            self._pair(holder, waiter, partition, -1)

    def update(self, member: Member) -> None:
        """Note the partitions that a member awaits at the end of an operation."""
        awaits, before = awaited(member), member.awaits
        if awaits == before:
            return
        member.awaits = awaits
        waiters, holders = self.waiters, self.holders
        for partition in before - awaits:
            waiters.remove(partition, member)
            for holder in holders.get(partition, ()):
                self._pair(holder, member, partition, -1)
        for partition in awaits - before:
            waiters.add(partition, member)
            for holder in holders.get(partition, ()):
                self._pair(holder, member, partition, 1)

    def owners_awaited_by(self, member: Member) -> set[str]:
        """Return the owners of the partitions that a member awaits; the newest of several claims counts."""
        holders = self.holders
        owners = {holders[partition][-1].member_id for partition in member.awaits if partition in holders}
        owners.discard(member.member_id)
        return owners

    def owner_awaited_by(self, member: Member, partition: int) -> str | None:  # noqa: ARG002 - of tasks, the process counts
        """Return the owner of a partition that a member awaits; None if no member holds it."""
        partition_holders = self.holders.get(partition)
        return partition_holders[-1].member_id if partition_holders else None

    def names(self, numbers: PartitionNumbers, partition: int) -> tuple[str | None, int, str | None, str | None]:
        """Return a partition's topic id and number; of a task, its number, subtopology id and role."""
        return *numbers.name(partition), None, None

    def new_pairs(self) -> Iterable[tuple[Member, Member]]:
        """Return holders with members that began to wait for them in this operation, and still wait at its end."""
        for holder, waiter, partition in self._new_pairs:
            if partition in waiter.awaits and partition in holder.held:
                yield holder, waiter

    def pairs(self) -> Iterable[tuple[Member, Member]]:
        """Return every holder with every member that waits for it."""
        for partition, waiters in self.waiters.items():
            for holder in self.holders.get(partition, ()):
                for waiter in waiters:
                    if waiter is not holder:
                        yield holder, waiter

    def end_operation(self) -> None:
        """Clear the changes of the operation."""
        self.changed.clear()
        self._new_pairs.clear()

    def _pair(self, holder: Member, waiter: Member, partition: int, step: int) -> None:
        if holder is waiter:
            return
        holder.blocking += step
        waiter.blocked += step
        self.changed[holder] = self.changed[waiter] = None
        if step > 0:
            self._new_pairs.append((holder, waiter, partition))


def awaited(member: Member) -> frozenset[int]:
    """Return the units that a member in UNRELEASED_PARTITIONS lacks of its target; none in another state."""
    if member.state != UNRELEASED or member.current is None:
        return NOTHING
    return member.target - member.current.assigned
