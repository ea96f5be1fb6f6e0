"""The truth about a streams group: what its coordinator has in memory at the end of each operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kip848_records.kinds import STREAMS
from kip848_records.simulate.walks.streams import StreamsWalk
from kip848_records.simulate.walks.streams_group import ACTIVE, NOTHING, SUBTOPOLOGY
from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED
from tests.simulator.walks.observed import Observed
from tests.simulator.walks.open_rows import Intervals, OpenEpochs, OpenRebalance

if TYPE_CHECKING:
    from kip848_records.simulate.walks.streams_group import StreamsGroup
    from tests.simulator.truth.rows import Row


class _Release(NamedTuple):
    member_id: str
    at: int


class StreamsTruth:
    """Follows one streams group."""

    def __init__(self, walk: ObservedStreamsWalk) -> None:
        self._walk = walk
        self._states = Intervals(walk, "group_state_timeline")
        self._owned = Intervals(walk, "ownership")
        self._epochs = OpenEpochs(walk, STREAMS)
        self._rebalance = OpenRebalance(walk, STREAMS)
        self._members_before = 0
        self._assigning_since: int | None = None
        self._owners: dict[int, str] = {}
        self._free: dict[int, _Release] = {}
        self._warm: dict[tuple[int, str], bool] = {}
        """Whether a thread's process had a task when the task became its target."""
        self._targets: dict[int, str] | None = None

    def bump(self, group: StreamsGroup, cause: str) -> None:
        """Note a new epoch, and the rebalance that it begins or continues."""
        offset = self._walk.offset()
        row = self._rebalance.bump(group.epoch, cause, offset, self._members_before)
        row.setdefault("partitions_moved", 0)
        self._epochs.bump(group.epoch, cause, offset, members=len(group.threads), partitions_moved=None)

    def assign(self, group: StreamsGroup) -> None:
        """Note an assignment, and who has its tasks already."""
        threads = group.threads
        owners = {task: m for m, thread in threads.items() for task in thread.target[ACTIVE]}
        before = self._targets
        moved = None if before is None else sum(owners[task] != before[task] for task in owners.keys() & before.keys())
        self._epochs.assign(partitions_moved=moved)
        self._add_moved(moved)
        self._targets = owners
        self._warm = {
            (task, m): any(other.has(task) for other in threads.values() if other.process == threads[m].process)
            for task, m in owners.items()
            if not threads[m].holds(ACTIVE, task)
        }

    def end_operation(self, group: StreamsGroup) -> None:
        """Note what is different from the end of the operation before."""
        offset, state = self._walk.end_of_operation(), group.state
        held = {
            (m, role, task)
            for m, thread in group.threads.items()
            for role in NOTHING
            for task in thread.assigned[role] | thread.pending[role]
        }
        task_of = {"group_type": STREAMS, "subtopology_id": SUBTOPOLOGY}
        self._owned.follow(
            {key: task_of | dict(zip(("member_id", "role", "partition"), key, strict=True)) for key in held}, offset
        )
        self._note_handovers(group)
        row = {"group_type": STREAMS, "state": state, "hides_rebalance": False}
        self._states.follow({state: row}, offset)
        if state == "Empty":
            self._targets = None
        self._run_assigning(is_assigning=bool(group.threads) and group.epoch > group.assignment_epoch)
        if state in {"Stable", "Empty"}:
            outcome = "converged" if state == "Stable" else "emptied"
            self._epochs.end(outcome, group.epoch)
            self._rebalance.end(outcome, len(group.threads) or self._members_before)
        self._members_before = len(group.threads)

    def close(self, captured_at: int) -> None:
        """End all open rows."""
        group = self._walk._group
        self._states.close(captured_at)
        self._owned.close(captured_at)
        for task, (before, at) in self._free.items():
            row = self._handover(task, before) | {"status": "open", "unowned_ms": captured_at - at}
            self._walk.note("task_handover", row | {"released_at": at, "history": RIGHT_CENSORED})
        self._epochs.end("open", group.epoch, RIGHT_CENSORED)
        self._run_assigning(is_assigning=False, now=captured_at)
        self._rebalance.end("open", len(group.threads), captured_at)

    def _add_moved(self, moved: int | None) -> None:
        """Add the moves of an assignment; None until one can be compared with another."""
        row = self._rebalance.row
        if row is not None:
            known = [each for each in (row.get("compared"), moved) if each is not None]
            row["compared"] = row["partitions_moved"] = sum(known) if known else None

    def _run_assigning(self, *, is_assigning: bool, now: int | None = None) -> None:
        """Count the time in which the group epoch is above the assignment epoch."""
        now, since, row = now or self._walk.now, self._assigning_since, self._rebalance.row
        if since is not None and row is not None:
            row["assigning_ms"] += now - since
        self._assigning_since = now if is_assigning else None

    def _note_handovers(self, group: StreamsGroup) -> None:
        threads, now = group.threads, self._walk.now
        owners = {t: m for m, thread in threads.items() for t in thread.assigned[ACTIVE] | thread.pending[ACTIVE]}
        for task, before in self._owners.items():
            if owners.get(task) != before:
                self._free[task] = _Release(before, now)
        for task, owner in owners.items():
            if self._owners.get(task) != owner:
                release = self._free.pop(task, None)
                row = self._handover(task, None if release is None else release.member_id)
                row |= {"to_member": owner, "status": "acquired", "acquired_at": now, "ended_at": now}
                row |= {"was_warm": self._warm.get((task, owner)), "epoch": threads[owner].epoch}
                if release is not None:
                    row |= {"released_at": release.at, "unowned_ms": now - release.at}
                self._walk.note("task_handover", row)
        self._owners = owners
        wanted = {task for thread in threads.values() for task in thread.target[ACTIVE]}
        is_assigned = group.epoch == group.assignment_epoch
        for task in [task for task in self._free if not threads or (is_assigned and task not in wanted)]:
            before, at = self._free.pop(task)
            row = self._handover(task, before) | {"status": "removed", "released_at": at, "ended_at": now}
            self._walk.note("task_handover", row | {"unowned_ms": now - at})

    def _handover(self, task: int, before: str | None) -> Row:
        row = {"incarnation": self._walk.incarnation, "group_type": STREAMS, "subtopology_id": SUBTOPOLOGY}
        return row | {"task": task, "from_member": before, "history": OBSERVED, "clock_skew": False}


class ObservedStreamsWalk(Observed, StreamsWalk):
    """A walk of a streams group, with the truth."""

    TABLES = ("epoch_timeline", "rebalance", "group_state_timeline", "task_handover", "ownership")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.truth = StreamsTruth(self)

    def step(self) -> None:
        super().step()
        if self.wrote_now():
            self.truth.end_operation(self._group)
