"""How long each member takes to reconcile each target assignment, and waits for others: `rebalance_lag`."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.spill import SpillingQueue
from kip848_records.replay.group.vocabulary import OPEN, RECONCILED, UNKNOWN, UNSEEN
from kip848_records.replay.modern.member import STABLE, STATELESS, UNRELEASED, UNREVOKED
from kip848_records.replay.rows import AwaitedPartition, new_struct, row_writer
from kip848_records.specs.tables import AWAITED_PARTITION, REBALANCE_LAG

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.ownership import Ownership
    from kip848_records.replay.modern.targets import Assignment
    from kip848_records.replay.modern.waits import Waits
    from kip848_records.replay.numbers import Units

_CLIENT: Final = ("instance_id", "client_id", "client_host", "rebalance_timeout_ms")
_client_of: Final = attrgetter(*_CLIENT)

_write: Final = row_writer(
    REBALANCE_LAG, assignment=("group_epoch", "target_at", "first_bumped_at", "behind_since"), client=_CLIENT
)
_new_awaited: Final = new_struct(AWAITED_PARTITION)


class Reconciliations:
    """The open rows of an incarnation, one per member and assignment that it has not reconciled.

    A member's rows end in their order: a member that is STABLE at an epoch has reconciled all assignments up to it. So
    each row is handled twice, when its assignment is written and when it ends. `known_until`: when the first record of
    the group was lost; None if none was.
    """

    def __init__(self, context: Context, waits: Waits, units: Units, group_type: str) -> None:
        self._context = context
        self._group_type = group_type
        self._waits = waits
        self._units = units
        self.highest = -1
        self.known_until: int | None = None
        self.last = 0

    def assign(
        self,
        assignment: Assignment,
        first_bump: tuple[int | None, int],
        members: Iterable[Member],
        *,
        is_evaluated: bool = True,
    ) -> None:
        """Begin a row for each member; `first_bump`: timestamp and offset of the oldest bump that it answers.

        Not `is_evaluated`: it was written before the history is complete, and rows that are not open have no end.
        """
        context = self._context
        elapsed = context.operation.elapsed
        epoch, offset, ordinal = assignment.epoch, assignment.offset, assignment.ordinal
        bumped_at, bump_offset = first_bump
        # A clock that went back before the bump does not affect the row.
        skew_from = offset if bump_offset == NEVER else bump_offset
        queues = context.queues
        self.last = ordinal
        for member in members:
            if member.value is None:
                continue
            lags = member.open_lags
            behind, begin = bumped_at, bump_offset
            if lags is None:
                lags = member.open_lags = SpillingQueue(queues)
            elif lags:
                behind, begin = _oldest(lags.first(), bumped_at, bump_offset)
            revoked, waited = member.spent_until(UNREVOKED, elapsed), member.spent_until(UNRELEASED, elapsed)
            # A plain tuple, with the fields of `_Row`: it may be written to a file.
            row = (epoch, assignment.at, bumped_at, behind, begin, skew_from, ordinal, revoked, waited)
            if member.state == STABLE and member.epoch >= epoch and not lags:
                self._emit(member, row, RECONCILED if is_evaluated else UNSEEN)
            else:
                lags.append(row)
                if member.state == UNRELEASED and not member.wrote_current:
                    self._see_blockers(member, ordinal)

    def end_operation(self, member: Member) -> None:
        """Apply the member's condition at the end of an operation that wrote its type 8."""
        if member.state == STABLE:
            self.reconcile(member, RECONCILED)
        elif member.state == UNRELEASED:
            self._see_blockers(member, 0)

    def reconcile(self, member: Member, status: str | None) -> None:
        """End the rows that a STABLE member has reconciled."""
        lags = member.open_lags
        if not lags:
            return
        for row in lags.take(member.epoch):
            self._emit(member, row, status)
        if member.seen_blockers is not None and not lags:
            member.seen_blockers = None

    def leave(self, member: Member, status: str | None) -> None:
        """End all rows of a member that left."""
        if member.open_lags:
            for row in member.open_lags.take():
                self._emit(member, row, status)
        member.seen_blockers = None

    def finish(self, member: Member, ownership: Ownership, elapsed: int | None, *, is_known: bool) -> None:
        """Write the rows that are open at the end of the log; not `is_known`: records of the group were lost."""
        if not member.open_lags:
            return
        if not is_known or member.state == STATELESS:
            for row in member.open_lags.take():
                self._emit(member, row, UNKNOWN)
            return
        awaited: tuple[tuple[Any, ...], ...] | None = None
        blocked_by: tuple[str, ...] = ()
        if member.state == UNRELEASED:
            awaited = self._awaited(member, ownership) or None
            blocked_by = tuple(sorted(self._waits.owners_awaited_by(member)))
        for row in member.open_lags.take():
            self._emit(member, row, OPEN, blocked_by=blocked_by, awaited=awaited, elapsed=elapsed)

    def _awaited(self, member: Member, ownership: Ownership) -> tuple[tuple[Any, ...], ...]:
        waits, awaited = self._waits, []
        for partition in member.awaits:
            owner = waits.owner_awaited_by(member, partition)
            released_at = None if owner is not None else ownership.released_at(member, partition)
            topic_id, number, subtopology_id, role = self._units.name(partition)
            awaited.append(
                _new_awaited(
                    topic_id=topic_id,
                    topic=None,
                    partition=number,
                    owner=owner,
                    released_at=released_at,
                    subtopology_id=subtopology_id,
                    role=role,
                )
            )
        return tuple(sorted(awaited, key=_by_place))

    def _see_blockers(self, member: Member, first: int) -> None:
        """Remember the holders of the awaited partitions, for its rows from one ordinal on (0: all open ones)."""
        owners = self._waits.owners_awaited_by(member)
        if not owners:
            return
        seen = member.seen_blockers
        if seen is None:
            seen = member.seen_blockers = {}
        last = self.last
        for owner in owners:
            spans = seen.get(owner)
            if not first or spans is None:
                seen[owner] = [(first, last)]
            elif spans[-1][1] >= first - 1:
                spans[-1] = spans[-1][0], last
            else:
                spans.append((first, last))

    def _emit(  # noqa: PLR0913 - the fields that depend on the status
        self,
        member: Member,
        row: tuple[Any, ...],
        status: str | None,
        *,
        blocked_by: tuple[str, ...] | None = None,
        awaited: tuple[Any, ...] | None = None,
        elapsed: int | None = None,
    ) -> None:
        context = self._context
        operation = context.operation
        epoch, _, bumped_at, _, begin, skew_from, ordinal, revoked, waited = row
        until = elapsed if status == OPEN else operation.elapsed if self.known_until is None else self.known_until
        lag_ms = revoke_ms = wait_ms = None
        if status is not UNSEEN and until is not None:
            revoke_ms = member.spent_until(UNREVOKED, until) - revoked
            wait_ms = member.spent_until(UNRELEASED, until) - waited
        if status == RECONCILED:
            lag_ms = ms_between(bumped_at, operation.at)
        elif status == OPEN:
            lag_ms = ms_between(bumped_at, context.captured_at)
        if blocked_by is None:
            seen = member.seen_blockers
            blocked_by = () if not seen or status in {UNSEEN, UNKNOWN} else _blockers(seen, ordinal)
        _write(
            context,
            begin,
            assignment=row[:4],
            client=_client_of(member.known),
            group_type=self._group_type,
            member_id=member.member_id,
            reconciled_at=operation.at if status == RECONCILED else None,
            status=status,
            superseded=self.highest > epoch,
            lag_ms=lag_ms,
            revoke_ms=revoke_ms,
            wait_ms=wait_ms,
            blocked_by=blocked_by,
            awaited=awaited,
            clock_skew=operation.went_back > skew_from or (lag_ms is not None and lag_ms < 0),
            has_end=status not in {OPEN, UNKNOWN},
        )


