"""Random logs of many groups that follow the order in which the coordinator writes, and then some that do not."""

import random
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]
Written = tuple[int, dict[str, str], dict[str, Any] | None]

STABLE, UNREVOKED, UNRELEASED = 0, 1, 2
PARTITIONS = [(f"t{topic}", number) for topic in range(2) for number in range(3)]
TopicPartitions = frozenset[tuple[str, int]]
NONE: TopicPartitions = frozenset()


@dataclass
class Walk:
    """One group's random walk; each method of `STEPS` writes what one heartbeat, fencing or request would."""

    rng: random.Random
    group_id: str
    group_epoch: int
    assignment_epoch: int
    members: list[str] = field(default_factory=list)
    classic: int = 0
    named: int = 0
    hash: int = 0
    targets: dict[str, TopicPartitions] = field(default_factory=dict)
    owned: dict[str, tuple[TopicPartitions, TopicPartitions]] = field(default_factory=dict)
    """Of each member what it has assigned and what it has yet to give up."""
    epochs: dict[str, int] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)

    def operation(self) -> list[Written]:
        if self.classic:
            return self.rng.choice([self.rebalance_classic, self.rebalance_classic, self.upgrade])()
        steps = [
            self.join,
            self.leave,
            self.assign,
            self.assign,
            self.replace,
            self.heartbeat,
            self.go_away,
            self.resubscribe,
            self.resolve,
            self.noise,
            self.downgrade,
        ]
        weights = [8, 4, 8, 8, 3, 40, 2, 2, 2, 4, 1]
        if not self.members:
            steps, weights = [self.join, self.delete, self.downgrade, self.resolve], [4, 3, 1, 1]
        return self.rng.choices(steps, weights)[0]()

    def join(self) -> list[Written]:
        joined = self.new_member()
        written = [self.member(joined), *self.bump()]
        if self.rng.random() < 0.7:
            written += self.assign()
        return [*written, self.settle(joined)] if self.rng.random() < 0.9 else written

    def leave(self) -> list[Written]:
        left = self.members.pop(self.rng.randrange(len(self.members)))
        written = [*self.remove(left), *self.bump()]
        return [*written, *self.delete()] if not self.members and self.rng.random() < 0.2 else written

    def assign(self) -> list[Written]:
        """Of the group epoch, or, seldom, late: of one that has passed. Only changed targets are written."""
        late = self.rng.random() < 0.1 and self.group_epoch > self.assignment_epoch + 1
        self.assignment_epoch = self.group_epoch - 1 if late else self.group_epoch
        before = {m: self.targets.get(m) for m in self.members}
        owners = {p: self.rng.choice(self.members) for p in PARTITIONS if self.members and self.rng.random() < 0.9}
        self.targets = {m: frozenset(p for p in owners if owners[p] == m) for m in self.members}
        changed = [m for m in self.members if self.targets[m] != before[m] or self.rng.random() < 0.2]
        return [*map(self.target, changed), (6, self.key(), {"assignmentEpoch": self.assignment_epoch})]

    def replace(self) -> list[Written]:
        """A static member that was away comes back under a new id, and gets what it had."""
        gone = self.members.pop(0)
        back = self.new_member(self.instances.get(gone))
        self.targets[back], self.owned[back] = self.targets.get(gone, NONE), self.owned.get(gone, (NONE, NONE))
        written = [*self.remove(gone), self.member(back), self.target(back), self.current(back, 0, STABLE)]
        return [*written, self.current(back, self.assignment_epoch, STABLE), *self.rng.choice([[], self.bump()])]

    def heartbeat(self) -> list[Written]:
        return [self.settle(self.rng.choice(self.members))]

    def settle(self, member: str) -> Written:
        """The member gives up, or takes, what its target says; it may be slow to give up."""
        assigned, pending = self.owned.get(member, (NONE, NONE))
        target, epoch = self.targets.get(member, NONE), self.epochs.get(member, 0)
        owned = assigned | pending if pending and self.rng.random() < 0.3 else assigned
        if owned - target:
            self.owned[member] = owned & target, owned - target
            return self.current(member, epoch, UNREVOKED)
        held = frozenset(p for m in self.members if m != member for side in self.owned.get(m, ()) for p in side)
        self.owned[member] = owned | (target - held), NONE
        return self.current(member, self.assignment_epoch, UNRELEASED if (target - owned) & held else STABLE)

    def go_away(self) -> list[Written]:
        """A static member leaves: it may come back under the same id with its next heartbeat, or be replaced."""
        static = [m for m in self.members if m in self.instances]
        return [self.current(self.rng.choice(static), -2, STABLE)] if static else self.heartbeat()

    def resubscribe(self) -> list[Written]:
        return [self.member(self.rng.choice(self.members)), *self.bump()]

    def resolve(self) -> list[Written]:
        key = {**self.key(), "regularExpression": "a.*"}
        return [(16, key, self.rng.choice([None, {}])), *(self.bump() if self.rng.random() < 0.5 else [])]

    def noise(self) -> list[Written]:
        """What no coordinator writes, or what compaction leaves of it."""
        member = self.rng.choice([*self.members, "stranger"])
        return self.rng.sample(
            [
                (8, self.key(member), None),
                (3, self.key(), {"epoch": self.group_epoch, "metadataHash": self.hash}),
                (6, self.key(), {"assignmentEpoch": max(self.assignment_epoch - 1, 0)}),
                self.current(member, self.rng.randrange(-2, 5), self.rng.choice([STABLE, UNREVOKED, UNRELEASED])),
                (8, self.key(member), self.anything(member)),
                (7, self.key(member), None),
                self.member(member),
                (4, self.key(), None),
                (4, self.key(), {}),
            ],
            k=2,
        )

    def delete(self) -> list[Written]:
        written: list[Written] = [*(w for m in self.members for w in self.remove(m)), (6, self.key(), None)]
        self.members, self.group_epoch, self.assignment_epoch = [], 1, 1
        self.targets, self.owned, self.epochs = {}, {}, {}
        return [*written, (4, self.key(), None), (3, self.key(), None)]

    def downgrade(self) -> list[Written]:
        return [*self.delete(), *self.rebalance_classic()]

    def rebalance_classic(self) -> list[Written]:
        self.classic += 1
        members = [{"memberId": str(n)} for n in range(self.rng.randrange(3))]
        return [(2, {"group": self.group_id}, {"generation": self.classic, "members": members})]

    def upgrade(self) -> list[Written]:
        member = self.new_member()
        self.group_epoch, self.classic = self.classic - 1, 0
        written = [(2, {"group": self.group_id}, None), self.member(member), *self.bump(), *self.assign()]
        return [*written, self.settle(member), *self.join()]

    def bump(self) -> list[Written]:
        self.group_epoch += 1
        self.hash = self.rng.choice([self.hash] * 5 + [0, 1, 2])
        return [(3, self.key(), {"epoch": self.group_epoch, "metadataHash": self.hash})]

    def new_member(self, instance: str | None = None) -> str:
        self.named += 1
        name = f"m{self.named}"
        self.members.append(name)
        if instance or self.rng.random() < 0.4:
            self.instances[name] = instance or f"i{self.rng.randrange(3)}"
        return name

    def remove(self, member: str) -> list[Written]:
        self.owned.pop(member, None)
        return [(kind, self.key(member), None) for kind in (8, 7, 5)]

    def member(self, member: str) -> Written:
        value = {"instanceId": self.instances.get(member), "clientId": f"client-{member}", "clientHost": "/127.0.0.1"}
        topics = self.rng.choice([["t0", "t1"], ["t1", "t0"], ["t0"]])
        return 5, self.key(member), value | {"rebalanceTimeoutMs": 45000, "subscribedTopicNames": topics}

    def target(self, member: str) -> Written:
        return 7, self.key(member), {"topicPartitions": by_topic(self.targets.get(member, NONE))}

    def current(self, member: str, epoch: int, state: int) -> Written:
        assigned, pending = self.owned.get(member, (NONE, NONE))
        before, self.epochs[member] = self.epochs.get(member, 0), epoch
        return 8, self.key(member), current(epoch, before, state, assigned, pending)

    def anything(self, member: str) -> dict[str, Any]:
        """What another member may own as well."""
        some = [frozenset(self.rng.sample(PARTITIONS, 2)) for _ in range(2)]
        return current(self.epochs.get(member, 0), 0, self.rng.choice([STABLE, UNREVOKED, UNRELEASED]), *some)

    def key(self, member: str | None = None) -> dict[str, str]:
        return {"groupId": self.group_id, **({"memberId": member} if member else {})}


