"""Random logs of many groups that follow the order in which the coordinator writes, and then some that do not."""

import random
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]
Written = tuple[int, dict[str, str], dict[str, Any] | None]

STABLE, UNREVOKED, UNRELEASED = 0, 1, 2


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

    def operation(self) -> list[Written]:
        if self.classic:
            return self.rng.choice([self.rebalance_classic, self.rebalance_classic, self.upgrade])()
        steps = [
            self.join,
            self.leave,
            self.assign,
            self.assign,
            self.replace,
            self.settle,
            self.resolve,
            self.noise,
            self.downgrade,
        ]
        weights = [8, 4, 12, 12, 2, 12, 2, 4, 1]
        if not self.members:
            steps, weights = [self.join, self.delete, self.downgrade, self.resolve], [4, 3, 1, 1]
        return self.rng.choices(steps, weights)[0]()

    def join(self) -> list[Written]:
        joined = self.new_member()
        written = [self.member(joined), *self.bump()]
        if self.rng.random() < 0.7:
            written += self.assign()
        return [*written, self.current(joined)] if self.rng.random() < 0.9 else written

    def leave(self) -> list[Written]:
        left = self.members.pop(self.rng.randrange(len(self.members)))
        written = [*self.remove(left), *self.bump()]
        return [*written, *self.delete()] if not self.members and self.rng.random() < 0.2 else written

    def assign(self) -> list[Written]:
        """Of the group epoch, or, seldom, late: of one that has passed."""
        late = self.rng.random() < 0.1 and self.group_epoch > self.assignment_epoch + 1
        self.assignment_epoch = self.group_epoch - 1 if late else self.group_epoch
        return [(7, self.key(m), {}) for m in self.members] + [
            (6, self.key(), {"assignmentEpoch": self.assignment_epoch})
        ]

    def replace(self) -> list[Written]:
        """A static member that was away comes back under a new id."""
        gone, back = self.members.pop(0), self.new_member()
        return [*self.remove(gone), self.member(back), self.current(back, 0), self.current(back, self.assignment_epoch)]

    def settle(self) -> list[Written]:
        return [self.current(m, self.assignment_epoch, STABLE) for m in self.members if self.rng.random() < 0.8]

    def resolve(self) -> list[Written]:
        key = {**self.key(), "regularExpression": "a.*"}
        return [(16, key, self.rng.choice([None, {}])), *(self.bump() if self.rng.random() < 0.5 else [])]

    def noise(self) -> list[Written]:
        """What no coordinator writes, or what compaction leaves of it."""
        member = self.rng.choice([*self.members, "stranger"])
        return self.rng.sample(
            [
                (8, self.key(member), None),
                (3, self.key(), {"epoch": self.group_epoch}),
                (6, self.key(), {"assignmentEpoch": max(self.assignment_epoch - 1, 0)}),
                self.current(member),
                self.current(member, -2, STABLE),
                self.member(member),
                (4, self.key(), None),
            ],
            k=2,
        )

    def delete(self) -> list[Written]:
        written: list[Written] = [*(w for m in self.members for w in self.remove(m)), (6, self.key(), None)]
        self.members, self.group_epoch, self.assignment_epoch = [], 1, 1
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
        return [*written, self.current(member, self.assignment_epoch, STABLE), *self.join()]

    def bump(self) -> list[Written]:
        self.group_epoch += 1
        return [(3, self.key(), {"epoch": self.group_epoch})]

    def new_member(self) -> str:
        self.named += 1
        self.members.append(f"m{self.named}")
        return self.members[-1]

    def remove(self, member: str) -> list[Written]:
        return [(kind, self.key(member), None) for kind in (8, 7, 5)]

    def member(self, member: str) -> Written:
        return 5, self.key(member), {}

    def current(self, member: str, epoch: int | None = None, state: int | None = None) -> Written:
        if epoch is None:
            epoch = self.rng.choice([self.assignment_epoch, self.assignment_epoch, self.group_epoch, 0])
        return (
            8,
            self.key(member),
            {"memberEpoch": epoch, "state": self.rng.choice([0, 0, 0, 1, 2]) if state is None else state},
        )

    def key(self, member: str | None = None) -> dict[str, str]:
        return {"groupId": self.group_id, **({"memberId": member} if member else {})}


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
