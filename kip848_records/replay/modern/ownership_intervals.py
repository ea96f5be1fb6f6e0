"""The intervals in which a member had a partition or a task: `ownership`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.lasting import Lasting
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import OWNERSHIP

if TYPE_CHECKING:
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.numbers import Units

_write: Final = row_writer(OWNERSHIP, "topic")

Begin = tuple[int | None, int, int]
"""Time and offset, and the offset that the row depends on."""


class OwnershipIntervals(Lasting[tuple["Member", int], Begin]):
    """The open intervals of an incarnation, by member and unit.

    `stateful`: the subtopologies with changelog topics, None if the log shows none.
    """

    def __init__(self, context: Context, group_type: str, units: Units) -> None:
        super().__init__(context)
        self._group_type = group_type
        self._units = units
        self.stateful: frozenset[str] | None = None

    def change(self, member: Member, before: frozenset[int], owned: frozenset[int], begin: Begin) -> None:
        """End a member's intervals with the operation, and begin others, by what it owned before and owns now."""
        for unit in before - owned:
            self.end((member, unit))
        for unit in owned - before:
            self._open[member, unit] = begin

    def _emit(
        self, key: tuple[Member, int], begin: Begin, at: int | None, _: int | None, *, has_end: bool = True
    ) -> None:
        context = self._context
        member, unit = key
        from_at, from_offset, depends_on = begin
        duration_ms = ms_between(from_at, context.captured_at if at is None else at)
        topic_id, number, subtopology_id, role = self._units.name(unit)
        _write(
            context,
            depends_on,
            group_type=self._group_type,
            member_id=member.member_id,
            topic_id=topic_id,
            partition=number,
            subtopology_id=subtopology_id,
            role=role,
            has_changelogs=None if self.stateful is None else subtopology_id in self.stateful,
            from_at=from_at,
            from_offset=from_offset,
            to_at=at,
            duration_ms=duration_ms,
            clock_skew=context.operation.is_skewed(from_offset, duration_ms),
            has_end=has_end,
        )
