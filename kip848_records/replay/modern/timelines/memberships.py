"""The stays of members in a group, from a member's first record to the end of its stay: `membership`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kip848_records.replay.group.stays import Stay, Stays
from kip848_records.replay.group.vocabulary import DOWNGRADED, EXPIRED, GROUP_DELETED, JOINED, LEFT, REPLACED, UPGRADED
from kip848_records.replay.modern.member import AWAY, AWAY_EPOCH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.group.stays import Left
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.records import MemberValue


class _Departure(NamedTuple):
    """A stay that the operation ended; `stay` is None if only the tombstone was seen."""

    member_id: str
    stay: Stay | None
    offset: int
    last_epoch: int
    away_ms: int | None


class Memberships:
    """The stays of an incarnation's members."""

    def __init__(self, context: Context, group_type: str) -> None:
        self._stays = Stays(context, group_type)
        self._departures: list[_Departure] = []
        self._joined: list[tuple[Stay, str]] = []
        self._replaced: set[str] = set()

    def join(self, member: Member, offset: int, value: MemberValue, *, replaces: str | None, upgrades: bool) -> None:
        """Begin a stay. `replaces`: the static member that the member replaces."""
        stay = member.stay = Stay(offset, self._stays.context.operation.at, value)
        how = UPGRADED if upgrades else JOINED
        if replaces is not None:
            self._replaced.add(replaces)
            how = REPLACED
        self._joined.append((stay, how))
        self._stays.begin(member.member_id, stay)

    def leave(self, member: Member, offset: int) -> None:
        """End a stay; called before the member's state changes."""
        stay, current = member.stay, member.current
        member.stay = None
        last_epoch = member.epoch if current is None else current.member_epoch
        away_ms = _away_ms(member, stay, self._stays.context.operation.elapsed)
        self._departures.append(_Departure(member.member_id, stay, offset, last_epoch, away_ms))
        self._stays.depart(member.member_id)

    def end_operation(
        self,
        epoch: int | None,
        *,
        is_evaluated: bool,
        is_deleted: bool = False,
        classic_ids: Collection[str] | None = None,
    ) -> None:
        """Write the stays that the operation ended.

        `epoch`: the group's at its end. `is_evaluated`: the operation lies where the history is complete; before that a
        stay has no end time, and a lone tombstone is not a stay. `classic_ids`: members of the type 2 that the
        operation wrote after the tombstone of type 3 (a downgrade).
        """
        if is_evaluated:
            for stay, how in self._joined:
                stay.joined_epoch, stay.joined_how = epoch, how
        for departure in self._departures:
            left: Left = (None, departure.offset, None, None)
            if is_evaluated:
                how = self._how(departure, is_deleted=is_deleted, classic_ids=classic_ids)
                left = (self._stays.context.operation.at, departure.offset, epoch, how)
            if is_evaluated or departure.stay is not None:
                self._stays.emit(departure.member_id, departure.stay, left, departure.away_ms)
        self._joined.clear()
        self._departures.clear()
        self._replaced.clear()

    def finish(self, members: Iterable[Member], elapsed: int | None) -> None:
        """Write the stays that have not ended; `elapsed`: when the log was captured."""
        for member in members:
            if member.stay is not None:
                self._stays.emit(member.member_id, member.stay, away_ms=_away_ms(member, member.stay, elapsed))

    def _how(self, departure: _Departure, *, is_deleted: bool, classic_ids: Collection[str] | None) -> str:
        """Return how a member left; leave, session expiry and fencing write the same records."""
        if classic_ids is not None and departure.member_id in classic_ids:
            return DOWNGRADED
        if is_deleted and not classic_ids:
            return GROUP_DELETED
        if departure.member_id in self._replaced:
            return REPLACED
        return EXPIRED if departure.last_epoch == AWAY_EPOCH else LEFT


def _away_ms(member: Member, stay: Stay | None, elapsed: int | None) -> int | None:
    """Return how long a static member was away; None for a dynamic one."""
    if stay is None or stay.value is None or stay.value.instance_id is None or elapsed is None:
        return None
    return member.spent_until(AWAY, elapsed)