def current(epoch: int, before: int, state: int, assigned: TopicPartitions, pending: TopicPartitions) -> dict[str, Any]:
    owned = {"assignedPartitions": by_topic(assigned), "partitionsPendingRevocation": by_topic(pending)}
    return {"memberEpoch": epoch, "previousMemberEpoch": before, "state": state, **owned}


def by_topic(partitions: TopicPartitions) -> list[dict[str, Any]]:
    topics = sorted({topic for topic, _ in partitions})
    return [{"topicId": topic, "partitions": sorted(n for t, n in partitions if t == topic)} for topic in topics]


def random_records(seed: int, *, groups: int, operations: int, partitions: int, lost: float = 0.0) -> list[Record]:
    """A log of `groups` groups with some `operations` operations each; a share `lost` of its records is missing."""
    rng = random.Random(seed)  # noqa: S311 - a log, not a secret
    records: list[Record] = []
    for partition in range(partitions):
        start = rng.choice([0, 0, 1])
        walks = [Walk(rng, f"g{n}", start, start) for n in range(partition, groups, partitions)]
        offset, now = 0, 1_000_000
        for _ in range(operations * len(walks)):
            now += rng.choice([0, 0, 1, 5, 1000, -700])
            for kind, key, value in rng.choice(walks).operation():
                record = {"partition": partition, "offset": offset, "timestamp": now, "type": kind}
                records.append({**record, "key": key, "value": value})
                offset += 1
            offset += rng.choice([0, 0, 0, 1, 3])
    return [record for record in records if rng.random() >= lost]
