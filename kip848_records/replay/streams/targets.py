"""The target assignment of a streams group, and its anomalies: only active tasks have one owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.modern.anomalies import Anomalies
from kip848_records.replay.modern.targets import Targets
from kip848_records.replay.numbers import is_active

if TYPE_CHECKING:
    from collections.abc import Collection

    from kip848_records.replay.modern.member import Claims, Member


class TaskTargets(Targets):
    """The target owner of each active task by the types 21. The target of a member has its tasks in all roles."""

    def retarget(self, member: Member, target: frozenset[int]) -> None:
        """Replace a member's target."""
        before, member.target = member.target, target
        for unit in filter(is_active, before - target):
            self._change(unit)
            self.claims.remove(unit, member)
        for unit in filter(is_active, target - before):
            self._change(unit)
            self.claims.add(unit, member)


class TaskAnomalies(Anomalies):
    """The anomalies of an operation of a streams group."""

    def _shared(self, member: Member, holders: Claims) -> Collection[int]:
        return [unit for unit in super()._shared(member, holders) if is_active(unit)]

    def _name(self, partition: int) -> str:
        subtopology, number = self._context.numbers.name(partition)
        return f"task {subtopology}_{number}"
