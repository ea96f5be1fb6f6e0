"""The intervals in which a member had a partition or a task: `ownership`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.modern.member import NOTHING
from kip848_records.replay.modern.ownership import Ownership
from kip848_records.replay.rows import new_row
from kip848_records.specs.ownership import OWNERSHIP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.targets import Targets
    from kip848_records.replay.modern.timelines.rebalances import Rebalances
    from kip848_records.replay.modern.waits import Waits

_new_row: Final = new_row(OWNERSHIP)

_NO_TASK: Final = dict.fromkeys(("subtopology_id", "role", "has_changelogs"))
_Begin = tuple[int | None, int, int]


class OwnershipIntervals:
    """The open intervals of an incarnation, each with its time and offset, and the offset that its row depends on."""

    def __init__(self, context: Context, group_type: str) -> None:
        self._context = context
        self._group_type = group_type
        self._open: dict[Member, dict[int, _Begin]] = {}

    def change(self, member: Member, owned: Iterable[int], *, is_seen: bool = True) -> None:
        """Begin and end a member's intervals with the operation, by what it owns after it.

        Not `is_seen`: its record was written before the history is complete. It has owned them at least since then.
        """
        units = self._open.get(member, {})
        owned = frozenset(owned)
        operation = self._context.operation
        for unit in sorted(units.keys() - owned):
            self._emit(member, unit, units.pop(unit), operation.at, has_end=True)
        begin = (operation.at, operation.last, operation.last)
        if not is_seen:
            begin = (member.current_at, member.current_offset, NEVER)
        for unit in sorted(owned - units.keys()):
            units[unit] = begin
        if units:
            self._open[member] = units
        else:
            self._open.pop(member, None)

    def end_all(self) -> None:
        """End all intervals with the operation: no member is left."""
        for member in list(self._open):
            self.change(member, ())

    def finish(self) -> None:
        """Write the intervals that are open at the end of the log."""
        self._end_open(None)

    def lose(self) -> None:
        """End all intervals, for all that is known, where records of the group are lost."""
        self._end_open(self._context.operation.at)
        self._open.clear()

    def _end_open(self, to_at: int | None) -> None:
        for member, units in self._open.items():
            for unit, begin in sorted(units.items()):
                self._emit(member, unit, begin, to_at, has_end=False)

    def _emit(self, member: Member, unit: int, begin: _Begin, to_at: int | None, *, has_end: bool) -> None:
        context = self._context
        from_at, from_offset, depends_on = begin
        duration_ms = ms_between(from_at, context.captured_at if to_at is None else to_at)
        row = _new_row(
            context,
            group_type=self._group_type,
            member_id=member.member_id,
            topic=None,
            from_at=from_at,
            from_offset=from_offset,
            to_at=to_at,
            duration_ms=duration_ms,
            clock_skew=context.operation.is_skewed(from_offset, duration_ms),
            **self._columns(unit),
        )
        context.emit(row, depends_on, has_end=has_end)

    def _columns(self, unit: int) -> dict[str, Any]:
        """Return the columns that name a unit: here, a topic partition."""
        topic_id, partition = self._context.numbers.name(unit)
        return _NO_TASK | {"topic_id": topic_id, "partition": partition}


class OwnershipWithIntervals(Ownership):
    """The owners of units in a kind of group whose members' intervals are rows, too: `group_type`."""

    group_type: str
    new_intervals = OwnershipIntervals

    def __init__(self, context: Context, targets: Targets, waits: Waits, rebalances: Rebalances) -> None:
        super().__init__(context, targets, waits, rebalances)
        self._intervals = self.new_intervals(context, self.group_type)

    def baseline(self, changed: Iterable[tuple[Member, frozenset[int]]]) -> None:
        """Set the owners without handovers, and begin their intervals."""
        changed = list(changed)
        super().baseline(changed)
        for member, held in changed:
            self._intervals.change(member, NOTHING if member.was_away else held, is_seen=False)

    def end_operation(self, changed: list[tuple[Member, frozenset[int]]]) -> None:
        """Apply the changed members' units at the end of an operation."""
        super().end_operation(changed)
        for member, held in changed:
            self._intervals.change(member, NOTHING if member.was_away else held)

    def end_all_gaps(self) -> None:
        """End all gaps and intervals: the group became Empty, or its incarnation ends."""
        super().end_all_gaps()
        self._intervals.end_all()

    def end_unseen(self) -> None:
        """End the intervals of an incarnation that ends while its state is unknown."""
        super().end_unseen()
        self._intervals.end_all()

    def lose(self) -> None:
        """Write what is open where records of the group are lost."""
        super().lose()
        self._intervals.lose()

    def finish(self, elapsed: int | None) -> None:
        """Write the gaps and intervals that are open at the end of the log."""
        super().finish(elapsed)
        self._intervals.finish()
