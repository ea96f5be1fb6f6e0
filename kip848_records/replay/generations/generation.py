"""One generation of a classic group: the outcome of one join phase, as its type 2 contains it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.replay.group.vocabulary import SHOWN
from kip848_records.replay.rows import new_struct
from kip848_records.specs.tables import STATIC_REPLACEMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kip848_records.replay.records import ClassicGroupValue, ClassicMemberValue


FOLLOW_UP: Final = "follow_up"
ASSIGNOR_CHANGED: Final = "assignor_changed"
MEMBERS_CHANGED: Final = "members_changed"
"""Causes of a generation only."""

_NOTHING: Final[frozenset[int]] = frozenset()
_new_replacement: Final = new_struct(STATIC_REPLACEMENT)


class Cause(NamedTuple):
    """A cause, and the ids of the members that it is due to."""

    name: str
    member_ids: tuple[str, ...] = ()


class Generation:
    """A generation.

    `offset`, `at`, `leader_epoch`, `first_value`: of its first record. `last_offset`, `value`: of its last one, which
    replaced a static member. `members`: by identity. `units`: each assigned partition with its member; None if payloads
    do not parse. `has_owned`: whether a member still had partitions when it joined; None if a payload is cut there.
    `unassigned`: the number of those partitions that no member has now. `replaced`: the static members with another
    member id than before, by identity, both member ids and time: first those that came back within the round,
    `replaced_in_round` of them.
    """

    def __init__(self, value: ClassicGroupValue, offset: int, at: int | None, leader_epoch: int | None) -> None:
        self.first_value = value
        self.offset = offset
        self.at = at
        self.leader_epoch = leader_epoch
        self.replaced: list[tuple[Any, ...]] = []
        self.replaced_in_round = 0
        self.cause = Cause("")
        self._read(value, offset)
        owned: set[int] = set().union(*(member.owned or () for member in value.members))
        cut = any(member.subscription_error is not None and member.owned is None for member in value.members)
        self.has_owned = True if owned else None if cut else False
        self.unassigned = None if self.units is None or cut else len(owned - self.units.keys())

    def _read(self, value: ClassicGroupValue, offset: int) -> None:
        self.value = value
        self.last_offset = offset
        self.members = {member.identity: member for member in value.members}
        self.units = _units(value.members)
        self._owners = Counter(member.owner for member in value.members)

    @property
    def ended_join_at(self) -> int | None:
        """When its join phase ended, or its record was written, in ms."""
        return self.at if self.first_value.state_at is None else self.first_value.state_at

    @property
    def given_up(self) -> frozenset[int]:
        """The units that members still had when they joined and that no member has now."""
        owned: set[int] = set().union(*(member.owned or () for member in self.value.members))
        return frozenset(owned - (self.units or {}).keys())

    def owner_of(self, member: ClassicMemberValue) -> str:
        """Return the identity of a member as an owner of units.

        A worker that restarts keeps its URL; a URL that several members of the generation announce is none's identity.
        """
        return member.owner if self._owners[member.owner] == 1 else member.identity

    def replace(self, value: ClassicGroupValue, offset: int, at: int | None) -> list[ClassicMemberValue]:
        """Note another record of the same generation, and return the members with a new member id."""
        before = self.members
        self._read(value, offset)
        self._note_replaced(before, at)
        ids = {old.member_id for old in before.values()}
        return [member for member in value.members if member.member_id not in ids]

    def replace_in_round(self, before: Generation) -> None:
        """Note the static members that expired after the generation before, and were back in the round of this one."""
        self._note_replaced(before.members, self.at)
        self.replaced_in_round = len(self.replaced)

    def _note_replaced(self, before: Mapping[str, ClassicMemberValue], at: int | None) -> None:
        for member in self.value.members:
            old = before.get(member.identity)
            if old is not None and old.member_id != member.member_id:
                self.replaced.append(
                    _new_replacement(
                        instance_id=member.identity, from_member=old.member_id, to_member=member.member_id, at=at
                    )
                )

    def unapplied(self, before: Generation) -> list[tuple[ClassicMemberValue, frozenset[int], frozenset[int]]]:
        """Return the members that joined with other units than another generation, the one before, gave to them.

        Each has the units that it kept although they were taken from it, and those that it should have and had not. A
        member that keeps nothing while it joins shows neither.
        """
        found = []
        units_before = {member.member_id: member.units for member in before.value.members}
        for member in self.value.members:
            given, owned = units_before.get(member.member_id), member.owned
            if given is None or owned is None or owned == given:
                continue
            missing = given - owned if self.has_owned else _NOTHING
            if owned - given or missing:
                found.append((member, owned - given, missing))
        return found

    def joined(self, before: Generation) -> tuple[str, ...]:
        """Return the identities that another generation does not have, sorted."""
        return tuple(sorted(self.members.keys() - before.members.keys()))

    def ids_of(self, identities: Iterable[str]) -> tuple[str, ...]:
        """Return the member ids of identities."""
        return tuple(self.members[identity].member_id for identity in identities)

    def shared_unit(self) -> tuple[int, tuple[str, ...]] | None:
        """Return the first unit that several members have, with their ids; None if each has one owner."""
        if self.units is None or len(self.units) == sum(len(member.units or ()) for member in self.value.members):
            return None
        owners: dict[int, list[str]] = {}
        for member in self.value.members:
            for unit in member.units or ():
                owners.setdefault(unit, []).append(member.member_id)
        unit = min(unit for unit, ids in owners.items() if len(ids) > 1)
        return unit, tuple(owners[unit])

    @property
    def is_shown(self) -> bool:
        """Whether its record alone shows its cause."""
        return self.cause.name in SHOWN

    @property
    def has_static_members(self) -> bool:
        """Whether its record may have replaced a static member."""
        return any(member.instance_id is not None for member in self.first_value.members)


def _units(members: Iterable[ClassicMemberValue]) -> dict[int, ClassicMemberValue] | None:
    members_by_unit: dict[int, ClassicMemberValue] = {}
    for member in members:
        units = member.units
        if units is None:
            return None
        members_by_unit.update(dict.fromkeys(units, member))
    return members_by_unit
