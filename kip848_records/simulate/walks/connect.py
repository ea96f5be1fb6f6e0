"""A random walk of a Connect cluster: workers that come, die and return, and a configuration that changes."""

from __future__ import annotations

from typing import Any, Final

from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages.classic import CONNECT_PROTOCOL_TYPE
from kip848_records.simulate.walks.connect_leader import NOTHING, Decision, Leader, Unit, Worker
from kip848_records.simulate.walks.connect_payloads import Assignment, assignment_bytes, subscription_bytes
from kip848_records.simulate.walks.walk import Walk

PROTOCOLS: Final = ("default", "compatible", "sessioned")
"""By version."""
_DELAYS_MS: Final = (0, 10_000, 60_000)
"""`scheduled.rebalance.max.delay.ms` of the clusters."""
_WORKERS: Final = 4
"""The usual number of workers."""
_GIVEN_UP: Final = 4
"""The most rounds that are given up in a row."""


class ConnectWalk(Walk):
    """One Connect cluster. Each step is one reason to rebalance; workers join at once after a revocation."""

    LONGEST_STEP_MS = 60_000

    def __init__(self, seed: object, group_id: str = "g", event_ms: int = 30_000) -> None:
        super().__init__(seed, group_id, event_ms)
        self._version = self.rng.choice([0, 1, 1, 2])
        self._leader = Leader(self.rng.choice(_DELAYS_MS))
        self._workers: list[Worker] = []
        self._gone: list[str] = []
        self._tasks: dict[str, int] = {}
        """The number of tasks by connector; -1 before its tasks are configured."""
        self._config_offset = 0
        self._generation: int | None = None
        """The last one; None without a group."""

    def pause(self) -> int:
        """Return the time up to the next event, or until the workers join again because a delay is over."""
        pause, until = super().pause(), self._leader.delay_until
        return pause if until is None else min(pause, max(1, until - self.now + self.rng.randint(0, 50)))

    def step(self) -> None:
        """Let a worker come or go, the configuration change, or a delay end."""
        if not self._workers:
            self._begin()
        elif self._leader.delay_until is not None and self.now >= self._leader.delay_until:
            self._rebalance("unknown")
        else:
            steps = {self._join: _WORKERS, self._kill: len(self._workers), self._restart: 2, self._kill_all: 1}
            steps |= {self._configure: 8, self._upgrade: 1, self._rejoin: 2}
            self.rng.choices(list(steps), list(steps.values()))[0]()

    def _begin(self) -> None:
        if self._generation and self.chance(0.3):
            self.write(KeyType.GROUP_METADATA, {"group": self.group_id}, None)
            self._generation = None
            self.tell("delete")
            return
        if self._generation is None:
            self._create()
        for _ in range(self.rng.randint(1, 3)):
            self._start_worker()
        self._rebalance("unknown")

    def _create(self) -> None:
        """The first worker asks to join: there is a group, without a round."""
        self._generation = 0
        self._write("", [], self.now)
        self.tell("create")

    def _join(self) -> None:
        self._start_worker()
        self._rebalance("unknown")

    def _kill(self) -> None:
        if len(self._workers) == 1:
            self._kill_all()
        else:
            self._stop_worker()
            self._rebalance("unknown")

    def _kill_all(self) -> None:
        while self._workers:
            self._stop_worker()
        self._leader = Leader(self.rng.choice(_DELAYS_MS))
        self.pass_time()
        self._generation = (self._generation or 0) + 1
        self._write(CONNECT_PROTOCOL_TYPE, [], self.now)
        self.tell("empty")

    def _restart(self) -> None:
        """A worker is back under the same URL before the next round: it has a new id, and runs nothing."""
        url = self._stop_worker()
        self._gone.remove(url)
        self._start_worker(url)
        self._rebalance("unknown")

    def _configure(self) -> None:
        """Create a connector, whose tasks follow when it runs, delete one, or change the number of tasks."""
        what = self.rng.choice(["create", "create", "delete", "resize"]) if self._tasks else "create"
        if what == "create":
            name = f"c{self.new_id()}"
            self._tasks[name] = 0
            self._change_configuration()
            self.pass_time()
            if self._workers and name in self._tasks:
                self._tasks[name] = self.rng.randint(1, 4)
                self._change_configuration()
            return
        name = self.rng.choice(list(self._tasks))
        if what == "delete":
            del self._tasks[name]
        else:
            self._tasks[name] = (self._tasks[name] + self.rng.randint(1, 3)) % 6
        self._change_configuration()

    def _change_configuration(self) -> None:
        """Write to the configuration topic; one worker may not have read it when the workers join."""
        self._config_offset += self.rng.randint(1, 5)
        behind = self.rng.choice(self._workers)
        for worker in self._workers:
            if worker is not behind or self._leader.delay_until is not None or self.chance(0.6):
                worker.config_offset = self._config_offset
        self._rebalance("config_changed")

    def _upgrade(self) -> None:
        """All workers agree on the next protocol. It is an event of its own only from version 1 on."""
        if self._version != 1:
            self._rejoin()
            return
        self._version = 2
        self._rebalance("protocol_changed")

    def _rejoin(self) -> None:
        self._rebalance("unknown")

    def _start_worker(self, url: str | None = None) -> None:
        if url is None and self._gone and self.chance(0.7):
            url = self._gone.pop(self.rng.randrange(len(self._gone)))
        member_id = self.new_id()
        self._workers.append(Worker(member_id, url or f"http://{member_id}:8083/", self._config_offset))

    def _stop_worker(self, worker: Worker | None = None) -> str:
        """Kill a worker, any if none is given, and return its URL."""
        if worker is None:
            worker = self._workers[self.rng.randrange(len(self._workers))]
        self._workers.remove(worker)
        self._stop_units(worker, worker.running)
        self._gone.append(worker.url)
        return worker.url

    def _stop_units(self, worker: Worker, units: frozenset[Unit]) -> None:
        self.tell("stop", worker, units)
        worker.running -= units

    def _rebalance(self, reason: str) -> None:
        """Complete a round, which others may precede that were given up, and the rounds that follow at once."""
        rounds = 1
        while self.chance(0.2) and rounds <= _GIVEN_UP:
            self.pass_time()
            rounds += 1
            if self.chance(0.5):
                self._start_worker()
            elif len(self._workers) > 1:
                self._stop_worker()
        decision = self._round(reason, rounds)
        may_stop = self.chance(0.1)
        while decision.needs_follow_up:
            if may_stop and len(self._workers) > 1:
                may_stop = False
                self._stop_worker()
            decision = self._round("unknown" if decision.is_error else "follow_up", 1)

    def _round(self, reason: str, rounds: int) -> Decision:
        workers, version = self._workers, self._version
        if version == 0:
            for worker in workers:
                self.pass_time(1, 50)
                self._stop_units(worker, worker.running)
        joined_at = self.pass_time()
        if all(worker.config_offset < self._config_offset for worker in workers):
            workers[0].config_offset = self._config_offset
        for worker in workers:
            worker.claimed = worker.running
        configured = frozenset((name, task) for name, tasks in self._tasks.items() for task in range(-1, tasks))
        decision = self._leader.decide(workers, configured, version, joined_at)
        self.pass_time(1, 500)
        for worker in workers:
            kept = worker.claimed - decision.revoked.get(worker.member_id, NOTHING)
            worker.running = kept | decision.assigned.get(worker.member_id, NOTHING)
        self._generation = (self._generation or 0) + rounds
        members = [self._member(worker, decision) for worker in workers]
        self._write(CONNECT_PROTOCOL_TYPE, members, joined_at, workers[0].member_id, PROTOCOLS[version])
        self.tell("complete", reason, rounds, joined_at, decision)
        for worker in workers:
            revoked = decision.revoked.get(worker.member_id, NOTHING)
            if revoked:
                self.pass_time(1, 20)
                self._stop_units(worker, revoked)
            worker.config_offset = self._config_offset
        return decision

    def _member(self, worker: Worker, decision: Decision) -> dict[str, Any]:
        """Return a worker as the record has it."""
        leader, version = self._workers[0], self._version
        newest = max(each.config_offset for each in self._workers)
        head = (leader.member_id, leader.url)
        assigned = frozenset(decision.assigned.get(worker.member_id, ()))
        revoked = decision.revoked.get(worker.member_id, NOTHING)
        answer = Assignment(version, int(decision.is_error), *head, newest, assigned, revoked, decision.delay_ms)
        claims = Assignment(version, 0, *head, worker.config_offset, worker.claimed, NOTHING, 0)
        allocation = claims if worker.claimed else None
        return {
            "memberId": worker.member_id,
            "groupInstanceId": None,
            "clientId": worker.client_id,
            "clientHost": worker.host,
            "rebalanceTimeout": 60_000,
            "sessionTimeout": 10_000,
            "subscription": subscription_bytes(version, worker.url, worker.config_offset, allocation),
            "assignment": assignment_bytes(answer),
        }

    def _write(
        self,
        protocol_type: str,
        members: list[dict[str, Any]],
        state_at: int,
        leader: str | None = None,
        protocol: str | None = None,
    ) -> None:
        value = {"protocolType": protocol_type, "generation": self._generation, "protocol": protocol, "leader": leader}
        timed = {"currentStateTimestamp": state_at, "members": members}
        self.write(KeyType.GROUP_METADATA, {"group": self.group_id}, {**value, **timed})
