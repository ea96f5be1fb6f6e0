"""Logs told in a few lines.

A line is one operation: its time, then its records: ``5 a`` (member a), ``3 2`` (group epoch 2), ``6 2`` (assignment
epoch 2), ``8 a 2`` (a STABLE at member epoch 2; after it 1 is UNREVOKED, 2 UNRELEASED, - no state), ``2 7/3`` (classic
generation 7 with three members), ``3 x`` and ``5 a x`` (tombstones). A line of dots is somebody else's record.

Words that start with a sign may follow: ``@i`` instance id i, ``~t`` subscribed to topic t, ``<0`` previous member
epoch 0 (type 8), ``#9`` metadata hash 9 (type 3), ``+0+1`` the partitions 0 and 1 of the target (7), or assigned (8),
and ``!2`` partition 2 pending revocation.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.timeline.logs import CAPTURED_AT

COMPLETE, PARTIAL, COMPACTED = 0, 1, 2
START = CAPTURED_AT - 1000
"""Stories begin then, and are copied a second later."""
COMPLETE_FROM = {COMPLETE: 0, COMPACTED: 10_000}


@dataclass(frozen=True)
class Story:
    name: str
    log: str
    epochs: tuple[str, ...] = ()
    last: str = "gone"
    history: int = COMPLETE
    causes: tuple[str, ...] | None = None
    lags: tuple[str, ...] | None = None
    handovers: tuple[str, ...] | None = None
    """What is None is not looked at."""


def records_of(stories: Sequence[Story]) -> list[dict[str, Any]]:
    """The records of all stories: each has a stretch of offsets of its own, before 10,000 of its partition."""
    first = dict.fromkeys(COMPLETE_FROM | {PARTIAL: 0}, 0)
    records: list[dict[str, Any]] = []
    for story in stories:
        records += _records_of(story, first[story.history])
        first[story.history] += 100
    return records


def in_story_time(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with times since the start."""
    return [{name: _since_start(name, value) for name, value in row.items()} for row in rows]


def dash(value: Any) -> str:
    """What a line says of a value: a dash if there is none."""
    return "-" if value is None else str(value)


def _since_start(name: str, value: Any) -> Any:
    is_time = value is not None and (name == "since" or name.endswith("_at"))
    return value - START if is_time else value


def _records_of(story: Story, offset: int) -> Iterable[dict[str, Any]]:
    for line in filter(None, map(str.strip, story.log.splitlines())):
        if line.startswith("."):
            offset += 1
            continue
        at, _, written = line.partition(":")
        for text in written.split(","):
            yield _record(story, offset, int(at), text.split())
            offset += 1


def _record(story: Story, offset: int, at: int, words: list[str]) -> dict[str, Any]:
    kind, *rest = words
    key = {"group" if kind == "2" else "groupId": story.name}
    if kind in {"5", "7", "8"}:
        key["memberId"] = rest.pop(0)
    record = {"partition": story.history, "offset": offset, "timestamp": START + at, "type": int(kind), "key": key}
    return {**record, "value": None if rest == ["x"] else _value(kind, rest)}


def _value(kind: str, rest: list[str]) -> dict[str, Any]:
    if kind == "2":
        generation, members = rest[0].split("/")
        return {"generation": int(generation), "members": [{"memberId": str(n)} for n in range(int(members))]}
    fields = {"3": ("epoch",), "6": ("assignmentEpoch",), "8": ("memberEpoch", "state")}.get(kind, ())
    words = (None if word == "-" else int(word) for word in rest if word[0] not in _SIGNS)
    value = {"state": 0, **dict(zip(fields, words, strict=False))}
    for word in rest:
        value |= _SIGNS[word[0]](word) if word[0] in _SIGNS else {}
    if kind == "7":
        value["topicPartitions"] = value.pop("assignedPartitions", [])
    return value


def _partitions(word: str) -> list[dict[str, Any]]:
    return [{"topicId": "t0", "partitions": [int(number) for number in word[1:].split(word[0]) if number]}]


_SIGNS: dict[str, Callable[[str], dict[str, Any]]] = {
    "@": lambda word: {"instanceId": word[1:]},
    "~": lambda word: {"subscribedTopicNames": [word[1:]]},
    "<": lambda word: {"previousMemberEpoch": int(word[1:])},
    "#": lambda word: {"metadataHash": int(word[1:])},
    "+": lambda word: {"assignedPartitions": _partitions(word)},
    "!": lambda word: {"partitionsPendingRevocation": _partitions(word)},
}
