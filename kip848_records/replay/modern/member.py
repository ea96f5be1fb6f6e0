"""A member of a modern group: its records, its condition at the end of the last operation, and its state history."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kip848_records.replay.group.vocabulary import AWAY_STATE, BEHIND, RECONCILED, REVOKING, UNKNOWN, WAITING
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import MEMBER_STATE_TIMELINE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.group.spill import SpillingQueue
    from kip848_records.replay.group.stays import Stay
    from kip848_records.replay.records import AnyMemberValue, CurrentAssignmentValue

_write: Final = row_writer(MEMBER_STATE_TIMELINE)

STABLE: Final = 0
UNREVOKED: Final = 1
UNRELEASED: Final = 2
"""States of a type 8."""
AWAY: Final = 3
"""A static member that went away: member epoch -2. Its type 8 repeats its previous state."""
UNASSIGNED: Final = 4
"""A member without a type 8, or with a state that Kafka does not define."""
STATELESS: Final = 5
"""A member whose type 8 has no state, as before Kafka 3.8."""
GONE: Final = 6
"""No member: it has no type 5."""

_NAMES: Final = {UNREVOKED: REVOKING, UNRELEASED: WAITING, AWAY: AWAY_STATE}

AWAY_EPOCH: Final = -2
NO_EPOCH: Final = -1
NOTHING: Final[frozenset[int]] = frozenset()


def _no_times() -> list[int]:
    return [0] * (GONE + 1)


@dataclass(slots=True, eq=False)
class Member:
    """A member id of a group."""

    member_id: str

    # The content of its records: types 5, 8 and 7.
    value: AnyMemberValue | None = None
    known: AnyMemberValue | None = None
    """Its last type 5 that is not a tombstone."""
    current: CurrentAssignmentValue | None = None
    current_offset: int = -1
    current_at: int | None = None
    """Offset and time of its last type 8, tombstones included."""
    process_id: str | None = None
    """The process of a streams member; other members have none."""
    has_target: bool = False
    target: frozenset[int] = NOTHING
    highest_epoch: int = NO_EPOCH
    """The last member epoch of its stay that is not negative."""

    # The records of the operation about it.
    touched: bool = False
    wrote_current: bool = False
    has_left: bool = False
    """The operation ended the previous stay."""

    # Its condition at the end of the last operation.
    state: int = GONE
    epoch: int = NO_EPOCH
    held: frozenset[int] = NOTHING
    """Partitions that are assigned, or pending revocation."""
    was_away: bool = False
    since: int = 0
    """When its state began (`Operation.elapsed`)."""
    spent: list[int] = field(default_factory=_no_times)
    """By state: the ms of its stay in that state, without its present state."""

    # Its open rows in the tables.
    stay: Stay | None = None
    interval: tuple[str, int, int | None, int, bool, int | None, int] | None = None
    open_lags: SpillingQueue | None = None
    seen_blockers: dict[str, list[tuple[int, int]]] | None = None
    awaits: frozenset[int] = NOTHING
    blocked: int = 0
    blocking: int = 0
    """See `waits`."""
    waited_in: int = 0
    counted_in: int = 0
    """The number of the rebalance in which it last waited, and of the one that `spent_before` refers to."""
    spent_before: tuple[int, int] = (0, 0)
    """The ms in UNREVOKED_PARTITIONS and away when that rebalance began."""

    def enter(self, state: int, elapsed: int) -> None:
        """Change the state at this moment."""
        self.spent[self.state] += elapsed - self.since
        self.state = state
        self.since = elapsed

    def end_stay(self) -> None:
        """Forget the times of the stay that has ended."""
        self.spent = _no_times()
        self.spent_before = (0, 0)

    def count_in(self, rebalance: int, began: int) -> None:
        """Note the time spent before the rebalance of this number, before any change in it."""
        if self.counted_in != rebalance:
            self.counted_in = rebalance
            self.spent_before = self.spent_until(UNREVOKED, began), self.spent_until(AWAY, began)

    def spent_until(self, state: int, elapsed: int) -> int:
        """Return the ms of its stay in which the member was in a state, up to this moment."""
        spent = self.spent[state]
        return spent + elapsed - self.since if self.state == state else spent

    def is_late(self, assignment_epoch: int | None) -> bool:
        """Return whether the member blocks a group whose epoch and assignment epoch are equal.

        It is late while it is not converged and no other member holds a partition that it awaits. Without a state in
        its type 8, a member is known to be late only at an older epoch.
        """
        state = self.state
        if state == STABLE:
            return self.epoch != assignment_epoch
        if state == UNRELEASED:
            # Two members may hold partitions for each other, each outside its own target. If both were excused, the
            # time would have no late member, against assigning_ms + late_ms = duration_ms. So a member that holds
            # partitions outside its present target is late even if it awaits others: it must revoke those first.
            return not self.blocked or not self.held <= self.target
        if state == STATELESS:
            return assignment_epoch is not None and self.epoch < assignment_epoch
        return state != GONE

    def state_name(self, assignment_epoch: int | None) -> str:
        """Return the state in `member_state_timeline`; `behind` without a change at an older epoch."""
        if self.state == STABLE:
            if assignment_epoch is None:
                return UNKNOWN
            return BEHIND if self.epoch < assignment_epoch else RECONCILED
        return _NAMES.get(self.state, UNKNOWN)


class Claims(dict[int, list[Member]]):
    """Members by claimed partition, the newest claim last. `contested`: partitions with several claims."""

    def __init__(self) -> None:
        self.contested: set[int] = set()

    def add(self, partition: int, member: Member) -> None:
        """Add a claim."""
        members = self.get(partition)
        if members is None:
            self[partition] = [member]
        else:
            members.append(member)
            self.contested.add(partition)

    def remove(self, partition: int, member: Member) -> None:
        """Remove a claim."""
        members = self[partition]
        if len(members) == 1:
            del self[partition]
        else:
            members.remove(member)
            if len(members) == 1:
                self.contested.discard(partition)


def state_of(value: CurrentAssignmentValue | None) -> int:
    """Return the state of a member with this type 8."""
    if value is None:
        return UNASSIGNED
    state = value.state
    if state is None:
        return STATELESS
    if value.member_epoch == AWAY_EPOCH:
        return AWAY
    return state if state in {STABLE, UNREVOKED, UNRELEASED} else UNASSIGNED


def held_by(value: CurrentAssignmentValue | None) -> frozenset[int]:
    """Return the partitions that a type 8 has assigned or pending revocation."""
    if value is None:
        return NOTHING
    return value.assigned | value.pending if value.pending else value.assigned


class MemberStates:
    """The rows of `member_state_timeline` of an incarnation."""

    def __init__(self, context: Context, group_type: str) -> None:
        self._context = context
        self._group_type = group_type

    def end_operation(self, members: Iterable[Member], assignment_epoch: int | None) -> None:
        """End and begin intervals: of all members if the assignment epoch changed, else of the changed members."""
        operation = self._context.operation
        for member in members:
            interval = member.interval
            if member.state == GONE:
                self.end(member)
                continue
            name = member.state_name(assignment_epoch)
            target, owned = len(member.target) if member.has_target else None, len(member.held)
            if interval is not None:
                name_before, epoch_before, *_, target_before, owned_before = interval
                if name_before == name and epoch_before == member.epoch:
                    if target_before != target or owned_before != owned:
                        member.interval = (*interval[:-2], target, owned)
                    continue
                self.end(member)
            is_classic = member.value is not None and member.value.is_classic
            member.interval = (name, member.epoch, operation.at, operation.last, is_classic, target, owned)

    def restart(self, members: Iterable[Member], at: int | None, offset: int) -> None:
        """Begin all intervals here: their start is unknown, but they have lasted at least since then."""
        for member in members:
            if member.interval is not None:
                member.interval = (*member.interval[:2], at, offset, *member.interval[4:])

    def end(self, member: Member, *, is_seen: bool = True) -> None:
        """End a member's interval with the operation; without `is_seen`, it lasted at least until then."""
        self._emit(member, self._context.operation.at, has_end=is_seen)

    def finish(self, member: Member) -> None:
        """Write the interval that is open at the end of the log."""
        self._emit(member, None, has_end=False)

    def _emit(self, member: Member, to_at: int | None, *, has_end: bool) -> None:
        context = self._context
        if member.interval is None:
            return
        name, epoch, from_at, from_offset, is_classic, target, owned = member.interval
        member.interval = None
        until = context.captured_at if to_at is None else to_at
        duration_ms = None if until is None or from_at is None else until - from_at
        _write(
            context,
            from_offset,
            group_type=self._group_type,
            member_id=member.member_id,
            state=name,
            member_epoch=None if epoch == NO_EPOCH else epoch,
            from_at=from_at,
            from_offset=from_offset,
            to_at=to_at,
            duration_ms=duration_ms,
            is_classic=is_classic,
            target_units=target,
            owned_units=owned,
            has_end=has_end,
        )
