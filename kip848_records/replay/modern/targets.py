"""The target assignment of a group: the target owner of each partition, and the moves of an assignment.

A unit in it is wanted. Who has it is the matter of `ownership.py`; the time without an owner is a gap, `handover.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kip848_records.replay.modern.member import NOTHING, Claims

if TYPE_CHECKING:
    from collections.abc import Collection

    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.numbers import Units
    from kip848_records.replay.records import Record


class Assignment(NamedTuple):
    """A target assignment: the record of type 6, and the targets at that time.

    `ordinal`: its number in the incarnation, from 1. `moved`: partitions with another target owner than in the previous
    assignment, which is at `compared_with`; None if there is none to compare with.
    """

    epoch: int
    at: int | None
    offset: int
    ordinal: int
    target_partitions: int | None
    target_duplicates: int | None
    moved: int | None
    compared_with: int


class Targets:
    """The target owner of each partition by the types 7. `claims`: the members whose targets contain a partition.

    `wanted`: the partitions that some member is to have.

    Since the operation began: `retargeted`: partitions that were added to a target, or removed from one. `deleted`:
    those of targets with a tombstone.
    """

    def __init__(self, units: Units) -> None:
        self._owned = units.owned
        self.claims = Claims()
        self.wanted: Collection[int] = self.claims
        self.retargeted: set[int] = set()
        self.deleted: set[int] = set()
        self._before: dict[int, str | tuple[str] | None] = {}
        self._compared_with: int | None = None
        self._ordinal = 0

    def delete(self, member: Member) -> None:
        """Delete a member's target."""
        self.deleted |= member.target
        self.retarget(member, NOTHING)

    def end_operation(self) -> None:
        """Clear the changes of the operation."""
        self.retargeted.clear()
        if self.deleted:
            self.deleted = set()

    def retarget(self, member: Member, target: frozenset[int]) -> None:
        """Replace a member's target; only its units with one owner are compared with those of others."""
        before, member.target, owned = member.target, target, self._owned
        for partition in owned(before - target if target else before):
            self._change(partition)
            self.claims.remove(partition, member)
        for partition in owned(target - before if before else target):
            self._change(partition)
            self.claims.add(partition, member)

    def assign(self, record: Record, epoch: int) -> Assignment:
        """Return the assignment that a type 6 closes: each type 7 belongs to the next type 6."""
        before = self._before
        moved = None
        if self._compared_with is not None:
            moved = 0
            for partition, old in before.items():
                now = self._owner(partition)
                moved += old is not None and now is not None and now != old
        self._ordinal += 1
        compared_with = -1 if self._compared_with is None else self._compared_with
        self._compared_with = record.offset
        before.clear()
        return Assignment(
            epoch,
            record.timestamp,
            record.offset,
            self._ordinal,
            len(self.claims),
            len(self.claims.contested),
            moved,
            compared_with,
        )

    def forget_assignment(self) -> None:
        """Compare the next assignment with none, because the group became Empty."""
        self._compared_with = None
        self._before.clear()

    def _change(self, partition: int) -> None:
        """Remember the target owner of a partition in the previous assignment."""
        self.retargeted.add(partition)
        if self._compared_with is not None and partition not in self._before:
            self._before[partition] = self._owner(partition)

    def _owner(self, partition: int) -> str | tuple[str] | None:
        """Return the target owner of a partition: one instance id is one owner, with any member id."""
        claims = self.claims.get(partition)
        if claims is None:
            return None
        value = claims[-1].value
        return claims[-1].member_id if value is None or value.instance_id is None else (value.instance_id,)
