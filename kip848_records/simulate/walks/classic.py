"""A random walk of a classic group: consumers that join, leave and restart, eager or cooperative."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kip848_records.protocol.encode import encode_message
from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages import classic
from kip848_records.simulate.walks.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Collection

_SUBSCRIPTION: Final = classic.CONSUMER_PROTOCOL_SUBSCRIPTION.layouts[1]
_ASSIGNMENT: Final = classic.CONSUMER_PROTOCOL_ASSIGNMENT.layouts[1]
_PARTITIONS: Final = 6
_CLIENTS: Final = 4
"""The usual number of clients."""
_GIVEN_UP: Final = 4
"""The most rounds that are given up in a row."""


@dataclass(eq=False)
class Client:
    """A consumer. `owned`: the partitions that it consumes now; `claimed`: those in its last subscription."""

    member_id: str
    instance_id: str | None
    owned: set[int] = field(default_factory=set)
    claimed: tuple[int, ...] = ()
    others: tuple[str, ...] = ()
    """Topics without partitions that it subscribes to, too."""

    @property
    def identity(self) -> str:
        """The instance id of a static member, else the member id."""
        return self.instance_id or self.member_id


class ClassicWalk(Walk):
    """One classic group: each step is one reason to rebalance, or a restart that needs no rebalance."""

    LONGEST_STEP_MS = 60_000

    def __init__(
        self, seed: object, group_id: str = "g", event_ms: int = 30_000, *, is_cooperative: bool | None = None
    ) -> None:
        super().__init__(seed, group_id, event_ms)
        self._is_cooperative = self.chance(0.5) if is_cooperative is None else is_cooperative
        self._topic = f"{group_id}-topic"
        self._partitions = _PARTITIONS
        self._clients: dict[str, Client] = {}
        self._assigned: dict[int, Client] = {}
        """By the last record."""
        self._leader = ""
        self._stable_at = 0
        self._generation: int | None = None
        """The last one; None without a group."""

    def step(self) -> None:
        """Let something happen; the group is deleted now and then while it is empty."""
        if self._clients:
            steps = {self._join: _CLIENTS, self._leave: len(self._clients), self._leave_all: 1}
            steps |= {self._restart: 3, self._subscribe: 2, self._grow: 1, self._rejoin: 2}
            self.rng.choices(list(steps), list(steps.values()))[0]()
        elif self._generation and self.chance(0.5):
            self._write(None)
            self._generation = None
            self.tell("delete")
        else:
            if self._generation is None:
                self._generation = 0
                self._write_without_members("")
                self.tell("create")
            self._rebalance("unknown", joins=self.rng.randint(1, 3))

    def _join(self) -> None:
        self._rebalance("unknown", joins=1)

    def _leave(self) -> None:
        if len(self._clients) == 1:
            self._leave_all()
        else:
            self._rebalance("unknown", leaves=1)

    def _leave_all(self) -> None:
        self._clients.clear()
        self._assigned = {}
        self.pass_time()
        self._generation = (self._generation or 0) + 1
        self._write_without_members(classic.CONSUMER_PROTOCOL_TYPE)
        self.tell("empty")

    def _restart(self) -> None:
        """A static member is back under a new id while the group is Stable, and goes on with its partitions."""
        static = [client for client in self._clients.values() if client.instance_id is not None]
        if not static:
            return
        client = self.rng.choice(static)
        old, client.member_id, client.claimed = client.member_id, self.new_id(), ()
        self._clients = {each.member_id: each for each in self._clients.values()}
        if self._leader == old:
            self._leader = client.member_id
        self._write(self._value())
        self.tell("restart", client, old)

    def _subscribe(self) -> None:
        client = self.rng.choice(list(self._clients.values()))
        client.others = (f"unused{self.new_id()}",)
        self._rebalance("subscription_changed")

    def _grow(self) -> None:
        self._partitions += self.rng.randint(1, 2)
        self._rebalance("topic_metadata_changed")

    def _rejoin(self) -> None:
        """Let a member join again; a static one may have expired, and be back under a new id in the same round."""
        static = [client for client in self._clients.values() if client.instance_id is not None]
        if not static or self._named % 2:
            self._rebalance("unknown")
            return
        gone = static[self._named % len(static)]
        gone_owned = frozenset(gone.owned)
        self._revoke(gone, gone_owned)
        del self._clients[gone.member_id]
        back = Client(self.new_id(), gone.instance_id, others=gone.others)
        self._clients[back.member_id] = back
        self.tell("come_back", gone.member_id, gone_owned, back)
        self._rebalance("static_member_replaced")

    def _rebalance(self, reason: str, joins: int = 0, leaves: int = 0) -> None:
        """A join phase, and the leader's sync; a client that comes or goes before the sync costs another round."""
        known, rounds = {client.identity for client in self._clients.values()}, 1
        self._come_and_go(joins, leaves, known)
        while known and self.chance(0.3) and rounds <= _GIVEN_UP:
            self.pass_time()
            rounds += 1
            self._come_and_go(*self.rng.choice([(0, 0), (1, 0), (0, 1)]), known)
        while self._round(reason, rounds):
            reason, rounds = "follow_up", 1

    def _come_and_go(self, joins: int, leaves: int, known: Collection[str]) -> None:
        """Let clients join, and let some of the known ones leave."""
        for _ in range(joins):
            member_id = self.new_id()
            instance_id = f"i{member_id}" if self.chance(0.4) else None
            self._clients[member_id] = Client(member_id, instance_id)
        may_leave = [client for client in self._clients.values() if client.identity in known]
        if leaves and len(self._clients) > 1 and may_leave:
            gone = self.rng.choice(may_leave)
            self._revoke(gone, gone.owned)
            del self._clients[gone.member_id]

    def _round(self, reason: str, rounds: int) -> bool:
        """Complete a round, and return whether it left partitions to a follow-up."""
        clients = self._clients
        if not self._is_cooperative:
            for client in clients.values():
                self.pass_time(1, 50)
                self._revoke(client, client.owned)
        joined_at = self.pass_time()
        for client in clients.values():
            client.claimed = tuple(sorted(client.owned))
        claimed = {p for client in clients.values() for p in client.claimed}
        given = self._given()
        self._stable_at, self._leader = joined_at, next(iter(clients))
        self.pass_time(1, 3_000)
        left_over = claimed - given.keys()
        self._assigned = given
        self._generation = (self._generation or 0) + rounds
        self._write(self._value())
        self.tell("complete", reason, rounds)
        for client in clients.values():
            mine = {p for p, owner in given.items() if owner is client}
            if left_over:
                self.pass_time(1, 20)
            self._revoke(client, client.owned - mine)
            client.owned = mine
        return bool(left_over)

    def _given(self) -> dict[int, Client]:
        """Return who gets each partition. In a cooperative group another client's partition is left to a follow-up."""
        busy = {p: client for client in self._clients.values() for p in client.owned}
        return {p: client for p, client in self._target().items() if busy.get(p, client) is client}

    def _target(self) -> dict[int, Client]:
        """Return a fair share for each client; cooperative clients keep their partitions up to that number."""
        clients = list(self._clients.values())
        most = -(-self._partitions // len(clients))
        target = {p: client for client in clients for p in sorted(client.owned)[:most]} if self._is_cooperative else {}
        loads = {client: sum(owner is client for owner in target.values()) for client in clients}
        for p in range(self._partitions):
            if p not in target:
                target[p] = self.rng.choice([client for client in clients if loads[client] < most])
                loads[target[p]] += 1
        return target

    def _revoke(self, client: Client, partitions: Collection[int]) -> None:
        self.tell("revoke", client, partitions)
        client.owned = client.owned - set(partitions)

    def _value(self) -> dict[str, Any]:
        members = [self._member(client) for client in self._clients.values()]
        value = {"protocolType": classic.CONSUMER_PROTOCOL_TYPE, "generation": self._generation, "protocol": "assignor"}
        return {**value, "leader": self._leader, "currentStateTimestamp": self._stable_at, "members": members}

    def _member(self, client: Client) -> dict[str, Any]:
        mine = sorted(p for p, owner in self._assigned.items() if owner is client)
        subscription: dict[str, Any] = {"topics": [self._topic, *client.others], "userData": None}
        subscription |= {"ownedPartitions": self._by_topic(client.claimed)}
        assignment = {"assignedPartitions": self._by_topic(mine), "userData": None}
        return {
            "memberId": client.member_id,
            "groupInstanceId": client.instance_id,
            "clientId": "app",
            "clientHost": "/h",
            "rebalanceTimeout": 60_000,
            "sessionTimeout": 45_000,
            "subscription": encode_message(_SUBSCRIPTION, subscription),
            "assignment": encode_message(_ASSIGNMENT, assignment),
        }

    def _by_topic(self, partitions: Collection[int]) -> list[dict[str, Any]]:
        return [{"topic": self._topic, "partitions": list(partitions)}] if partitions else []

    def _write_without_members(self, protocol_type: str) -> None:
        value = {"protocolType": protocol_type, "generation": self._generation, "protocol": None, "leader": None}
        self._write({**value, "currentStateTimestamp": self.now, "members": []})

    def _write(self, value: dict[str, Any] | None) -> None:
        self.write(KeyType.GROUP_METADATA, {"group": self.group_id}, value)
