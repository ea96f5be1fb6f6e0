"""The stays of members in a group, from a member's first record to the end of its stay: `membership`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.coverage import NEVER
from kip848_records.replay.member import AWAY, AWAY_EPOCH, Stay
from kip848_records.replay.spill import IdSet

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kip848_records.replay.context import Context
    from kip848_records.replay.member import Member
    from kip848_records.replay.records import MemberValue

    Left = tuple[int | None, int | None, int | None, str | None]

JOINED: Final = "joined"
REPLACED: Final = "replaced"
UPGRADED: Final = "upgraded"
DOWNGRADED: Final = "downgraded"
GROUP_DELETED: Final = "group_deleted"
EXPIRED: Final = "expired"
LEFT: Final = "left"

PRESENT: Final[Left] = (None, None, None, None)
_IDENTITY: Final = (
    *("instance_id", "client_id", "client_host", "rack_id", "server_assignor"),
    *("rebalance_timeout_ms", "topics", "regex", "process_id", "topology_epoch"),
)


class Stays:
    """The rows of `membership` of one kind of group."""

    def __init__(self, context: Context, group_type: str) -> None:
        self.context = context
        self._group_type = group_type
        self._departed = IdSet()

    def begin(self, member_id: str, stay: Stay) -> None:
        """Note the begin of a stay; the member may have been in the group before."""
        if member_id in self._departed:
            self.context.returned[self.context.incarnation, self._group_type, member_id] = stay.joined_offset

    def depart(self, member_id: str) -> None:
        """Note the end of a stay."""
        self._departed.add(member_id)

    def emit(self, member_id: str, stay: Stay | None, left: Left = PRESENT, away_ms: int | None = None) -> None:
        """Write a stay; None if only its end was seen. `left`: time, offset and epoch of the end, and how it left."""
        context = self.context
        joined: tuple[int | None, int | None, str | None] = (None, None, None)
        joined_offset = value = topology_lag_ms = None
        if stay is not None:
            joined_offset, joined = stay.joined_offset, (stay.joined_at, stay.joined_epoch, stay.joined_how)
            value = stay.value
            operation = context.operation
            elapsed = operation.elapsed_at(context.captured_at) if left[1] is None else operation.elapsed
            topology_lag_ms = stay.topology_lag_ms(elapsed)
        identity = (getattr(value, name, None) for name in _IDENTITY)
        head = (
            *(context.incarnation, self._group_type, member_id, joined_offset, *identity),
            *(*joined, *left, False, away_ms, topology_lag_ms),
        )
        begin = NEVER if joined_offset is None else joined_offset
        context.emit("Membership", begin, head, has_end=left[1] is not None)


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
