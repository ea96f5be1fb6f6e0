"""The records of an operation, applied to the members of a modern group at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.group.vocabulary import LEFT
from kip848_records.replay.modern.member import AWAY_EPOCH, GONE, NO_EPOCH, held_by, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.modern.member import Member, MemberStates
    from kip848_records.replay.modern.state import ModernState
    from kip848_records.replay.modern.timelines.rebalances import Rebalances
    from kip848_records.replay.modern.timelines.reconciliation import Reconciliations
    from kip848_records.replay.modern.waits import Waits


class MemberChanges:
    """The members that have records in an operation."""

    def __init__(
        self,
        group: ModernState,
        waits: Waits,
        lags: Reconciliations,
        member_states: MemberStates,
        rebalances: Rebalances,
    ) -> None:
        self._group = group
        self._waits = waits
        self._lags = lags
        self._member_states = member_states
        self._rebalances = rebalances

    def apply(self, members: Iterable[Member], *, left: str | None = LEFT) -> list[tuple[Member, frozenset[int]]]:
        """Apply the records to the members; return members with a changed set of partitions, with that set.

        The order is that of their types 8. `left`: the status of rows that end with a stay.
        """
        group, rebalance = self._group, self._rebalances.open
        changed: list[tuple[Member, frozenset[int]]] = []
        for member in members:
            member.touched = False
            if rebalance is not None:
                member.count_in(rebalance.number, rebalance.began)
            if member.has_left:
                self._leave(member, left)
            current = member.current
            state = GONE if member.value is None else state_of(current)
            epoch = NO_EPOCH if current is None else current.member_epoch
            if state != member.state or epoch != member.epoch:
                group.change(member, state, epoch)
            if member.wrote_current:
                held = held_by(current)
                if held != member.held or (epoch == AWAY_EPOCH) != member.was_away:
                    changed.append((member, held))
        if len(changed) > 1:
            changed.sort(key=lambda change: change[0].current_offset)
        return changed

    def forget(self, touched: Iterable[Member]) -> None:
        """Clear the operation's records, and drop members without any records left."""
        group = self._group
        for member in touched:
            member.wrote_current = False
            if member.value is None and member.current is None and not member.has_target:
                group.members.pop(member.member_id, None)
        self._rebalances.members_before = group.member_count

    def _leave(self, member: Member, status: str | None) -> None:
        """End the open rows of a member's stay."""
        member.has_left = False
        self._lags.leave(member, status)
        if self._rebalances.open is not None:
            self._rebalances.open.leave(member, self._group.context.operation.elapsed)
        self._member_states.end(member)
        self._group.change(member, GONE, member.epoch)
        member.end_stay()
        self._waits.update(member)
