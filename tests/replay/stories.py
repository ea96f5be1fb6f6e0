"""Logs told in a few lines, and the rows that a replay makes of them.

A line is one operation: its time, then its records: ``5 a`` (member a), ``3 2`` (group epoch 2), ``6 2`` (assignment
epoch 2), ``8 a 2`` (a STABLE at member epoch 2; after it 1 is UNREVOKED, 2 UNRELEASED, - no state), ``2 7/3`` (classic
generation 7 with three members), ``2 7/a+b`` (with members a and b), ``2 7/a=01+b=?`` (consumers: a has the partitions
0 and 1, the assignment of b cannot be read), ``16 r`` (regular expression r, which is also the default), ``3 x`` and
``5 a x`` (tombstones), ``8 a lost`` (a record that was lost). A line of dots is other groups' records.

Words that start with a sign may follow: ``@i`` instance id i, ``~t`` topic t of a subscription (5) or of a regular
expression (16), ``%r`` subscribed to the regular expression r, ``*`` a member of the classic protocol (5), ``<0``
previous member epoch 0 (type 8), ``#9`` metadata hash 9 (type 3), ``^4`` partition leader epoch 4, ``+0+1`` the
partitions 0 and 1 of the target (7), or assigned (8), and ``!2`` partition 2 pending revocation. Of streams groups:
`streams_words`, of share groups: `share_words`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from tests.replay import share_words, streams_words
from tests.replay.logs import END, Rows, replayed

START = 1_795_249_000_000
CAPTURED_AT = START + 1000
"""Stories begin at 0, and are captured a second later."""
COMPLETE, PARTIAL, COMPACTED = (0, None), (None, None), (10_000, None)
"""From which offset on the history is complete; None where nothing is known."""

Lines = tuple[str, ...]


def complete_between(*ranges: tuple[int, int], **known: Any) -> PartitionCoverage:
    """A partition that is complete in these ranges, the last of which reaches to its end."""
    return PartitionCoverage(ranges, last_offset=ranges[-1][1] - 1, **known)


@dataclass(frozen=True)
class Story:
    """A log, and the lines of its rows; what is None is not looked at."""

    name: str
    log: str
    epochs: Lines | None = None
    last: str | None = None
    history: tuple[int | None, None] = COMPLETE
    causes: Lines | None = None
    lags: Lines | None = None
    handovers: Lines | None = None
    states: Lines | None = None
    rebalances: Lines | None = None
    stays: Lines | None = None
    members: Lines | None = None
    anomalies: Lines | None = None
    tasks: Lines | None = None
    owned: Lines | None = None
    shared: Lines | None = None
    coverage: PartitionCoverage | None = None
    dialect: str = "kafka"

    def replay(self) -> Rows:
        first = self.history[0]
        coverage = self.coverage
        if coverage is None and first is not None:
            coverage = PartitionCoverage(((first, END),), last_offset=END - 1)
        known = {} if coverage is None else {0: coverage}
        return replayed(_records_of(self), ReplayInputs(self.dialect, CAPTURED_AT, known, offset_commits=True))


def dash(value: Any) -> str:
    """What a line says of a value: a dash if there is none."""
    return "-" if value is None else str(value)


def since_start(value: int | None) -> str:
    return dash(None if value is None else value - START)


def _records_of(story: Story) -> Iterable[dict[str, Any]]:
    offset = 0
    for line in filter(None, map(str.strip, story.log.splitlines())):
        if line.startswith("."):
            offset += len(line)
            continue
        at, _, written = line.partition(":")
        for text in written.split(","):
            yield _record(offset, int(at), text.split())
            offset += 1


def _record(offset: int, at: int, words: list[str]) -> dict[str, Any]:
    kind, *rest = words
    key = {"group" if kind == "2" else "groupId": "g"}
    if kind in {"5", "7", "8", "10", "13", "14", "19", "21", "22"}:
        key["memberId"] = rest.pop(0)
    if kind == "16":
        key["regularExpression"] = rest.pop(0) if rest else "r"
    record = {"partition": 0, "offset": offset, "timestamp": START + at, "type": int(kind), "key": key, "size": 10}
    for word in rest:
        if word[0] == "^":
            record["leaderEpoch"] = int(word[1:])
    rest = [word for word in rest if word[0] != "^"]
    if rest == ["lost"]:
        return {**record, "value": None, "lost": True}
    if rest == ["x"]:
        return {**record, "value": None}
    if kind in {"17", "19", "20", "21", "22", "23"}:
        return {**record, "value": streams_words.value_of(kind, _with_process(kind, key, rest))}
    if kind == "15":
        return {**record, "value": share_words.state_of(rest)}
    return {**record, "value": _value(share_words.LIKE.get(kind, kind), rest)}


def _with_process(kind: str, key: dict[str, str], words: list[str]) -> list[str]:
    is_named = kind != "19" or any(word[0] == "$" for word in words)
    return words if is_named else [*words, f"${key['memberId']}"]


def _value(kind: str, rest: list[str]) -> dict[str, Any]:
    if kind == "2":
        generation, members = rest[0].split("/")
        ids = [str(n) for n in range(int(members))] if members.isdigit() else members.split("+")
        kind_of_all = "consumer" if "=" in members else None
        return {
            "generation": int(generation),
            "protocolType": kind_of_all,
            "members": [_classic_member(each) for each in ids],
        }
    fields = {"3": ("epoch",), "6": ("assignmentEpoch",), "8": ("memberEpoch", "state")}.get(kind, ())
    words = (None if word == "-" else int(word) for word in rest if word[0] not in _SIGNS)
    value: dict[str, Any] = {"state": 0, **dict(zip(fields, words, strict=False))}
    topics = [word[1:] for word in rest if word[0] == "~"]
    value["topics" if kind == "16" else "subscribedTopicNames"] = topics
    for word in rest:
        if word[0] in _SIGNS:
            value |= _SIGNS[word[0]](word)
    if kind == "7":
        value["topicPartitions"] = value.pop("assignedPartitions", [])
    if kind == "5":
        value.setdefault("clientId", "app")
    return value


def _classic_member(text: str) -> dict[str, Any]:
    named, equals, partitions = text.partition("=")
    member_id, _, instance_id = named.partition("@")
    member: dict[str, Any] = {"memberId": member_id, "groupInstanceId": instance_id or None, "clientId": "app"}
    if equals:
        assigned = {"topic": "t", "partitions": [int(number) for number in partitions if number != "?"]}
        member["subscription"] = {"topics": ["t"]}
        member["assignment"] = b"?" if partitions == "?" else {"assignedPartitions": [assigned]}
    return member


def _partitions(word: str) -> list[dict[str, Any]]:
    return [{"topicId": "t0", "partitions": [int(number) for number in word[1:].split(word[0]) if number]}]


_SIGNS: dict[str, Callable[[str], dict[str, Any]]] = {
    "@": lambda word: {"instanceId": word[1:]},
    "~": lambda _: {},
    "%": lambda word: {"subscribedTopicRegex": word[1:]},
    "*": lambda _: {"classicMemberMetadata": {"supportedProtocols": []}},
    "<": lambda word: {"previousMemberEpoch": int(word[1:])},
    "#": lambda word: {"metadataHash": int(word[1:])},
    "+": lambda word: {"assignedPartitions": _partitions(word)},
    "!": lambda word: {"partitionsPendingRevocation": _partitions(word)},
}
