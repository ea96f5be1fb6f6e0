"""The random events of one group over time."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from kip848_records.simulate.broker.classic import ClassicGroup
from kip848_records.simulate.broker.cluster import Cluster, uuid_of
from kip848_records.simulate.broker.coordinator import Coordinator
from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.member import Member
from kip848_records.simulate.clients import SESSION_TIMEOUT_MS, Client, Clients
from kip848_records.simulate.profiles import PROFILES, group_id
from kip848_records.simulate.spec import START_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kip848_records.simulate.broker.coordinator import Clock, Observer
    from kip848_records.simulate.spec import Simulation


_KEEPS_ID: Final = 3
"""One of this many static members that come back has the member id that it had before."""


class GroupScenario:
    """One group, from its first member to the end of the simulation."""

    def __init__(self, spec: Simulation, number: int, clock: Clock) -> None:
        self.spec = spec
        self.number = number
        self.random = Random(f"{spec.seed}/group/{number}")  # noqa: S311 - a log, not a secret
        self.group_id = group_id(spec, number)
        self.kind = self.group_id.split("-")[0]
        self.profile = PROFILES[self.kind]
        self.cluster = Cluster()
        for name, partitions in spec.topics():
            self.cluster.create(name, partitions, spec.seed)
        coordinator = Coordinator(self.group_id, self.cluster, spec.kafka, clock)
        self.clients = Clients(coordinator, self.random, jitter_ms=200)
        self.clients.now = START_MS
        self.topics = self._other_topics()
        self.regex = f"^{self.kind}-.*" if self.profile.has_regex else ""
        self.size = spec.size(number, self.random)
        self._named = 0
        self._committed: Callable[[], Collection[tuple[str, int]]] = tuple
        self._classic: list[Member] = []
        self.clients.on_fenced = self._rejoin
        self._plan_topics()
        self._begin()

    def watch(self, observers: Collection[Observer], committed: Callable[[], Collection[tuple[str, int]]]) -> None:
        """Set the observers of all events; `committed` returns the partitions whose offsets go with the group."""
        self.clients.coordinator.watch(observers)
        self._committed = committed

    def run_until(self, time: int) -> None:
        """Run all events before `time`."""
        self.clients.run_until(time)

    def _begin(self) -> None:
        """Plan the first members, and the first event."""
        first = self.clients.now + self.random.randint(0, 60_000)
        if self.profile.starts_classic:
            self.clients.at(first, self._rebalance)
        else:
            for _ in range(self.size):
                self.clients.at(first + self.random.randint(0, 20_000), self._join)
        self._plan_event(first + 30_000)

    def _plan_event(self, earliest: int) -> None:
        mean = 1000 * self.spec.happening_s / self.profile.event_rate
        self.clients.at(earliest + round(self.random.expovariate(1 / mean)), self._happen)

    def _happen(self) -> None:
        kinds = self.profile.event_weights
        kind = self.random.choices(list(kinds), list(kinds.values()))[0]
        action: Callable[[], None] = getattr(self, f"_{kind}")
        action()
        self._plan_event(self.clients.now)

    def _plan_topics(self) -> None:
        """Plan the changes of topics; members find them at their next heartbeat."""
        for time, name, partitions in self.spec.growths():
            self._plan_change(time, partial(self.cluster.grow, name, partitions))
        for topic in self.spec.recreations():
            self._plan_change(topic.deleted_at, partial(self.cluster.delete, topic.name))
            self._plan_change(topic.created_at, partial(self.cluster.create, topic.name, topic.partitions, topic.seed))

    def _plan_change(self, time: int, change: Callable[[], object]) -> None:
        def change_and_wake() -> None:
            change()
            self.clients.wake()

        self.clients.at(time, change_and_wake)

    @property
    def _consumers(self) -> ConsumerGroup | None:
        group = self.clients.coordinator.group
        return group if isinstance(group, ConsumerGroup) else None

    def _any_client(self) -> Client | None:
        return self.random.choice(list(self.clients.alive.values())) if self.clients.alive else None

    def _new_member(self, instance_id: str | None = None) -> Member:
        self._named += 1
        if self.profile.is_static and instance_id is None:
            instance_id = f"{self.group_id}-{self._named}"
        return Member(
            uuid_of(self.spec.seed, self.group_id, self._named),
            topics=frozenset() if self.regex else self.topics,
            regex=self.regex,
            instance_id=instance_id,
            client_id=f"{self.kind}-app",
            client_host=f"/10.0.{self._named % 256}.{self.random.randint(1, 254)}",
            rebalance_timeout_ms=self._rebalance_timeout(),
            assignor="range" if self.kind == "slow" else None,
        )

    def _rebalance_timeout(self) -> int:
        return self.random.choice([60_000, 300_000, 86_400_000]) if self.profile.has_stuck_member else 300_000

    def _join(self) -> None:
        if isinstance(self.clients.coordinator.group, ClassicGroup) or len(self.clients.alive) >= 2 * self.size:
            return
        self._enter(self._new_member())

    def _enter(self, member: Member) -> None:
        is_stuck = self.profile.has_stuck_member and self._named % self.size == 1
        revoke_ms = None if is_stuck else self.random.randint(*self.profile.revoke_ms)
        self.clients.join(member, revoke_ms)
        group = self._consumers
        if self.regex and group is not None and self.regex not in group.regexes:
            self.clients.at(self.clients.now + self.random.randint(10, 900), self._resolve)

    def _resolve(self) -> None:
        if self._consumers is not None and self._consumers.members and self.regex not in self._consumers.regexes:
            self.clients.resolve(self.regex, tuple(sorted(self.topics)))

    def _flap(self) -> None:
        """Let the regular expression match one topic more, one less, or its previous topics."""
        group = self._consumers
        if group is None or self.regex not in group.regexes:
            return
        found = set(group.regexes[self.regex]) ^ {self.random.choice(sorted(self._other_topics()))}
        if self.random.random() < 1 / 4:
            found = set(group.regexes[self.regex])
        self.clients.resolve(self.regex, tuple(sorted(found)))

    def _leave(self) -> None:
        client = self._any_client()
        if client is not None and (len(self.clients.alive) > 1 or self.random.random() < 1 / 4):
            self.clients.leave(client)

    def _crash(self) -> None:
        client = self._any_client()
        if client is not None:
            self.clients.crash(client)

    def _pause(self) -> None:
        """Let a member stay silent for longer than its session, and join again under the same member id."""
        client = self._any_client()
        group = self._consumers
        if client is not None and group is not None:
            member = group.members[client.member_id]
            self.clients.crash(client)
            back = self.clients.now + SESSION_TIMEOUT_MS + self.random.randint(1, 10_000)
            self.clients.at(back, lambda: self._join_again(member))

    def _rejoin(self, member: Member) -> None:
        """Let a fenced member join again under the same member id, in most cases."""
        if self.random.random() < 2 / 3:
            self.clients.at(self.clients.now + self.random.randint(1, 6_000), lambda: self._join_again(member))

    def _join_again(self, member: Member) -> None:
        group = self._consumers
        if group is not None and member.member_id not in group.members:
            self.clients.join(member.renewed())

    def _restart_all(self) -> None:
        """Let all members leave at nearly the same time, soon after an assignment, and one join at once."""
        self._join()
        time = self.clients.now + 100
        for client in list(self.clients.alive.values()):
            self.clients.at(time, lambda client=client: self.clients.leave(client))  # type: ignore[misc]
            time += self.random.randint(1, 50)
        self.clients.at(time + self.random.randint(1, 1_500), self._join)

    def _deploy(self) -> None:
        """Replace all members, one after the other."""
        time = self.clients.now
        for client in list(self.clients.alive.values()):
            time += self.random.randint(2_000, 15_000)
            self.clients.at(time, lambda client=client: self.clients.leave(client))  # type: ignore[misc]
            self.clients.at(time + self.random.randint(500, 8_000), self._join)

    def _restart(self) -> None:
        """Let a static member go away and come back, sometimes too late, sometimes with another subscription."""
        client = self._any_client()
        group = self._consumers
        if client is None or group is None or client.silent:
            return
        instance_id = group.members[client.member_id].instance_id
        topics = self._other_topics() if self.random.random() < 1 / 8 else None
        self.clients.go_away(client)

        def come_back() -> None:
            member = self._new_member(instance_id)
            # A consumer that unsubscribes for a moment keeps its member id, a process that restarts does not.
            new_id = member.member_id if self._named % _KEEPS_ID else client.member_id
            if self.clients.come_back(client, new_id, topics) is None:
                self._enter(member)

        if self.random.random() < 9 / 10:
            self.clients.at(self.clients.now + self.random.randint(1_000, 60_000), come_back)

    def _subscribe(self) -> None:
        client = self._any_client()
        if client is not None:
            self.clients.subscribe(client, self._other_topics())

    def _other_topics(self) -> frozenset[str]:
        return self.spec.subscribed(self.number, self.random)

    def _rebalance(self) -> None:
        """Let a classic group, or a new one, finish a rebalance with other members."""
        if self._consumers is not None:
            return
        size = self.random.choice([self.size, self.size + 1, max(1, self.size - 1), 0])
        group = self.clients.coordinator.group
        self._classic = list(group.members.values()) if isinstance(group, ClassicGroup) else []
        while len(self._classic) < size:
            self._classic.append(self._new_member())
        self.clients.coordinator.rebalance_classic(self.clients.now, self._classic[:size])

    def _upgrade(self) -> None:
        """Let the first member of the new protocol join a classic group, or the next one a partly upgraded group."""
        self._enter(self._new_member())
        self.clients.adopt()

    def _downgrade(self) -> None:
        """Let all members of the new protocol leave, so that a partly upgraded group becomes a classic group again."""
        group = self._consumers
        if group is not None and any(member.classic is not None for member in group.members.values()):
            members = group.members.copy()
            for client in list(self.clients.alive.values()):
                if client.member_id in members and members[client.member_id].classic is None:
                    self.clients.leave(client)

    def _delete(self) -> None:
        """Let all members leave, and the group be deleted and used again."""
        for client in list(self.clients.alive.values()):
            self.clients.leave(client)
        self.clients.at(self.clients.now + self.random.randint(5_000, 60_000), self._delete_empty)

    def _delete_empty(self) -> None:
        group = self.clients.coordinator.group
        if group is None or group.members:
            return
        self.clients.coordinator.delete(self.clients.now, self._committed())
        first = self.clients.now + self.random.randint(1_000, 60_000)
        self.clients.at(first, self._rebalance if self.profile.starts_classic else self._join)
