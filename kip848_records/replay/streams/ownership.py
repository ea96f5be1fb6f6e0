"""The owners of a streams group's tasks: handovers of active tasks, and intervals of tasks in all roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from kip848_records.kinds import STREAMS
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.vocabulary import ACQUIRED, OPEN, REMOVED, UNKNOWN
from kip848_records.replay.modern.ownership_for_commits import OwnershipForCommits
from kip848_records.replay.modern.ownership_intervals import OwnershipIntervals, OwnershipWithIntervals
from kip848_records.replay.numbers import ROLES, is_active, role_name, task_of
from kip848_records.replay.rows import new_row
from kip848_records.specs.task_handover import TASK_HANDOVER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.group.owned_partitions import OwnedPartitions
    from kip848_records.replay.modern.handover import Handover
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.targets import Assignment, Targets
    from kip848_records.replay.modern.timelines.rebalances import Rebalances
    from kip848_records.replay.modern.waits import Waits
    from kip848_records.replay.streams.values import TopologyValue

_new_row: Final = new_row(TASK_HANDOVER)


class TaskIntervals(OwnershipIntervals):
    """The intervals of tasks. `stateful`: the subtopologies with changelog topics, None if the log shows none."""

    stateful: frozenset[str] | None = None

    def _columns(self, unit: int) -> dict[str, Any]:
        subtopology_id, number = self._context.numbers.name(task_of(unit))
        return {
            "topic_id": None,
            "subtopology_id": subtopology_id,
            "partition": number,
            "role": role_name(unit),
            "has_changelogs": None if self.stateful is None else subtopology_id in self.stateful,
        }


class TaskOwnership(OwnershipWithIntervals, OwnershipForCommits):
    """The owners of an incarnation's tasks; its gaps and stays are those of active tasks.

    `_stateful`: the subtopologies with changelog topics, by the last topology; None if it is not in the log.
    `_sources`: by subtopology, the topics that its tasks read.
    `_warm`: by active task that a member does not own yet, and this member: whether another thread of its process had
    the task, in any role, when the last assignment was written. `_left`: when a member of a process last gave up a task
    in any role, by task and process id, since the last rebalance ended.
    """

    group_type = STREAMS
    new_intervals = TaskIntervals

    def __init__(self, context: Context, targets: Targets, waits: Waits, rebalances: Rebalances) -> None:
        super().__init__(context, targets, waits, rebalances)
        self._stateful: frozenset[str] | None = None
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
        self._stateful = cast("TaskIntervals", self._intervals).stateful = value.stateful
        if self._stays is not None and self._sources != value.sources:
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

    def _settle(self, stays: OwnedPartitions, units: Iterable[int], unseen: Collection[Member] = ()) -> None:
        super()._settle(stays, filter(is_active, units), unseen)

    def _process_has(self, member: Member, unit: int) -> bool:
        process_id = member.process_id
        holders = (holder for role in ROLES for holder in self.holders.get(unit + role, ()))
        return process_id is not None and any(holder.process_id == process_id for holder in holders)

    def _move_holder(self, member: Member, held: frozenset[int]) -> None:
        at = self._context.operation.at
        self._left.update(((task_of(unit), member.process_id), at) for unit in member.held - held)
        super()._move_holder(member, held)

    def _release(self, member: Member, partition: int) -> None:
        if is_active(partition):
            super()._release(member, partition)

    def _acquire(self, member: Member, partition: int) -> None:
        if is_active(partition):
            super()._acquire(member, partition)

    def _begin_gap(self, partition: int, member: Member, at: int | None, *, was_wanted: bool) -> None:
        if is_active(partition):
            super()._begin_gap(partition, member, at, was_wanted=was_wanted)

    def _emit(self, partition: int, begin: int, handover: Handover, *, has_end: bool = True) -> None:
        context = self._context
        to_member = handover.to_member
        subtopology_id, task = context.numbers.name(partition)
        was_warm = None
        if to_member is not None:
            was_warm = self._warm.get((partition, to_member))
        has_changelogs = None if self._stateful is None else subtopology_id in self._stateful
        status = REMOVED if to_member is None else ACQUIRED
        if not has_end:
            status = UNKNOWN if self.is_lost else OPEN
        row = _new_row(
            context,
            group_type=STREAMS,
            subtopology_id=subtopology_id,
            connector=None,
            task=task,
            acquired_offset=handover.acquired_offset,
            from_member=handover.from_member,
            reason=None,
            released_at=handover.released_at,
            released_offset=handover.released_offset,
            to_member=to_member,
            acquired_at=handover.acquired_at,
            unowned_ms=handover.unowned_ms,
            unowned_max_ms=None,
            wanted=handover.was_wanted,
            wanted_ms=handover.wanted_ms,
            was_warm=was_warm,
            has_changelogs=has_changelogs,
            epoch=handover.epoch,
            status=status,
            ended_at=context.operation.at if has_end else None,
            expected_at=None,
            clock_skew=handover.is_skewed(context.operation, begin),
        )
        context.emit(row, begin, has_end=has_end, extra=(self._assigned,))
