"""The consumers of one group: their heartbeats, the time that they need to revoke, and their joins and leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH, UNREVOKED_PARTITIONS, Member

if TYPE_CHECKING:
    from random import Random

    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.broker.coordinator import Coordinator

Action = Callable[[], None]

HEARTBEAT_MS = 5_000
SESSION_TIMEOUT_MS = 45_000
REVOKE_MS = 10


@dataclass(eq=False)
class Client:
    """A consumer. `revoke_ms`: how long it takes to revoke partitions, None: forever; a `silent` one is dead."""

    member_id: str
    beats_from: int
    revoke_ms: int | None = REVOKE_MS
    silent: bool = False
    is_back: bool = False
    """It is a static member that went away, and another one took its place."""
    revoking: dict[TopicPartition, int] | None = None
    """The partitions that it is revoking."""
    revocations: int = 0
    """How often it has revoked partitions."""


class Clients:
    """The consumers of a group, and their planned actions. Times are in ms.

    Heartbeats that cannot change anything are skipped, because they would write nothing. `on_fenced` is called with a
    member that was removed because it took too long to revoke partitions.
    """

    def __init__(self, coordinator: Coordinator, random: Random | None = None, jitter_ms: int = 0) -> None:
        self.coordinator = coordinator
        self.now = 0
        self.on_fenced: Callable[[Member], None] = lambda member: None  # noqa: ARG005 - part of the signature
        self.alive: dict[str, Client] = {}
        self._idle: dict[str, Client] = {}
        """Clients without a planned heartbeat."""
        self._random = random
        self._jitter_ms = jitter_ms
        self._plan: list[tuple[int, int, Action]] = []
        self._planned = 0

    def at(self, time: int, action: Action) -> None:
        """Plan an action; actions at one time run in the order of planning."""
        self._planned += 1
        heappush(self._plan, (max(time, self.now), self._planned, action))

    def run_until(self, time: int) -> None:
        """Run all planned actions before `time`."""
        while self._plan and self._plan[0][0] < time:
            self.now, _, action = heappop(self._plan)
            action()
        self.now = time

    def join(self, member: Member, revoke_ms: int | None = REVOKE_MS) -> Client:
        """Let a new member join."""
        self.coordinator.join(self.now, member)
        return self._enter(member.member_id, revoke_ms)

    def leave(self, client: Client) -> None:
        """Let a member leave, unless it has joined again since."""
        if client.is_back or self.alive.get(client.member_id, client) is not client:
            return
        self.silence(client)
        if self._member(client) is not None:
            self.coordinator.leave(self.now, client.member_id)
            if not isinstance(self.coordinator.group, ConsumerGroup):
                self.alive.clear()  # downgraded: of a classic group the log shows only the results of rebalances
                self._idle.clear()
            self.wake()

    def crash(self, client: Client) -> None:
        """Let a member become silent: its session expires."""
        self.silence(client)
        self.at(self.now + SESSION_TIMEOUT_MS, lambda: self.leave(client))

    def go_away(self, client: Client) -> None:
        """Let a static member go away; if it does not come back, its session expires."""
        self.silence(client)
        self.coordinator.go_away(self.now, client.member_id)
        self.wake()
        self.at(self.now + SESSION_TIMEOUT_MS, lambda: self.leave(client))

    def come_back(self, client: Client, new_id: str, topics: frozenset[str] | None = None) -> Client | None:
        """Let a static member that went away come back; None if its session expired meanwhile."""
        member = self._member(client)
        if member is None or member.epoch != AWAY_EPOCH:
            return None
        client.is_back = True
        self.coordinator.come_back(self.now, client.member_id, new_id, topics)
        return self._enter(new_id, client.revoke_ms)

    def subscribe(self, client: Client, topics: frozenset[str], regex: str | None = None) -> None:
        """Let a member subscribe to other topics, and to another regular expression unless that is None."""
        self.coordinator.subscribe(self.now, client.member_id, topics, regex)
        self._follow(client)
        self.wake()

    def resolve(self, regex: str, topics: tuple[str, ...]) -> None:
        """Let the broker resolve a regular expression."""
        self.coordinator.resolve(self.now, regex, topics)
        self.wake()

    def heartbeat(self, client: Client) -> None:
        """Send a heartbeat now, independent of its interval."""
        if self._member(client) is not None and not client.silent:
            self.coordinator.heartbeat(self.now, client.member_id)
            self._follow(client)
            self.wake()

    def wake(self) -> None:
        """Plan the next heartbeats that may have an effect."""
        group = self.coordinator.group
        if not isinstance(group, ConsumerGroup) or (group.state == "Stable" and not group.is_outdated):
            return
        for client in self._idle.values():
            beats = (self.now - client.beats_from) // HEARTBEAT_MS + 1
            self._plan_beat(client, client.beats_from + beats * HEARTBEAT_MS)
        self._idle.clear()

    def adopt(self) -> None:
        """Treat the members that an upgrade brought in as clients of the group."""
        for member_id, member in self.coordinator.consumers.members.items():
            if member.classic is not None and member_id not in self.alive:
                self._enter(member_id, REVOKE_MS)

    def _enter(self, member_id: str, revoke_ms: int | None) -> Client:
        self.alive[member_id] = self._idle[member_id] = client = Client(member_id, self.now, revoke_ms)
        self._follow(client)
        self.wake()
        return client

    def silence(self, client: Client) -> None:
        """Let a member send no more heartbeats."""
        client.silent = True
        self.alive.pop(client.member_id, None)
        self._idle.pop(client.member_id, None)

    def _member(self, client: Client) -> Member | None:
        group = self.coordinator.group
        return group.members.get(client.member_id) if isinstance(group, ConsumerGroup) else None

    def _plan_beat(self, client: Client, time: int) -> None:
        jitter = self._random.randint(0, self._jitter_ms) if self._random else 0

        def beat() -> None:
            if self.alive.get(client.member_id) is client:
                self._idle[client.member_id] = client
                self.heartbeat(client)

        self.at(time + jitter, beat)

    def _follow(self, client: Client) -> None:
        """Let a member revoke its pending partitions after its time, and fence it if that is too long."""
        member = self._member(client)
        if member is None or member.state != UNREVOKED_PARTITIONS or member.pending is client.revoking:
            return
        client.revoking = pending = member.pending

        def acknowledge() -> None:
            if self._is_revoking(client, pending):
                client.revocations += 1
                self.coordinator.heartbeat(self.now, client.member_id, member.assigned)
                self._follow(client)
                self.wake()

        def fence() -> None:
            if self._is_revoking(client, pending):
                self.leave(client)
                self.on_fenced(member)

        if client.revoke_ms is not None:
            self.at(self.now + client.revoke_ms, acknowledge)
        self.at(self.now + member.rebalance_timeout_ms, fence)

    def _is_revoking(self, client: Client, pending: dict[TopicPartition, int]) -> bool:
        member = self._member(client)
        return member is not None and not client.silent and member.pending is pending
