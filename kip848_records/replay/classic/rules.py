"""The rules of generations of consumers, whose members have the protocol type `consumer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CLASSIC
from kip848_records.replay.classic.streams_assignor import (
    AT_ONCE,
    TaskAssignment,
    WarmUps,
    next_rebalance_ms,
    task_assignment,
    task_assignments,
)
from kip848_records.replay.generations.generation import FOLLOW_UP, Cause
from kip848_records.replay.generations.rules import GenerationColumns, MemberColumns, ProtocolRules
from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.vocabulary import (
    COOPERATIVE,
    EAGER,
    PROBING,
    STATIC_MEMBER_REPLACED,
    SUBSCRIPTION_CHANGED,
    TOPIC_METADATA_CHANGED,
    UNKNOWN,
)
from kip848_records.replay.rows import new_struct, row_writer
from kip848_records.specs.tables import PARTITION_HANDOVER, WARM_UP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.replay.generations.generation import Generation
    from kip848_records.replay.generations.last_owners import Gap, Owner
    from kip848_records.replay.generations.round import Round
    from kip848_records.replay.generations.rules import End, Named
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.records import ClassicMemberValue

_write: Final = row_writer(
    PARTITION_HANDOVER,
    *("topic_id", "group_epoch"),
    released=("released_at", "released_offset"),
    unowned=("unowned_ms", "unowned_max_ms"),
    acquired=("acquired_offset", "to_member", "acquired_at", "generation"),
)
_new_warm_up: Final = new_struct(WARM_UP)

_TO_NONE: Final = (None, None, None, None)
_CLOCKS_DIFFER_BY: Final = 5_000
"""So many ms the clock of the leader may be ahead of the broker's: a rebalance comes that much before its time."""


class ConsumerRules(ProtocolRules):
    """The rules of generations of consumers."""

    one_owner = "one owner of each partition"
    stops_partitions = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._warm_ups = WarmUps()

    def cause_of_same_members(self, now: Generation, before: Generation) -> Cause:
        """Return the cause of a generation with the members of the one before."""
        changed = [
            identity
            for identity, member in now.members.items()
            if member.topics is not None and before.members[identity].topics not in {None, member.topics}
        ]
        if changed:
            return Cause(SUBSCRIPTION_CHANGED, now.ids_of(sorted(changed)))
        due = next_rebalance_ms(task_assignments(before.value).values())
        if before.unassigned or due == AT_ONCE:
            return Cause(FOLLOW_UP)
        is_probing = due is not None and now.ended_join_at is not None and now.ended_join_at >= due - _CLOCKS_DIFFER_BY
        units, units_before = now.units, None if before.unassigned is None else before.units
        if units is not None and units_before is not None:
            # What a probing rebalance takes from a member first is not gone.
            given_up = now.given_up if is_probing else frozenset()
            if units.keys() | given_up != units_before.keys():
                return Cause(TOPIC_METADATA_CHANGED)
        if now.replaced_in_round:
            return Cause(STATIC_MEMBER_REPLACED, tuple(new_id for _, _, new_id, _ in now.replaced))
        return Cause(PROBING if is_probing else UNKNOWN)

    def generation_columns(self, now: Generation) -> GenerationColumns:
        """Return what the assignor of Streams tells the members of a generation."""
        assignments = task_assignments(now.first_value)
        read = {name: each for name, each in assignments.items() if isinstance(each, TaskAssignment)}
        if not read or len(read) < len(now.first_value.members):
            return GenerationColumns()
        warm_ups = tuple(_new_warm_up(member_id=name, tasks=tasks) for name, tasks in self._warm_ups.of(read))
        error = max(each.error for each in read.values())
        return GenerationColumns(error, next_rebalance_ms(read.values()), warm_ups)

    def member_columns(self, now: Generation, member: ClassicMemberValue) -> MemberColumns:
        """Return what the assignor of Streams tells a member."""
        found = task_assignment(now.value, member)
        if isinstance(found, TaskAssignment):
            return MemberColumns(found.active, found.standby)
        return MemberColumns(
            undecoded=None if found is None else f"the data of the assignor of Kafka Streams does not decode ({found})"
        )

    def end(self) -> None:
        """Forget the standby replicas of Streams: another application may use the group id, or records are missing."""
        self._warm_ups.forget()

    def mode(self, now: Generation, before: Generation | None) -> str | None:
        """Return the rebalance protocol by what the members still had when they joined."""
        if now.has_owned:
            return COOPERATIVE
        if now.has_owned is None:
            return UNKNOWN
        ids = set(now.value.member_ids)
        members = () if before is None else before.members.values()
        return EAGER if any(member.units and member.member_id in ids for member in members) else UNKNOWN

    def assign(self, round_: Round) -> None:
        """Write a row of `partition_handover` for each partition with another owner.

        At `joined_at` the previous owner had released it, so that the time to the record is a lower bound. If an
        earlier round left it to no member, it had an owner until then: the time since is an upper bound.
        """
        now = round_.now
        for move in round_.moves or ():
            gap, acquired = move.gap, (now.offset, move.to_member, now.at, now.value.generation)
            released_offset, longest = (None, None) if gap is None else (gap.offset, ms_between(gap.at, now.at))
            released = now.value.state_at, released_offset
            self._emit(now, move.unit, move.owner, released, (round_.sync_ms, longest), acquired)

    def leave(self, now: Generation, gaps: Mapping[int, Gap], end: End) -> list[int | None]:
        """Write a row of `partition_handover` for each partition that no member has; it was assigned to none since."""
        for unit, gap in sorted(gaps.items()):
            unowned_ms = ms_between(gap.at, end.at)
            released, unowned, is_over = (gap.at, gap.offset), (unowned_ms, unowned_ms), end.offset is not None
            self._emit(now, unit, gap.owner, released, unowned, _TO_NONE, end=end.offset, has_end=is_over)
        return [ms_between(gap.at, end.at) for gap in gaps.values()]

    def _emit(  # noqa: PLR0913, PLR0917 - two owners and what is between them
        self,
        now: Generation,
        unit: int,
        owner: Owner,
        released: tuple[int | None, int | None],
        unowned: tuple[int | None, int | None],
        acquired: tuple[int | None, str | None, int | None, int | None],
        *,
        end: int | None = None,
        has_end: bool = True,
    ) -> None:
        """Write a row of `partition_handover`: when and with which record the last owner released the partition.

        `unowned`: for how long it had no owner, at least and at most. `acquired`: the new owner's offset, id, time and
        generation.
        """
        context = self._context
        topic, number = context.numbers.of_names.name(unit)
        unowned_ms, _ = unowned
        _write(
            context,
            owner.offset,
            group_type=CLASSIC,
            topic=topic,
            partition=number,
            from_member=owner.member_id,
            released=released,
            unowned=unowned,
            acquired=acquired,
            wanted=True,
            wanted_ms=unowned_ms,
            clock_skew=context.operation.is_skewed(owner.offset, unowned_ms),
            end=end,
            has_end=has_end,
            extra=(now.has_static_members,),
        )

    def to_give_up(self, now: Generation) -> list[ClassicMemberValue]:
        """Return the members with partitions that the generation took from them and gave to no member."""
        members = now.value.members
        return [each for each in members if any(unit not in (now.units or {}) for unit in each.owned or ())]

    def partitions(self, member: ClassicMemberValue) -> tuple[Named | None, Named | None]:
        """Return the partitions that a member still had when it joined, and those that it has now, by topic."""
        owned = member.owned
        named = None if owned is None else self.named(owned)
        return named, None if member.assignment is None else self.named(member.assignment.assigned)


RULES = ConsumerRules