class _Row(NamedTuple):
    """An open row. `revoked`, `waited`: what the member had spent in these states when the row began, in ms."""

    epoch: int
    at: int | None
    bumped_at: int | None
    behind: int | None
    begin: int
    skew_from: int
    ordinal: int
    revoked: int
    waited: int


def _by_place(awaited: tuple[Any, ...]) -> tuple[str, int]:
    place = AwaitedPartition(*awaited)
    return place.topic_id or place.subtopology_id, place.partition


def _oldest(first: tuple[Any, ...], at: int | None, offset: int) -> tuple[int | None, int]:
    """Return since when the member is behind: the first bump of its oldest row; `at`, `offset`: of this row's.

    The oldest row has the smallest offset, with any timestamp: a clock may have gone back.
    """
    oldest = _Row(*first)
    oldest_at, begin = oldest.bumped_at, oldest.skew_from if oldest.begin != NEVER else NEVER
    if oldest_at is None or at is None:
        return (oldest_at if at is None else at), NEVER
    return oldest_at, min(begin, offset)


def _blockers(seen: dict[str, list[tuple[int, int]]], ordinal: int) -> tuple[str, ...]:
    return tuple(
        sorted(owner for owner, spans in seen.items() if any(first <= ordinal <= last for first, last in spans))
    )
