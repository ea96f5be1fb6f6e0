"""A simulated classic group: its clients, the records that its coordinator writes, and what really happened.

The truth is noted when it happens: when a client revokes a partition, when the join phase ends, when the leader syncs.
Nothing of it is read from the records.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kip848_records.protocol.encode import encode_message
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION

START = 1_795_249_000_000
TOPIC = "t"
_SUBSCRIPTION = CONSUMER_PROTOCOL_SUBSCRIPTION.layouts[1]
_ASSIGNMENT = CONSUMER_PROTOCOL_ASSIGNMENT.layouts[1]

Rows = list[dict[str, Any]]


@dataclass(eq=False)
class Client:
    """A consumer: what it may consume now, and what it said that it owned when it last joined."""

    member_id: str
    instance_id: str | None
    owned: set[int] = field(default_factory=set)
    claimed: tuple[int, ...] = ()
    others: tuple[str, ...] = ()
    """Topics without partitions that it subscribes to, too."""

    @property
    def identity(self) -> str:
        return self.instance_id or self.member_id


@dataclass
class ClassicWalk:
    """One group's random walk: each step is one reason to rebalance, or a restart that needs no rebalance."""

    seed: int
    is_cooperative: bool
    group_id: str = "g"
    now: int = START
    generation: int = 0
    incarnation: int = 0
    partitions: int = 6
    clients: dict[str, Client] = field(default_factory=dict)
    records: Rows = field(default_factory=list)
    generations: Rows = field(default_factory=list)
    moves: Rows = field(default_factory=list)
    rebalances: Rows = field(default_factory=list)
    named: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)  # noqa: S311 - a log, not a secret
        self.released: dict[int, tuple[str, str, int]] = {}
        """By partition without an owner: identity and id of the last one, and when it stopped to consume."""
        self.open: dict[str, Any] | None = None
        self.in_group: set[str] = set()

    def run(self, steps: int) -> None:
        """Take some steps; the group is deleted now and then while it is empty."""
        for _ in range(steps):
            self.pass_time(1_000, 60_000)
            if not self.clients:
                if self.generation and self.rng.random() < 0.5:
                    self.delete()
                    continue
                if not self.generation:
                    self.create()
                self.rebalance("member_joined", joins=self.rng.randint(1, 3))
                continue
            step = self.rng.choices(
                [self.join, self.leave, self.leave_all, self.restart, self.subscribe, self.grow, self.rejoin],
                [5, 4, 1, 3, 2, 1, 2],
            )[0]
            step()
        self.end_generation(None, None)

    def pass_time(self, least: int = 1, most: int = 2_000) -> int:
        self.now += self.rng.randint(least, most)
        return self.now

    def create(self) -> None:
        self.write_record("created", {"protocolType": "", "members": []})

    def delete(self) -> None:
        self.end_generation(self.now, "deleted")
        self.put(None)
        self.generation, self.incarnation = 0, self.incarnation + 1

    def join(self) -> None:
        self.rebalance("member_joined", joins=1)

    def leave(self) -> None:
        if len(self.clients) == 1:
            self.leave_all()
        else:
            self.rebalance("member_left", leaves=1)

    def leave_all(self) -> None:
        for client in list(self.clients.values()):
            self.revoke(client, client.owned, self.now)
        self.clients.clear()
        self.released.clear()
        self.pass_time()
        self.generation += 1
        self.write_record("emptied", {"protocolType": "consumer", "members": []})

    def restart(self) -> None:
        """A static member is back under a new id while the group is Stable, and goes on with its partitions."""
        static = [client for client in self.clients.values() if client.instance_id is not None]
        if not static:
            return
        client = self.rng.choice(static)
        old, new = client.member_id, self.new_id()
        client.member_id, client.claimed = new, ()
        self.clients = {each.member_id: each for each in self.clients.values()}
        self.generations[-1]["static_replaced"].append((client.instance_id, old, new, self.now))
        if self.leader == old:
            self.leader = new
        self.put(self.value())

    def subscribe(self) -> None:
        client = self.rng.choice(list(self.clients.values()))
        client.others = (f"unused{self.new_id()}",)
        self.rebalance("subscription_changed")

    def grow(self) -> None:
        self.partitions += self.rng.randint(1, 2)
        self.rebalance("topic_metadata_changed")

    def rejoin(self) -> None:
        self.rebalance("unknown")

    def rebalance(self, cause: str, joins: int = 0, leaves: int = 0) -> None:
        """A join phase, and the leader's sync; a client that comes or goes before the sync costs another round."""
        before, was_empty = {client.identity for client in self.clients.values()}, not self.clients
        rounds = 1
        self.come_and_go(joins, leaves)
        while self.rng.random() < 0.3 and not was_empty:
            self.pass_time()
            rounds += 1
            come, go = self.rng.choice([(0, 0), (1, 0), (0, 1)])
            joins, leaves = joins + come, leaves + (go if self.come_and_go(come, go, before) else 0)
        if joins and leaves:
            cause = "members_changed"
        elif joins or leaves:
            cause = "member_joined" if joins else "member_left"
        kept = self.round(cause, rounds)
        while kept:
            kept = self.round("follow_up", 1)

    def come_and_go(self, joins: int, leaves: int, known: set[str] | None = None) -> bool:
        """Let clients join and leave; return whether one left. `known`: only these may leave."""
        for _ in range(joins):
            member_id = self.new_id()
            instance = f"i{member_id}" if self.rng.random() < 0.4 else None
            self.clients[member_id] = Client(member_id, instance)
        may_leave = [client for client in self.clients.values() if known is None or client.identity in known]
        if not leaves or len(self.clients) == 1 or not may_leave:
            return False
        gone = self.rng.choice(may_leave)
        self.revoke(gone, gone.owned, self.now)
        del self.clients[gone.member_id]
        return True

    def round(self, cause: str, rounds: int) -> bool:
        """One round that is completed: return whether it left partitions to a follow-up."""
        last_owners = {p: (each.identity, each.member_id) for each in self.clients.values() for p in each.owned}
        last_owners |= {p: owner[:2] for p, owner in self.released.items()}
        if not self.is_cooperative:
            for client in self.clients.values():
                self.pass_time(1, 50)
                self.revoke(client, client.owned, self.now)
        joined_at = self.pass_time()
        for client in self.clients.values():
            client.claimed = tuple(sorted(client.owned))
        self.generation += rounds
        synced_at = self.pass_time(1, 3_000)
        self.leader = next(iter(self.clients))
        target = self.target()
        assigned = {member_id: set(target[member_id]) for member_id in self.clients}
        if self.is_cooperative:
            busy = {p: member_id for member_id, client in self.clients.items() for p in client.owned}
            for member_id, mine in assigned.items():
                assigned[member_id] = {p for p in mine if busy.get(p, member_id) == member_id}
        claimed = {p for client in self.clients.values() for p in client.claimed}
        left_over = claimed - set().union(*assigned.values())
        self.note_moves(assigned, joined_at, synced_at)
        given = {p: self.clients[member_id] for member_id, mine in assigned.items() for p in mine}
        moved = [p for p, owner in last_owners.items() if p in given and given[p].identity != owner[0]]
        self.begin_generation(cause, rounds, joined_at, synced_at, given, len(moved), len(left_over))
        stopped = moved if self.is_cooperative else last_owners.keys() & given.keys()
        self.generations[-1]["mode"] = self.mode(had_owned=bool(claimed))
        self.note_rebalance(len(moved), len(stopped), is_open=bool(left_over))
        for member_id, client in self.clients.items():
            self.revoke(client, client.owned - assigned[member_id], self.pass_time(1, 20) if left_over else self.now)
            for p in assigned[member_id]:
                self.released.pop(p, None)
            client.owned = assigned[member_id]
        return bool(left_over)

    def mode(self, *, had_owned: bool) -> str:
        if had_owned:
            return "cooperative"
        previous = self.generations[-2]["owners"] if len(self.generations) > 1 else {}
        return "eager" if set(previous.values()) & set(self.clients.values()) else "unknown"

    def target(self) -> dict[str, list[int]]:
        """A fair share for each client; cooperative ones keep what they have as far as it is fair."""
        target: dict[str, list[int]] = {member_id: [] for member_id in self.clients}
        most = -(-self.partitions // len(self.clients))
        for p in range(self.partitions):
            owner = next((m for m, client in self.clients.items() if p in client.owned), None)
            fits = owner is not None and self.is_cooperative and len(target[owner]) < most
            if owner is None or not fits:
                owner = self.rng.choice([m for m in target if len(target[m]) < most])
            target[owner].append(p)
        return target

    def revoke(self, client: Client, partitions: set[int], at: int) -> None:
        for p in list(partitions):
            self.released[p] = client.identity, client.member_id, at
        client.owned = client.owned - partitions

    def note_moves(self, assigned: dict[str, set[int]], joined_at: int, synced_at: int) -> None:
        for member_id, mine in assigned.items():
            for p in mine & self.released.keys():
                identity, from_member, at = self.released[p]
                if identity != self.clients[member_id].identity:
                    move = {"partition": p, "from_member": from_member, "to_member": member_id, "at": synced_at}
                    self.moves.append({**move, "stopped_ms": synced_at - at, "sync_ms": synced_at - joined_at})

    def begin_generation(  # noqa: PLR0913, PLR0917 - the facts of a generation
        self, cause: str, rounds: int, joined_at: int, synced_at: int, given: dict[int, Client], moved: int, left: int
    ) -> None:
        self.end_generation(synced_at, "next_generation")
        before = self.in_group
        self.in_group = {client.identity for client in self.clients.values()}
        row = {"incarnation": self.incarnation, "generation": self.generation, "cause": cause, "rounds": rounds}
        row |= {"joined_at": joined_at, "completed_at": synced_at, "sync_ms": synced_at - joined_at}
        row |= {"members": len(self.clients), "units": len(given), "moved": moved, "unassigned": left}
        row |= {"joined": sorted(self.in_group - before), "left": sorted(before - self.in_group)}
        row |= {"static_replaced": [], "owners": given}
        self.generations.append(row)
        self.stable_at, self.assigned = joined_at, given
        self.put(self.value(), synced_at)

    def end_generation(self, at: int | None, how: str | None) -> None:
        if self.generations and "ended_by" not in self.generations[-1]:
            self.generations[-1] |= {"ended_at": at, "ended_by": how}

    def write_record(self, cause: str, value: dict[str, Any]) -> None:
        """A record of a group without members."""
        self.end_generation(self.now, "emptied" if cause == "emptied" else "next_generation")
        left = sorted(self.in_group)
        self.in_group = set()
        row = {"incarnation": self.incarnation, "generation": self.generation, "cause": cause, "members": 0}
        joined, left = (None, None) if cause == "created" else ([], left)
        row |= {"joined": joined, "left": left, "joined_at": self.now, "completed_at": self.now, "sync_ms": None}
        row |= {"units": 0, "moved": 0, "unassigned": 0, "static_replaced": [], "mode": None, "owners": {}}
        self.generations.append({**row, "rounds": None if cause == "created" else 1})
        if cause == "emptied":
            self.rebalances.append({"first": self.generation, "last": self.generation, "outcome": "emptied"})
        self.put({**value, "generation": self.generation, "currentStateTimestamp": self.now})

    def note_rebalance(self, moved: int, stopped: int, *, is_open: bool) -> None:
        row = self.generations[-1]
        if self.open is None:
            self.open = {"first": self.generation, "began_at": row["joined_at"], "moved": 0, "stopped": 0}
            self.open |= {"unowned_ms": 0, "causes": []}
        self.open["moved"] += moved
        self.open["stopped"] += stopped
        self.open["unowned_ms"] += stopped * row["sync_ms"]
        self.open["causes"].append(row["cause"])
        if not is_open:
            ended = {"last": self.generation, "ended_at": row["completed_at"], "outcome": "converged"}
            self.rebalances.append({**self.open, **ended})
            self.open = None

    def value(self) -> dict[str, Any]:
        members = []
        for client in self.clients.values():
            mine = sorted(p for p, owner in self.assigned.items() if owner is client)
            members.append(
                {
                    "memberId": client.member_id,
                    "groupInstanceId": client.instance_id,
                    "clientId": "app",
                    "clientHost": "/h",
                    "rebalanceTimeout": 60_000,
                    "sessionTimeout": 45_000,
                    "subscription": encode_message(
                        _SUBSCRIPTION,
                        {
                            "topics": [TOPIC, *client.others],
                            "userData": None,
                            "ownedPartitions": _by_topic(client.claimed),
                        },
                    ),
                    "assignment": encode_message(
                        _ASSIGNMENT, {"assignedPartitions": _by_topic(mine), "userData": None}
                    ),
                }
            )
        value = {"protocolType": "consumer", "generation": self.generation, "protocol": "assignor"}
        return {**value, "leader": self.leader, "currentStateTimestamp": self.stable_at, "members": members}

    def put(self, value: dict[str, Any] | None, at: int | None = None) -> None:
        if value is not None:
            value = {"protocol": None, "leader": None, **value}
        offset, self.now = len(self.records), self.now if at is None else at
        self.records.append({"offset": offset, "timestamp": self.now, "key": {"group": self.group_id}, "value": value})

    def new_id(self) -> str:
        self.named += 1
        return f"m{self.named}"


def _by_topic(partitions: Sequence[int]) -> list[dict[str, Any]]:
    return [{"topic": TOPIC, "partitions": list(partitions)}] if partitions else []
