"""The owners of a modern group's units, with their stays if the log has offset commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.owned_partitions import Acquisition, OwnedPartitions
from kip848_records.replay.modern.member import NOTHING
from kip848_records.replay.modern.ownership import Ownership

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.targets import Targets
    from kip848_records.replay.modern.timelines.rebalances import Rebalances
    from kip848_records.replay.modern.waits import Waits


class OwnershipForCommits(Ownership):
    """The owners of units in a kind of group whose members commit offsets: `group_type`."""

    group_type: str

    def __init__(self, context: Context, targets: Targets, waits: Waits, rebalances: Rebalances) -> None:
        super().__init__(context, targets, waits, rebalances)
        self._stays: OwnedPartitions | None = None
        if context.reads_commits:
            self._stays = OwnedPartitions(context, self.group_type, self.partitions_of)

    def partitions_of(self, unit: int) -> Iterable[tuple[str | None, str | None, int]]:
        """Return the topic partitions of a unit: topic id or name, the other one None, and the partition's number."""
        topic_id, number = self._context.numbers.name(unit)
        return ((topic_id, None, number),)

    def baseline(self, changed: Iterable[tuple[Member, frozenset[int]]]) -> None:
        """Set the owners without handovers, and begin their stays."""
        if self._stays is None:
            super().baseline(changed)
            return
        changed = list(changed)
        units = {unit for member, held in changed for unit in (*member.held, *held)}
        super().baseline(changed)
        self._settle(self._stays, units, unseen={member for member, _ in changed})

    def end_operation(self, changed: list[tuple[Member, frozenset[int]]]) -> None:
        """Apply the changed members' units at the end of an operation."""
        if self._stays is None:
            super().end_operation(changed)
            return
        units: set[int] = set()
        for member, held in changed:
            before = NOTHING if member.was_away else member.held
            units |= before ^ held if member.epoch >= NEVER else before
        super().end_operation(changed)
        self._settle(self._stays, units)

    def end_all_gaps(self) -> None:
        """End all gaps and stays: the group became Empty, or its incarnation ends."""
        super().end_all_gaps()
        self._end_stays()

    def end_unseen(self) -> None:
        """End the stays of an incarnation that ends while its state is unknown."""
        super().end_unseen()
        self._end_stays()

    def lose(self) -> None:
        """Write what is open where records of the group are lost."""
        super().lose()
        if self._stays is not None:
            self._stays.lose()

    def finish(self, elapsed: int | None) -> None:
        """Write the gaps and stays that are open at the end of the log."""
        super().finish(elapsed)
        if self._stays is not None:
            self._stays.finish()

    def _end_stays(self) -> None:
        if self._stays is not None:
            self._stays.keep((), self._context.operation.at, self._context.operation.last)

    def _settle(self, stays: OwnedPartitions, units: Iterable[int], unseen: Collection[Member] = ()) -> None:
        """Let units have their owners after the operation.

        `unseen`: the members whose records were written before the history is complete.
        """
        operation = self._context.operation
        at, last = operation.at, operation.last
        acquisitions: dict[Member, Acquisition] = {}
        for unit in units:
            owner = next((holder for holder in reversed(self.holders.get(unit, ())) if not holder.was_away), None)
            if owner is None:
                stays.release(unit, at, last)
                continue
            acquired = acquisitions.get(owner)
            if acquired is None:
                acquired = Acquisition(owner.member_id, owner.known, at, last, last)
                if owner in unseen:
                    acquired = acquired._replace(at=owner.current_at, offset=owner.current_offset, depends_on=NEVER)
                acquisitions[owner] = acquired
            stays.own(unit, acquired)
