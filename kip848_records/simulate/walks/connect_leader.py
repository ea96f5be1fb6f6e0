"""The leader of a Connect cluster, which decides what each worker runs.

It follows `IncrementalCooperativeAssignor` of Kafka, and `EagerAssignor` in version 0: workers differ by one unit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Unit = tuple[str, int]
"""A connector's name, and one of its tasks; task -1 is the connector itself."""

NOTHING: frozenset[Unit] = frozenset()


@dataclass(eq=False)
class Worker:
    """A worker. `running`: what it runs; `claimed`: what it ran when it last joined. `config_offset`: read up to it."""

    member_id: str
    url: str
    config_offset: int
    running: frozenset[Unit] = NOTHING
    claimed: frozenset[Unit] = NOTHING
    client_id: str = "connect"
    host: str = "/h"


@dataclass
class Decision:
    """A leader's answer in a round, by member id.

    `is_error`: it has not read the configuration far enough, so that no worker gets anything. `is_expired`: the delay
    of an earlier round is over.
    """

    is_error: bool = False
    is_expired: bool = False
    delay_ms: int = 0
    assigned: dict[str, set[Unit]] = field(default_factory=dict)
    revoked: dict[str, frozenset[Unit]] = field(default_factory=dict)

    @property
    def all_revoked(self) -> frozenset[Unit]:
        """All units that workers have to give up."""
        return NOTHING.union(*self.revoked.values())

    @property
    def needs_follow_up(self) -> bool:
        """Whether the workers join again at once."""
        return self.is_error or bool(self.all_revoked)


class Leader:
    """The leader's memory between rounds, which is lost with its worker.

    `delay_until`: when it gives the units of workers that left to others; None if it waits for none.
    """

    def __init__(self, max_delay_ms: int) -> None:
        self._max_delay_ms = max_delay_ms
        self._worker: Worker | None = None
        self._previous: frozenset[Unit] = NOTHING
        self.delay_until: int | None = None

    def decide(self, workers: list[Worker], configured: frozenset[Unit], version: int, now: int) -> Decision:
        """Return the answer of a round: the first worker is the leader."""
        leader = workers[0]
        if leader is not self._worker:
            self._worker, self._previous, self.delay_until = leader, NOTHING, None
        if leader.config_offset < max(worker.config_offset for worker in workers):
            return Decision(is_error=True)
        if version == 0:
            return Decision(assigned=_shares(configured, {worker.member_id: 0 for worker in workers}))
        return self._decide_changes(workers, configured, now)

    def _decide_changes(self, workers: list[Worker], configured: frozenset[Unit], now: int) -> Decision:
        """Decide what workers start and stop; they go on with everything else."""
        active = NOTHING.union(*(worker.claimed for worker in workers))
        lost = (self._previous - active) & configured
        decision = Decision(is_expired=self.delay_until is not None and now >= self.delay_until)
        if not lost or decision.is_expired or not self._max_delay_ms:
            self.delay_until = None
            free = configured - active
        else:
            self.delay_until = self.delay_until or now + self._max_delay_ms
            decision.delay_ms = self.delay_until - now
            free = configured - active - lost
        least, with_more = divmod(len(configured), len(workers))
        kept: dict[str, int] = {}
        for rank, worker in enumerate(sorted(workers, key=lambda worker: -len(worker.claimed & configured))):
            stays = sorted(worker.claimed & configured)
            if self.delay_until is None:
                stays = stays[: least + (rank < with_more)]
            kept[worker.member_id] = len(stays)
            decision.revoked[worker.member_id] = worker.claimed - set(stays)
        decision.assigned = _shares(free, kept)
        self._previous = (active - decision.all_revoked) | free | (lost if decision.delay_ms else NOTHING)
        return decision


def _shares(units: Iterable[Unit], loads: Mapping[str, int]) -> dict[str, set[Unit]]:
    """Give each unit to the worker with the smallest load."""
    shares: dict[str, set[Unit]] = {member_id: set() for member_id in loads}
    for unit in sorted(units):
        least = min(shares, key=lambda member_id: loads[member_id] + len(shares[member_id]))
        shares[least].add(unit)
    return shares
