"""The truth about a Connect cluster: when a worker starts or stops a connector or task, when the leader decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kip848_records.protocol.messages.classic import CONNECT_PROTOCOL_TYPE
from kip848_records.simulate.walks.connect import PROTOCOLS, ConnectWalk
from kip848_records.simulate.walks.connect_leader import NOTHING
from kip848_records.simulate.walks.connect_payloads import by_connector
from tests.simulator.walks.connect_units import UnitTruth
from tests.simulator.walks.generations import GenerationTruth, Outcome
from tests.simulator.walks.observed import Observed

if TYPE_CHECKING:
    from kip848_records.simulate.walks.connect_leader import Decision, Unit, Worker
    from tests.simulator.truth.rows import Row


class ConnectTruth:
    """Follows one Connect cluster."""

    def __init__(self, walk: ObservedConnectWalk) -> None:
        self._walk = walk
        self._generations = GenerationTruth(walk, CONNECT_PROTOCOL_TYPE)
        self._units = UnitTruth(walk)
        self.create, self.delete = self._generations.create, self._generations.delete
        self.stop = self._units.stop
        self._is_error = False
        self._read: dict[str, int] = {}

    def empty(self) -> None:
        """Note that no worker is left."""
        self._generations.empty()
        self._units.empty(self._walk._generation)

    def close(self, captured_at: int) -> None:
        """End all open rows."""
        self._generations.close(captured_at)
        self._units.close(captured_at)

    def complete(self, reason: str, rounds: int, joined_at: int, decision: Decision) -> None:
        """Note a round that was synced now: workers run what they keep and get, and what they are to give up."""
        walk, units, workers, version = self._walk, self._units, self._walk._workers, self._walk._version
        if decision.is_expired and reason in {"unknown", "config_changed"}:
            reason = "delay_expired"
        read = {worker.member_id: worker.config_offset for worker in workers}
        if reason == "unknown" and self._differs(read):
            reason = "config_mismatch"
        self._is_error, self._read = decision.is_error, read
        given = {unit: worker for worker in workers for unit in worker.running}
        for worker in workers:
            self._note_assignment(worker, decision)
        moved, ran = units.moved(given), units.running.keys() & given.keys()
        claimed = NOTHING.union(*(worker.claimed for worker in workers)) if version else NOTHING
        outcome = Outcome(
            units=len(given),
            moved=len(moved),
            stopped=len(moved if version else ran | set(moved)),
            unassigned=len(claimed - given.keys()),
            mode="cooperative" if version else "eager",
            leaves_open=decision.needs_follow_up or decision.delay_ms > 0,
            delay_ms=decision.delay_ms,
            revoked=len(decision.all_revoked),
        )
        ids = [worker.member_id for worker in workers]
        self._generations.complete(reason, rounds, joined_at, ids, ids[0], PROTOCOLS[version], outcome)
        units.complete(walk._generation, workers, given, decision)
        if not outcome.leaves_open:
            units.remove()

    def _differs(self, read: dict[str, int]) -> bool:
        """Whether the round before had an error, or a worker that was behind in it has read nothing since."""
        newest = max(self._read.values(), default=0)
        return self._is_error or any(self._read.get(each) == offset < newest for each, offset in read.items())

    def _note_assignment(self, worker: Worker, decision: Decision) -> None:
        walk, version = self._walk, self._walk._version
        row: Row = {"incarnation": walk.incarnation, "generation": walk._generation, "member_id": worker.member_id}
        row |= {"worker_url": worker.url, "version": version, "error": int(decision.is_error)}
        row |= {"delay_ms": decision.delay_ms, "worker_config_offset": worker.config_offset}
        row["config_offset"] = max(each.config_offset for each in walk._workers)
        assigned, revoked = (each.get(worker.member_id, NOTHING) for each in (decision.assigned, decision.revoked))
        owned = worker.claimed if version else NOTHING
        row |= {"owned": _listed(owned), "assigned": _listed(assigned), "revoked": _listed(revoked)}
        walk.note("connect_assignment", {**row, "running": _listed(worker.running)})


class ObservedConnectWalk(Observed, ConnectWalk):
    """A walk of a Connect cluster, with the truth."""

    TABLES = ("classic_generation", "connect_assignment", "task_handover", "rebalance")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.truth = ConnectTruth(self)


def _listed(units: frozenset[Unit]) -> list[dict[str, Any]]:
    return [{"connector": connector, "tasks": tasks} for connector, tasks in by_connector(units).items()]
