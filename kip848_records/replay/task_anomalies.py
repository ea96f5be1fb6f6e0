"""Facts about a streams group that contradict the protocol: only its active tasks have one owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.anomalies import Anomalies
from kip848_records.replay.tasks import is_active

if TYPE_CHECKING:
    from collections.abc import Collection

    from kip848_records.replay.member import Claims, Member
    from kip848_records.replay.records import AnyMemberValue, Record


class TaskAnomalies(Anomalies):
    """The anomalies of an operation of a streams group."""

    def member(self, record: Record, value: AnyMemberValue) -> None:
        """Check a type 19: streams groups have no assignors, names or regular expressions."""

    def _shared(self, member: Member, holders: Claims) -> Collection[int]:
        return [unit for unit in super()._shared(member, holders) if is_active(unit)]

    def _name(self, partition: int) -> str:
        subtopology, number = self._context.numbers.name(partition)
        return f"task {subtopology}_{number}"
