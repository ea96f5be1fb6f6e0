"""The last owner of each partition of a classic group, through rounds in which no member had it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.vocabulary import FIRST_GENERATION

if TYPE_CHECKING:
    from kip848_records.replay.generations.generation import Generation


class Owner(NamedTuple):
    """The owner of partitions; `offset`: of the last record in which it had them."""

    identity: str
    member_id: str
    offset: int


class Gap(NamedTuple):
    """A partition that a generation left to no member: its last owner, and that generation's time and offset.

    `at` is None if the owner may have left before.
    """

    owner: Owner
    at: int | None
    offset: int


class Move(NamedTuple):
    """A partition with another owner than its last one; `gap` if no member had it in between."""

    unit: int
    owner: Owner
    gap: Gap | None
    to_member: str


class LastOwners:
    """The owners by partition. `is_known`: the payloads of the last generation could be parsed.

    `since`: the offset from which on no owner was missed; `NEVER`: one may have been missed. `has_new`: the last
    generation has a partition without an earlier owner since then.
    """

    def __init__(self) -> None:
        self._owners: dict[int, Owner] = {}
        self._gaps: dict[int, Gap] = {}
        self.is_known = True
        self.since = 0
        self.has_new = False

    def gaps_since(self, offset: int) -> dict[int, Gap]:
        """Return the units that a generation at this offset, or a later one, left to no member until now."""
        return {unit: gap for unit, gap in self._gaps.items() if gap.offset >= offset}

    def take_over(self, generation: Generation, owners: dict[int, Owner] | None) -> None:
        """Begin with the owners of a consumer group that was converted; None: they are unknown."""
        self._owners, self._gaps, self.is_known = {}, {}, True
        self.since = generation.offset
        self.assign(generation)
        if owners is None:
            self.is_known, self.since = False, NEVER
            return
        left = owners.keys() - self._owners.keys()
        self._gaps = {unit: Gap(owners[unit], None, generation.offset) for unit in left}
        self._owners.update((unit, owner) for unit, owner in owners.items() if unit not in left)

    def forget(self) -> None:
        """Forget all owners: another type of group takes over."""
        self._owners, self._gaps, self.is_known = {}, {}, True

    def assign(self, generation: Generation) -> list[Move] | None:
        """Let a generation have its partitions, and return the moves; None if they are unknown."""
        units = generation.units
        was_known, self.is_known = self.is_known, units is not None
        if units is None and generation.members:
            self.since = NEVER  # the owners before it are forgotten
        elif not generation.members or generation.value.generation == FIRST_GENERATION:
            self.since = generation.offset
        self.has_new = False
        if units is None or not generation.members:
            self._owners, self._gaps = {}, {}
            return [] if was_known and units is not None else None
        owner_of = {
            member.member_id: Owner(generation.owner_of(member), member.member_id, generation.last_offset)
            for member in generation.value.members  # two may have one identity in a record that no coordinator wrote
        }
        before, gaps, moves = self._owners, self._gaps, []
        owners = self._owners = {unit: owner_of[member.member_id] for unit, member in units.items()}
        for unit, owner in owners.items():
            last, gap = before.get(unit), None
            if last is None and gaps:
                gap = gaps.pop(unit, None)
                last = None if gap is None else gap.owner
            if last is None:
                self.has_new = True
            elif last.identity != owner.identity and last.member_id != owner.member_id:
                moves.append(Move(unit, last, gap, owner.member_id))
        for unit in before.keys() - owners.keys():
            gaps[unit] = Gap(before[unit], generation.at, generation.offset)
        return moves if was_known else None
