"""Consumer groups and classic groups whose clients follow a script."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kip848_records.kinds import CLASSIC, CONSUMER
from kip848_records.simulate.broker.classic import ClassicGroup
from kip848_records.simulate.broker.cluster import Cluster, uuid_of
from kip848_records.simulate.broker.member import Member
from kip848_records.simulate.broker.releases import RELEASES
from kip848_records.simulate.clients import Client, Clients
from tests.simulator.coordinator import Coordinator
from tests.simulator.scripted.script import Script

if TYPE_CHECKING:
    from kip848_records.simulate.broker.operation import Operation
    from tests.simulator.scripted.process import Process

_PARTITIONS = 12


class Coordinated(Script):
    """A group of the simulated coordinator."""

    def __init__(self, seed: object, group_id: str = "g") -> None:
        super().__init__(seed, group_id)
        self.cluster = Cluster()
        self.cluster.create("orders", _PARTITIONS, group_id)
        self.coordinator = Coordinator(group_id, self.cluster, RELEASES["4.3"], lambda time: time)

    def take_operations(self, until: int | None = None) -> list[Operation]:
        """Return and remove the operations up to a time (ms), or all."""
        operations = self.coordinator.take()
        later = [each for each in operations if until is not None and each.time > until]
        self.coordinator.operations = later
        return operations[: len(operations) - len(later)]

    def member(self, process: Process, member_id: str | None = None) -> Member:
        """Return a process as a member."""
        return Member(
            member_id or process.member_id,
            process.topics or (frozenset() if process.regex else self.topics),
            process.regex,
            process.instance_id,
            process.client_id,
            process.host,
            rebalance_timeout_ms=process.poll_ms,
            assignor=process.assignor if self.KIND == CONSUMER else None,
        )

    def new_id(self) -> str:
        """Return a new member id."""
        self._named += 1
        return uuid_of(self.group_id, self._named)


class ConsumerScript(Coordinated):
    """A consumer group."""

    KIND = CONSUMER

    def __init__(self, seed: object, group_id: str = "g") -> None:
        super().__init__(seed, group_id)
        self.clients = Clients(self.coordinator, self.rng, jitter_ms=200)
        self.clients.now = self.now
        self._clients: dict[str, Client] = {}

    def let_pass(self, time: int) -> None:
        """Let members send heartbeats up to a time (ms)."""
        self.clients.run_until(max(time, self.clients.now))

    def enter(self, process: Process) -> None:
        """Let the coordinator add a member, and resolve its regular expression."""
        self._clients[process.member_id] = self.clients.join(self.member(process), process.revoke_ms)
        self.clients.adopt()
        if process.regex and process.regex not in self.coordinator.consumers.regexes:
            self.at(self.now + 500, lambda: self.resolve(process.regex))

    def exit(self, member_id: str) -> None:
        """Let the coordinator remove a member."""
        self.clients.leave(self._clients.pop(member_id))

    def silence(self, process: Process) -> None:
        """Let a member send no more heartbeats."""
        self.clients.silence(self._clients[process.member_id])

    def go_away(self, process: Process) -> bool:
        """Let a static member say that it will be back."""
        self.silence(process)
        self.coordinator.go_away(self.now, process.member_id)
        self.clients.wake()
        return True

    def replace(self, process: Process, old: str) -> None:
        """Let a static member that is away come back."""
        client = self.clients.come_back(self._clients.pop(old), process.member_id)
        if client is None:
            raise ValueError(f"{old} is not away: the coordinator refuses {process.member_id}")
        self._clients[process.member_id] = client

    def revocations(self, process: Process) -> int:
        """Return how often a process has revoked partitions since its last start."""
        return self._clients[process.member_id].revocations

    def behind(self) -> int:
        """Return how many members have not reached the assigned epoch."""
        group = self.coordinator.consumers
        return sum(member.epoch < group.assignment_epoch for member in group.members.values())

    def resolve(self, regex: str) -> None:
        """Let the broker resolve a regular expression that says what topics begin with."""
        if any(member.regex == regex for member in self.coordinator.consumers.members.values()):
            start = regex.strip("^").removesuffix(".*")
            self.clients.resolve(regex, tuple(name for name in sorted(self.cluster.topics) if name.startswith(start)))


class ClassicScript(Coordinated):
    """A classic group: some seconds after a change, the members have joined again."""

    KIND = CLASSIC
    _ROUND_MS = 3_000

    def __init__(self, seed: object, group_id: str = "g") -> None:
        super().__init__(seed, group_id)
        self._is_joining = False
        self._known: frozenset[str] = frozenset()

    def let_pass(self, time: int) -> None:
        """Do nothing: heartbeats of classic members write no records."""

    def enter(self, process: Process) -> None:  # noqa: ARG002
        """Let a member join: a round begins, unless one has."""
        self.rejoin()

    def exit(self, member_id: str) -> None:  # noqa: ARG002
        """Let a member leave, likewise."""
        self.rejoin()

    def replace(self, process: Process, old: str) -> None:
        """Let a static member take its place again: the generation stays."""
        if old in self._known:
            self.coordinator.replace_classic(self.now, old, process.member_id)
            self._known = self._known - {old} | {process.member_id}

    def rejoin(self) -> None:
        """Let all members join again."""
        if not self._is_joining:
            self._is_joining = True
            self.at(self.now + self.rng.randint(1_000, self._ROUND_MS), self._complete)

    def _complete(self) -> None:
        self._is_joining = False
        if not self._silent.isdisjoint(self._there):
            return  # the join phase waits until they are removed
        members = [self.member(process, member_id) for member_id, process in self._there.items()]
        votes = Counter(process.assignor or "range" for process in self._there.values())
        protocol = votes.most_common(1)[0][0] if votes else "range"
        self._known = frozenset(self._there)
        self.coordinator.rebalance_classic(self.now, members, protocol)
        if isinstance(self.coordinator.group, ClassicGroup) and self.coordinator.group.waits:
            self.rejoin()
