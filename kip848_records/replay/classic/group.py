"""A classic group: its type 2 contains all that the log has about it, the outcome of each generation.

`generations` has the rules of generations; here are the group's state and the stays of its members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.kinds import CLASSIC, Role
from kip848_records.replay.classic.downgrade import owners_of
from kip848_records.replay.classic.upgrade import is_upgradable, upgrade_reasons
from kip848_records.replay.generations.generations import Generations
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.stays import Stay, Stays
from kip848_records.replay.group.vocabulary import (
    DOWNGRADED,
    EMPTY,
    GROUP_DELETED,
    JOINED,
    LEFT,
    REPLACED,
    STABLE,
    UPGRADED,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from kip848_records.replay.generations.last_owners import Owner
    from kip848_records.replay.generations.rules import ProtocolRules
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.state import ModernState
    from kip848_records.replay.records import ClassicGroupValue, ClassicMemberValue, Record


class ClassicGroup:
    """The classic group of a group id, also of one that has none. `value`: its last type 2, None without one.

    `offset`: of that record. `is_lost`: its last type 2 could not be read. A stay of a member is a sequence of
    generations that all contain it.
    """

    def __init__(self, context: Context, new_rules: Callable[[str, Context], ProtocolRules]) -> None:
        self._context = context
        self.value: ClassicGroupValue | None = None
        self.offset = NEVER
        self.generation_before: int | None = None
        self._owners: dict[int, Owner] | None = None
        self.is_lost = self.is_written = self.is_behind_loss = False
        self.generations = Generations(context, new_rules)
        self._rows = Stays(context, CLASSIC)
        self._stays: dict[str, Stay] = {}

    def replay(self, record: Record) -> None:
        """Replay a type 2."""
        self.generation_before = None if self.value is None else self.value.generation
        self.value = record.value
        self.offset = record.offset
        self.is_lost = False
        self.is_written = True

    def take_over(self, members: Iterable[Member]) -> None:
        """Note the members, all known, of the consumer group that the operation deleted before its type 2."""
        if self.value is not None:
            self._owners = owners_of(members, self.value, self.offset, self._context.numbers)

    def lose(self) -> None:
        """Note that a type 2 was lost."""
        self.value = None
        self.generations.lose()
        self.is_lost = self.is_behind_loss = True

    def lose_any(self) -> None:
        """Note that records were lost which may have been types 2: what is open may have ended."""
        self.generations.end_unseen()
        self.is_behind_loss = True

    @property
    def members(self) -> int | None:
        """The number of members; None if it is not a classic group."""
        return None if self.value is None else len(self.value.member_ids)

    @property
    def is_simple(self) -> bool:
        """Whether the group has neither members nor a protocol type: it was created, or only commits offsets."""
        return self.value is not None and not self.value.member_ids and not self.value.protocol_type

    @property
    def state(self) -> str:
        """Empty, or Stable: the log shows outcomes, not PreparingRebalance."""
        return STABLE if self.members else EMPTY

    def upgradable(self) -> tuple[bool | None, str | None]:
        """Return whether a consumer member may join the group and convert it, and all reasons against it."""
        if self.value is None:
            return None, None
        reasons = upgrade_reasons(self.value)
        return is_upgradable(self.value, reasons), ", ".join(reasons) or None

    def leave(self, record: Record) -> None:
        """Note a record of a consumer group while the group is a classic one."""
        self.is_lost = False
        if record.role is Role.GROUP_EPOCH:
            self.value = None
            self.generations.lose()

    def end_operation(
        self,
        consumer: ModernState | None,
        downgraded: Collection[str] | None,
        *,
        ended_by: str,
        is_evaluated: bool,
    ) -> None:
        """Begin and end a generation and stays: an operation contains one type 2 at most.

        `consumer`: the consumer group of the same id. `downgraded`: the members of the consumer group that the
        operation deleted; None if it deleted none. `ended_by`: how it ended the classic group.
        """
        self.is_written = False
        is_evaluated, self.is_behind_loss = is_evaluated and not self.is_behind_loss, False
        if self.value is not None:
            self.generations.replay(self.value, self.offset, self._owners, is_downgrade=downgraded is not None)
            self._owners = None
        else:
            self.generations.end(ended_by)
        value = self.value
        members = {} if value is None else {member.member_id: member for member in value.members}
        replaced = self._end_stays(consumer, members, is_evaluated=is_evaluated)
        if value is not None:
            instances = frozenset(replaced.values())
            self._begin_stays(value, members, downgraded or (), instances, is_evaluated=is_evaluated)

    def finish(self) -> None:
        """Write the stays that have not ended, and the generation."""
        self.generations.finish()
        for member_id, stay in self._stays.items():
            self._rows.emit(member_id, stay)

    def _end_stays(
        self, consumer: ModernState | None, members: dict[str, ClassicMemberValue], *, is_evaluated: bool
    ) -> dict[str, str]:
        """End the stays of members that are not in the generation, and return `_replaced` of them."""
        at, present = self._context.operation.at, set(() if self.value is None else self.value.member_ids)
        gone = [member_id for member_id in self._stays if member_id not in present]
        replaced = self._replaced(gone, members)
        for member_id in gone:
            left_epoch, how = self._departure(member_id, consumer, is_replaced=member_id in replaced)
            left = (at, self.offset, left_epoch, how) if is_evaluated else (None, self.offset, None, None)
            self._rows.emit(member_id, self._stays.pop(member_id), left)
            self._rows.depart(member_id)
        return replaced

    def _begin_stays(
        self,
        value: ClassicGroupValue,
        members: dict[str, ClassicMemberValue],
        downgraded: Collection[str],
        replaced: Collection[str],
        *,
        is_evaluated: bool,
    ) -> None:
        """Begin the stays of members that were not in the generation before. `replaced`: instances that had another."""
        stays = self._stays
        for member_id in value.member_ids:
            member = members.get(member_id)
            if member_id not in stays:
                stay = stays[member_id] = Stay(self.offset, self._context.operation.at, None)
                if is_evaluated:
                    stay.joined_epoch = value.generation
                    stay.joined_how = DOWNGRADED if member_id in downgraded else JOINED
                    if member is not None and member.instance_id in replaced:
                        stay.joined_how = REPLACED
                self._rows.begin(member_id, stay)
            if member is not None:
                stays[member_id].value = member

    def _departure(self, member_id: str, consumer: ModernState | None, *, is_replaced: bool) -> tuple[int | None, str]:
        """Return the group's epoch or generation when a member left, and how it left."""
        if consumer is not None:
            member = consumer.members.get(member_id)
            if member is not None and member.known is not None and member.known.is_classic:
                return consumer.group_epoch, UPGRADED
        if self.value is None:
            return None, GROUP_DELETED
        return self.value.generation, REPLACED if is_replaced else LEFT

    def _replaced(self, gone: list[str], members: dict[str, ClassicMemberValue]) -> dict[str, str]:
        """Return those static members among `gone` whose instance id another member has now."""
        instances = {member.instance_id for member in members.values()}
        before = {member_id: self._stays[member_id].value for member_id in gone}
        return {
            member_id: member.instance_id
            for member_id, member in before.items()
            if member is not None and member.instance_id is not None and member.instance_id in instances
        }
