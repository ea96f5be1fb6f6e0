"""The rules of generations of consumers, whose members have the protocol type `consumer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CLASSIC
from kip848_records.replay.classic.payloads import ConsumerAssignment, ConsumerSubscription
from kip848_records.replay.generations.generation import FOLLOW_UP, Cause
from kip848_records.replay.generations.rules import ProtocolRules
from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.vocabulary import (
    COOPERATIVE,
    EAGER,
    STATIC_MEMBER_REPLACED,
    SUBSCRIPTION_CHANGED,
    TOPIC_METADATA_CHANGED,
    UNKNOWN,
)
from kip848_records.replay.rows import new_row
from kip848_records.specs.partition_handover import PARTITION_HANDOVER

if TYPE_CHECKING:
    from kip848_records.replay.generations.generation import Generation
    from kip848_records.replay.generations.round import Round
    from kip848_records.replay.generations.rules import Named
    from kip848_records.replay.records import ClassicMemberValue

_new_row: Final = new_row(PARTITION_HANDOVER)


class ConsumerRules(ProtocolRules):
    """The rules of generations of consumers."""

    one_owner = "one owner of each partition"
    stops_partitions = True

    def cause_of_same_members(self, now: Generation, before: Generation) -> Cause:
        """Return the cause of a generation with the members of the one before."""
        changed = [
            identity
            for identity, member in now.members.items()
            if member.topics is not None and before.members[identity].topics not in {None, member.topics}
        ]
        if changed:
            return Cause(SUBSCRIPTION_CHANGED, now.ids_of(sorted(changed)))
        if before.unassigned:
            return Cause(FOLLOW_UP)
        units, units_before = now.units, None if before.unassigned is None else before.units
        if units is not None and units_before is not None and units.keys() != units_before.keys():
            return Cause(TOPIC_METADATA_CHANGED)
        if now.replaced_in_round:
            return Cause(STATIC_MEMBER_REPLACED, tuple(new_id for _, _, new_id, _ in now.replaced))
        return Cause(UNKNOWN)

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
        context, now = self._context, round_.now
        for move in round_.moves or ():
            topic, number = context.numbers.of_names.name(move.unit)
            gap, unowned_ms = move.gap, round_.sync_ms
            released_offset, longest = (None, None) if gap is None else (gap.offset, ms_between(gap.at, now.at))
            row = _new_row(
                context,
                group_type=CLASSIC,
                topic_id=None,
                topic=topic,
                partition=number,
                acquired_offset=now.offset,
                from_member=move.owner.member_id,
                released_at=now.value.state_at,
                released_offset=released_offset,
                to_member=move.to_member,
                acquired_at=now.at,
                unowned_ms=unowned_ms,
                unowned_max_ms=longest,
                wanted=True,
                wanted_ms=unowned_ms,
                group_epoch=None,
                generation=now.value.generation,
                clock_skew=context.operation.is_skewed(move.owner.offset, unowned_ms),
            )
            context.emit(row, move.owner.offset, extra=(now.has_static_members,))

    def partitions(self, member: ClassicMemberValue) -> tuple[Named | None, Named | None]:
        """Return the partitions that a member still had when it joined, and those that it has now, by topic."""
        subscription, assignment = member.subscription, member.assignment
        owned = assigned = None
        if isinstance(subscription, ConsumerSubscription) and subscription.owned is not None:
            owned = self.named(subscription.owned)
        if isinstance(assignment, ConsumerAssignment):
            assigned = self.named(assignment.assigned)
        return owned, assigned
