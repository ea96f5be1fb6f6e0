"""The state of a group after each of its operations, as Kafka's coordinator had it in memory (`truth.jsonl.gz`)."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Unit = tuple[Any, ...]
"""A partition (topic id or name, number), or a task (subtopology, number, role)."""

_ROLES = {"a": "active", "s": "standby", "w": "warmup"}
_FIRST_OF_GROUPS = 2
AWAY = -2


@dataclass(frozen=True)
class Member:
    member_id: str
    state: str
    epoch: int
    assigned: frozenset[Unit]
    pending: frozenset[Unit]
    target: frozenset[Unit]
    instance_id: str | None
    process: str | None
    is_classic: bool

    @property
    def held(self) -> frozenset[Unit]:
        """Assigned or pending revocation; also of a static member that is away."""
        return self.assigned | self.pending

    @property
    def owned(self) -> frozenset[Unit]:
        return frozenset() if self.epoch == AWAY else self.held


@dataclass
class Step:
    """A group after an operation. `group_type`: None if it was deleted. `elapsed`: ms, without steps back of the clock.

    `skews`: how many operations up to this one have a smaller timestamp than the one before.
    """

    partition: int
    group_id: str
    first: int
    last: int
    at: int
    elapsed: int
    skews: int
    leader_epoch: int
    incarnation: int
    kind: str
    types: list[int]
    writer: str | None
    group_type: str | None
    state: str | None
    group_epoch: int
    assignment_epoch: int
    generation: int | None
    protocol: str | None
    leader: str | None
    members: dict[str, Member]
    replaced: dict[str, str]
    facts: Mapping[str, Any]
    before: "Step | None" = field(repr=False, default=None)

    @property
    def is_modern(self) -> bool:
        return self.group_type in {"consumer", "share", "streams"}

    @property
    def is_converged(self) -> bool:
        """Whether every member is STABLE at the assignment epoch, and that is the group epoch."""
        if self.group_type == "share":
            epochs = {member.epoch for member in self.members.values()}
            return bool(self.members) and self.group_epoch == self.assignment_epoch and epochs == {self.group_epoch}
        return self.state == "Stable"

    @property
    def is_new_incarnation(self) -> bool:
        return self.before is None or self.before.incarnation != self.incarnation

    @property
    def previous_epoch(self) -> int | None:
        """The group epoch before the operation; None if the group began in it."""
        before = self.before
        return before.group_epoch if before is not None and before.is_modern and not self.is_new_incarnation else None

    @property
    def bumps(self) -> list[int]:
        """The group epochs that the operation wrote."""
        if not self.is_modern or not {3, 11, 17} & set(self.types):
            return []
        before = self.previous_epoch
        if before is None:
            generation = self.facts.get("gen0") if self.facts.get("was") == "classic" and self.facts.get("m0") else None
            before = self.group_epoch - 1 if generation is None else generation - 1
        return list(range(before + 1, self.group_epoch + 1))


def steps_of(copy: Path) -> dict[tuple[int, str], list[Step]]:
    """The operations of each group in the order of their offsets; those that only committed offsets are skipped."""
    found: dict[tuple[int, str], list[Step]] = defaultdict(list)
    for line in operations(copy):
        steps = found[line["p"], line["g"]]
        steps.append(_step(line, steps[-1] if steps else None))
    return found


def operations(copy: Path) -> Iterator[dict[str, Any]]:
    """The lines of operations that wrote a record of a group's state."""
    with gzip.open(copy / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if any(abs(key_type) >= _FIRST_OF_GROUPS for key_type in line["types"]):
                yield line


def _step(line: dict[str, Any], before: Step | None) -> Step:
    at, elapsed, skews, incarnation = line["t"], 0, 0, 0
    if before is not None:
        elapsed = before.elapsed + max(0, at - before.at)
        skews = before.skews + (at < before.at)
        incarnation = before.incarnation
        # The operation before deleted it, or this one put a group of another type in the place of a modern one.
        was_replaced = before.is_modern and line["type"] not in {None, before.group_type}
        incarnation += before.group_type is None or was_replaced
    state, is_classic = line.get("state"), line["type"] == "classic"
    in_log = {} if is_classic and state != "Stable" else line.get("members", {})
    if is_classic:
        state = "Stable" if in_log else "Empty"
    read = {member_id: _member(member_id, value, line["type"]) for member_id, value in in_log.items()}
    skipped = sum(key_type in {1, -1} for key_type in line["types"])
    return Step(
        *(line["p"], line["g"], line["first"] + skipped, line["last"], at, elapsed, skews, line.get("le", 0)),
        *(incarnation, line["kind"].split(":")[0], line["types"], line.get("m") or None, line["type"], state),
        *(line.get("ge", 0), line.get("ae", 0), line.get("gen"), line.get("proto"), line.get("leader")),
        *(read, line.get("replaced", {}), line, before),
    )


def _member(member_id: str, value: Mapping[str, Any], group_type: str) -> Member:
    units = _tasks if group_type == "streams" else _partitions
    return Member(
        member_id,
        value.get("s", "STABLE"),
        value.get("e", 0),
        *(units(value.get(name, {})) for name in ("a", "r", "t")),
        value["inst"],
        value.get("process"),
        bool(value.get("classic")),
    )


def _partitions(by_topic: Mapping[str, list[int]]) -> frozenset[Unit]:
    return frozenset((topic, number) for topic, numbers in by_topic.items() for number in numbers)


def _tasks(by_role: Mapping[str, Mapping[str, list[int]]]) -> frozenset[Unit]:
    return frozenset(
        (subtopology, number, _ROLES[role])
        for role, parts in by_role.items()
        for subtopology, numbers in parts.items()
        for number in numbers
    )
