"""The target assignment of a streams group: only active tasks have one target owner, and count as moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.targets import Targets
from kip848_records.replay.tasks import is_active

if TYPE_CHECKING:
    from kip848_records.replay.member import Member


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
