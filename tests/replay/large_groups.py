"""Logs of one group that go on for ever, record by record: what a replay's memory must not depend on."""

from collections.abc import Iterator
from typing import Any

from kip848_records.kinds import CLASSIC, CONSUMER, ROLES, Role
from kip848_records.replay.records import (
    ClassicGroupValue,
    CurrentAssignmentValue,
    GroupEpochValue,
    MemberValue,
    Record,
)

_KEY_TYPES = {role: key_type for key_type, (kind, role) in ROLES.items() if kind in {CONSUMER, CLASSIC}}
STABLE, UNREVOKED, UNRELEASED = 0, 1, 2
NONE: frozenset[int] = frozenset()


class Writer:
    """Records with offsets and times of their own; each call of `next_operation` is a second later."""

    def __init__(self) -> None:
        self.offset = self.now = 0

    def next_operation(self) -> None:
        self.offset += 1
        self.now += 1000

    def record(self, role: Role, value: Any | None, member_id: str | None = None) -> Record:
        self.offset += 1
        kind = CLASSIC if role is Role.CLASSIC_GROUP else CONSUMER
        return Record(self.offset, self.now, kind, role, _KEY_TYPES[role], member_id, value, 100)

    def member(self, member_id: str) -> Record:
        value = MemberValue(None, None, "app", "/127.0.0.1", ("t",), None, None, 45_000, is_classic=False)
        return self.record(Role.MEMBER, value, member_id)

    def current(self, member_id: str, epoch: int, state: int, assigned: frozenset[int] = NONE) -> Record:
        return self.record(
            Role.CURRENT_ASSIGNMENT, CurrentAssignmentValue(epoch, epoch - 1, state, assigned, NONE), member_id
        )

    def epoch(self, epoch: int) -> Record:
        return self.record(Role.GROUP_EPOCH, GroupEpochValue(epoch, 0))

    def target(self, member_id: str, partitions: frozenset[int]) -> Record:
        return self.record(Role.MEMBER_TARGET, partitions, member_id)

    def assignment(self, epoch: int) -> Record:
        return self.record(Role.ASSIGNMENT_EPOCH, epoch)

    def deletions(self, member_id: str) -> Iterator[Record]:
        for role in (Role.CURRENT_ASSIGNMENT, Role.MEMBER_TARGET, Role.MEMBER):
            yield self.record(role, None, member_id)


def converging(rounds: int) -> Iterator[Record]:
    """Each epoch converges: ten records a round."""
    log = Writer()
    members = [f"member-{nth}" for nth in range(4)]
    yield from map(log.member, members)
    for epoch in range(1, rounds):
        yield log.epoch(epoch)
        moved = epoch % 4
        yield log.target(members[moved], frozenset({0, 1}))
        yield log.target(members[moved - 1], NONE)
        yield log.assignment(epoch)
        for member_id in (members[moved - 1], *members[: moved - 1 if moved else 3], *members[moved + 1 :]):
            log.next_operation()
            yield log.current(member_id, epoch, STABLE)
        log.next_operation()
        yield log.current(members[moved], epoch, STABLE, frozenset({0, 1}))
        log.next_operation()


def never_converging(rounds: int) -> Iterator[Record]:
    """One member never gives up what three others wait for by turns: each assignment leaves four rows open."""
    log = Writer()
    members = [f"member-{nth}" for nth in range(4)]
    yield from map(log.member, members)
    yield log.epoch(1)
    yield log.target(members[0], frozenset({0}))
    yield log.assignment(1)
    for member_id in members:
        yield log.current(member_id, 1, STABLE, frozenset({0}) if member_id == members[0] else NONE)
    log.next_operation()
    yield log.current(members[0], 1, UNREVOKED, frozenset({0}))
    for epoch in range(2, rounds):
        log.next_operation()
        waiting = members[1 + epoch % 3]
        yield log.epoch(epoch)
        yield log.target(members[1 + (epoch - 1) % 3] if epoch > 2 else members[0], NONE)
        yield log.target(waiting, frozenset({0}))
        yield log.assignment(epoch)
        yield log.current(waiting, epoch, UNRELEASED)
        log.next_operation()
        yield log.current(members[1 + (epoch - 1) % 3], epoch, UNREVOKED)
        log.next_operation()
        yield log.current(waiting, epoch, UNRELEASED)


def churning(rounds: int) -> Iterator[Record]:
    """Members come and go under ids of their own, and the group never converges."""
    log = Writer()
    yield log.member("first")
    yield log.epoch(1)
    yield log.target("first", frozenset({0}))
    yield log.assignment(1)
    yield log.current("first", 1, STABLE, frozenset({0}))
    for epoch in range(2, rounds):
        log.next_operation()
        member_id = f"a-member-with-an-id-of-its-own-{epoch}"
        yield log.member(member_id)
        yield log.epoch(2 * epoch - 2)
        if epoch == 2:
            yield log.target("first", NONE)
        yield log.target(member_id, frozenset({0}))
        yield log.assignment(2 * epoch - 2)
        yield log.current(member_id, 2 * epoch - 2, UNRELEASED)
        log.next_operation()
        yield from log.deletions(member_id)
        yield log.epoch(2 * epoch - 1)


def jumping_at_the_end(rounds: int) -> Iterator[Record]:
    """Epochs that converge, and at last one that proves that records are missing."""
    last = Record(0, 0, CONSUMER, Role.GROUP_EPOCH, 3, None, None, 0)
    for record in converging(rounds):
        last = record
        yield record
    yield last._replace(
        offset=last.offset + 5, role=Role.GROUP_EPOCH, key_type=3, member_id=None, value=GroupEpochValue(10**9, 0)
    )


def never_assigned(rounds: int) -> Iterator[Record]:
    """Epoch after epoch without an assignment, and heartbeats in between."""
    log = Writer()
    yield log.member("only")
    for epoch in range(1, rounds):
        yield log.epoch(epoch)
        log.next_operation()


def classic(rounds: int) -> Iterator[Record]:
    """Generation after generation, whose members all change."""
    log = Writer()
    for generation in range(1, rounds):
        ids = tuple(f"classic-member-{nth}-of-generation-{generation}" for nth in range(3))
        yield log.record(Role.CLASSIC_GROUP, ClassicGroupValue(generation, ids))
        log.next_operation()


SHAPES = (converging, never_converging, churning, jumping_at_the_end, never_assigned, classic)
