"""The owners of a streams group's tasks: handovers of active tasks, and intervals of tasks in all roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import STREAMS
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.vocabulary import ACQUIRED, OPEN, REMOVED, UNKNOWN
from kip848_records.replay.modern.handover import Handover
from kip848_records.replay.modern.ownership import Ownership
from kip848_records.replay.numbers import ROLES, is_active, task_of
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import TASK_HANDOVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.state import ModernState
    from kip848_records.replay.modern.targets import Assignment
    from kip848_records.replay.modern.timelines.rebalances import Rebalances
    from kip848_records.replay.modern.waits import Waits
    from kip848_records.replay.streams.values import TopologyValue

_write: Final = row_writer(
    TASK_HANDOVER, "connector", "reason", "unowned_max_ms", "expected_at", handover=Handover._fields
)


class TaskOwnership(Ownership):
    """The owners of an incarnation's tasks; its gaps and stays are those of active tasks.

    `_sources`: by subtopology, the topics that its tasks read.
    `_warm`: by active task that a member does not own yet, and this member: whether another thread of its process had
    the task, in any role, when the last assignment was written. `_left`: when a member of a process last gave up a task
    in any role, by task and process id, since the last rebalance ended.
    """

    has_intervals = True

    def __init__(self, group: ModernState, waits: Waits, rebalances: Rebalances) -> None:
        super().__init__(group, waits, rebalances)
        self._sources: Mapping[str, tuple[str, ...]] = {}
        self._warm: dict[tuple[int, str], bool] = {}
        self._assigned = NEVER
        self._left: dict[tuple[int, str | None], int | None] = {}

    def released_at(self, member: Member, partition: int) -> int | None:
        """Return since when no member has what excludes `member` from a task; None if it is not free, or not seen.

        An active task is free when no member has it as active and no member of the same process has it in any role.
        """
        task = task_of(partition)
        if any(task + role in member.held for role in ROLES):
            return None
        released = [self._left.get((task, member.process_id))]
        if is_active(partition):
            released.append(self._freed.get(partition))
        return max((at for at in released if at is not None), default=None)

    def end_rebalance(self) -> None:
        """Count the gaps that are open when a rebalance ends; no member awaits a task then."""
        super().end_rebalance()
        self._left.clear()

    def topology(self, value: TopologyValue) -> None:
        """Note a topology: which subtopologies have changelog topics, and which topics they read."""
        self._intervals.stateful = value.stateful
        if self._sources != value.sources:
            self._stays.begin_again()
        self._sources = value.sources

    def partitions_of(self, unit: int) -> Iterable[tuple[str | None, str | None, int]]:
        """Return the partitions that an active task reads, as if all its topics had as many.

        Topics that are joined do. Of others, the log does not show how many partitions they have.
        """
        subtopology_id, number = self._context.numbers.name(unit)
        return ((None, topic, number) for topic in self._sources.get(subtopology_id, ()))

    def assign(self, assignment: Assignment, members: Iterable[Member], *, is_complete: bool) -> None:
        """Note which of the assigned active tasks the members' processes have, before the operation changes that.

        Members reconcile the last assignment, so earlier ones need not be kept.
        """
        self._warm.clear()
        self._assigned = assignment.offset
        if is_complete:
            for member in members:
                for unit in filter(is_active, member.target - member.held):
                    self._warm[unit, member.member_id] = self._process_has(member, unit)

    def baseline(self, changed: Iterable[tuple[Member, frozenset[int]]]) -> None:
        """Set the owners without handovers: what their processes gave up before is unknown."""
        super().baseline(changed)
        self._left.clear()

    def _process_has(self, member: Member, unit: int) -> bool:
        process_id = member.process_id
        holders = (holder for role in ROLES for holder in self.holders.get(unit + role, ()))
        return process_id is not None and any(holder.process_id == process_id for holder in holders)

    def _move_holder(self, member: Member, held: frozenset[int], *, is_seen: bool = True) -> None:
        at = self._context.operation.at
        self._left.update(((task_of(unit), member.process_id), at) for unit in member.held - held)
        super()._move_holder(member, held, is_seen=is_seen)

    def _emit(
        self, partition: int, begin: int, handover: Handover, member: Member | None, *, has_end: bool = True
    ) -> None:
        context = self._context
        subtopology_id, task = context.numbers.name(partition)
        was_warm = None if member is None else self._warm.get((partition, member.member_id))
        stateful = self._intervals.stateful
        status = REMOVED if member is None else ACQUIRED
        if not has_end:
            status = UNKNOWN if self.is_lost else OPEN
        _write(
            context,
            begin,
            group_type=STREAMS,
            subtopology_id=subtopology_id,
            task=task,
            was_warm=was_warm,
            has_changelogs=None if stateful is None else subtopology_id in stateful,
            epoch=None if member is None else member.epoch,
            status=status,
            ended_at=context.operation.at if has_end else None,
            handover=handover,
            has_end=has_end,
            extra=(self._assigned,),
        )
