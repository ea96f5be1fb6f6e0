"""The truth about connectors and tasks that change their worker, or run on none: `task_handover`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kip848_records.kinds import CLASSIC
from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.simulate.walks.connect_leader import Decision, Unit, Worker
    from tests.simulator.truth.rows import At, Row
    from tests.simulator.walks.observed import Observed


class _Stop(NamedTuple):
    """The last worker of a unit, with its id at that time, and when the unit stopped (ms)."""

    url: str
    member_id: str
    at: int


class UnitTruth:
    """Notes when units start and stop. `owners`: the URL of the last worker of each unit since the group was Empty."""

    def __init__(self, walk: Observed) -> None:
        self._walk = walk
        self.owners: dict[Unit, str] = {}
        self.running: dict[Unit, Worker] = {}
        """The units that ran after the last round, though they may have stopped since."""
        self._stops: dict[Unit, _Stop] = {}
        self._without_worker: dict[Unit, Row] = {}

    def stop(self, worker: Worker, units: frozenset[Unit]) -> None:
        """Note that a worker stops units now."""
        for unit in units:
            self._stops[unit] = _Stop(worker.url, worker.member_id, self._walk.now)

    def moved(self, given: Mapping[Unit, Worker]) -> list[Unit]:
        """Return the units that another worker than their last one gets."""
        return [unit for unit, worker in given.items() if self.owners.get(unit, worker.url) != worker.url]

    def complete(
        self, generation: int, workers: list[Worker], given: Mapping[Unit, Worker], decision: Decision
    ) -> None:
        """Note a round that was synced now, before workers give up what it revokes."""
        offset = self._walk.offset()
        for unit, worker in given.items():
            waiting, stop = self._without_worker.pop(unit, None), self._stops.pop(unit, None)
            if stop is None or (waiting is None and stop.url == worker.url):
                continue  # it is new, it goes on, or it started again where it was
            row = {**self._row(unit, stop, "direct", None), "expected_at": None} if waiting is None else waiting
            ended = {"to_member": worker.member_id, "acquired_at": self._walk.now, "acquired_offset": offset}
            ended |= {"released_at": stop.at, "unowned_ms": self._walk.now - stop.at, "epoch": generation}
            self._note(row | ended | {"status": "acquired", "ended_at": self._walk.now})
        present = {worker.member_id for worker in workers}
        for unit in sorted(self.running.keys() - given.keys()):
            worker = self.running[unit]
            stop = self._stops.get(unit)
            last_id = worker.member_id if stop is None else stop.member_id
            reason = "worker_left"
            if last_id in present:
                reason = "revoked" if unit in decision.all_revoked else "unassigned"
            row = self._row(unit, _Stop(worker.url, last_id, self._walk.now), reason, offset)
            self._without_worker[unit] = {**row, "epoch": generation, "expected_at": None}
        if decision.delay_ms:
            for row in self._without_worker.values():
                row["expected_at"] = self._walk.now + decision.delay_ms
        self.running = dict(given)
        self.owners |= {unit: worker.url for unit, worker in given.items()}

    def remove(self) -> None:
        """Note that the units without a worker do not come back: they were deleted, or the cluster is empty."""
        for unit, row in self._without_worker.items():
            self._stops.pop(unit, None)
            self._note(row | {"status": "removed", "ended_at": self._walk.now})
        self._without_worker = {}

    def empty(self, generation: int) -> None:
        """Note that no worker is left."""
        offset = self._walk.offset()
        for unit in sorted(self.running):
            row = self._row(unit, self._stops[unit], "worker_left", offset)
            self._without_worker[unit] = {**row, "epoch": generation, "expected_at": None}
        self.remove()
        self.owners, self.running, self._stops = {}, {}, {}

    def close(self, captured_at: int) -> None:
        """Note the units without a worker at the end of the log."""
        for unit, row in self._without_worker.items():
            unowned_ms = captured_at - self._stops[unit].at
            self._note(row | {"status": "open", "unowned_ms": unowned_ms, "history": RIGHT_CENSORED})

    def _row(self, unit: Unit, stop: _Stop, reason: str, offset: At | None) -> Row:
        connector, task = unit
        row = {"incarnation": self._walk.incarnation, "group_type": CLASSIC, "connector": connector, "task": task}
        row |= {"from_member": stop.member_id, "reason": reason, "released_offset": offset}
        return {**row, "history": OBSERVED, "clock_skew": False}

    def _note(self, row: Row) -> None:
        self._walk.note("task_handover", row)
