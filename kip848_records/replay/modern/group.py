"""A consumer, share or streams group in one of its incarnations: its state by its records, as a coordinator loads them.

Names and order follow `GroupMetadataManager.replay` and `ModernGroup` in Kafka's group coordinator. A handler only
applies its record; the tables are written at the end of the operation (`operation_end`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from kip848_records.kinds import Role
from kip848_records.replay.modern.member import GONE, NO_EPOCH, Member
from kip848_records.replay.modern.state import ModernState
from kip848_records.replay.modern.timelines.operation_end import OperationEnd

if TYPE_CHECKING:
    from collections.abc import Callable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.records import CurrentAssignmentValue, GroupEpochValue, MemberValue, Record


class ModernGroup(ModernState):
    """One incarnation of a modern group. Call a handler for each record in offset order, then `end.end_operation`.

    If the history is not complete call `end.end_survivors` instead. `classic_members`: the number of members that use
    the classic protocol.
    """

    def __init__(self, context: Context, *, is_complete: bool) -> None:
        super().__init__(context, is_complete=is_complete)
        self.end = OperationEnd(self)
        self._highest_assignment = NO_EPOCH
        self.classic_members = 0

    def handlers(self) -> list[Callable[[Record], None] | None]:
        """Return the handlers of records, by role. `kinds` has the key type of each role in each kind of group."""
        handlers: list[Callable[[Record], None] | None] = [None] * len(Role)
        handlers[Role.GROUP_EPOCH] = self.replay_group_epoch
        handlers[Role.MEMBER] = self.replay_member
        handlers[Role.ASSIGNMENT_EPOCH] = self.replay_target_assignment_epoch
        handlers[Role.MEMBER_TARGET] = self.replay_member_target
        handlers[Role.CURRENT_ASSIGNMENT] = self.replay_current_assignment
        return handlers

    @property
    def upgraded_members(self) -> int:
        """How many members of the classic protocol the operation wrote; a static one may have been replaced in it."""
        return sum(member.known is not None and member.known.is_classic for member in self.touched)

    @property
    def is_untouched(self) -> bool:
        """Whether no record of the group has been replayed."""
        return not self.members and self.group_epoch is None and self.assignment_epoch is None

    def replay_group_epoch(self, record: Record) -> None:
        """Replay a group epoch (types 3, 11, 17) with a value."""
        value = cast("GroupEpochValue", record.value)
        epoch, before = value.epoch, self.group_epoch
        self.end.is_eventful = True
        if before is not None and epoch not in {before, before + 1}:
            self.jump = record.offset
            self.causes.is_compared = False
            if epoch < before:
                self.anomalies.group_went_back(record, before, epoch)
                self._start_over()
        self.group_epoch = epoch
        if self.end.epochs.is_new(epoch):  # else it repeats the last one, and what was written before causes the next
            trigger = self.causes.bump(value.metadata_hash)
            self.end.bumps.append((epoch, record.timestamp, record.offset, self.member_count, trigger))

    def replay_member(self, record: Record) -> None:
        """Replay a member's metadata (types 5, 10, 19)."""
        member = self._touch(record)
        self.end.is_eventful = True
        before = cast("MemberValue | None", member.value)
        value: MemberValue | None = record.value
        member.value = value
        if before is not None:
            self.classic_members -= before.is_classic
        if value is None:
            self._delete_member(record, member, before)
            return
        self.classic_members += value.is_classic
        self.anomalies.member(record, value)
        member.known = value
        replaces = self.causes.member(member.member_id, value, before)
        if before is None:
            self.member_count += 1
            member.highest_epoch = NO_EPOCH
            if self.end.epochs.first_member is None:
                self.end.epochs.first_member = record.timestamp, record.offset
            upgrades = self.end.deletes_classic and value.is_classic
            self.end.memberships.join(member, record.offset, value, replaces=replaces, upgrades=upgrades)
        elif member.stay is not None:
            member.stay.value = value

    def replay_target_assignment_epoch(self, record: Record) -> None:
        """Replay an assignment epoch (types 6, 12, 20): an assignment, if the epoch is above all earlier ones."""
        epoch: int | None = record.value
        before = self.assignment_epoch
        self.end.is_eventful = True
        self.assignment_epoch = epoch
        if epoch is None:
            return
        if before is not None and epoch < before:
            self.anomalies.went_back(record, before, epoch)
        if epoch < self._highest_assignment and not self.context.is_evaluated:
            self._start_over()
        self.anomalies.wrote_assignment = record.offset
        if epoch > self._highest_assignment:
            self._highest_assignment = epoch
            self.end.assignments.append(self.targets.assign(record, epoch))

    def replay_member_target(self, record: Record) -> None:
        """Replay a member's target (types 7, 13, 21)."""
        member = self._touch(record)
        self.end.is_eventful = True
        value: frozenset[int] | None = record.value
        member.has_target = value is not None
        if value is None:
            self.targets.delete(member)
        else:
            self.targets.retarget(member, value)

    def replay_current_assignment(self, record: Record) -> None:
        """Replay a member's current assignment (types 8, 14, 22)."""
        member = self.members.get(record.member_id or "")
        if member is None or not member.touched:
            member = self._touch(record)
        value: CurrentAssignmentValue | None = record.value
        member.current = value
        member.current_offset = record.offset
        member.current_at = record.timestamp
        member.wrote_current = True
        if value is not None:
            epoch = value.member_epoch
            if epoch >= 0:
                self.start_epoch = max(self.start_epoch, epoch)
                if epoch < member.highest_epoch:
                    self.anomalies.went_back(record, member.highest_epoch, epoch)
                member.highest_epoch = epoch
            if self.causes.has_joined:
                self.causes.current(member.member_id, value)

    def delete_classic(self) -> None:
        """Replay the tombstone of type 2."""
        self.end.is_eventful = self.end.deletes_classic = True

    def delete(self, _: Record) -> None:
        """Replay the tombstone of a group epoch: the incarnation ends with the operation."""
        self.end.is_eventful = True

    def _start_over(self) -> None:
        self.end.start_over()
        self._highest_assignment = NO_EPOCH

    def _touch(self, record: Record) -> Member:
        member_id = record.member_id or ""
        member = self.members.get(member_id)
        if member is None:
            member = self.members[member_id] = Member(member_id)
        if not member.touched:
            member.touched = True
            self.touched.append(member)
        return member

    def _delete_member(self, record: Record, member: Member, before: MemberValue | None) -> None:
        self.causes.member_deleted(member.member_id, before)
        self.member_count -= before is not None
        if member.state != GONE:
            member.has_left = True
        self.end.memberships.leave(member, record.offset)
