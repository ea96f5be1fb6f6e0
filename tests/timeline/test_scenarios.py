"""Each rule of the timelines in a story of a few lines, told by Spark and by the plain replay alike.

A line is one operation: its time, then its records: ``5 a`` (member a), ``3 2`` (group epoch 2), ``6 2`` (assignment
epoch 2), ``8 a 2`` (a STABLE at member epoch 2; after it 1 is UNREVOKED, 2 UNRELEASED, - no state), ``2 7/3`` (classic
generation 7 with three members), ``3 x`` and ``5 a x`` (tombstones). A line of dots is somebody else's record.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.timeline.plain_replay import replay
from tests.timeline.spark_rows import spark_rows

Row = dict[str, Any]
Told = tuple[list[tuple[str, str]], list[tuple[str, str]]]
COMPLETE, PARTIAL, COMPACTED = 0, 1, 2
COMPLETE_FROM = {COMPLETE: 0, COMPACTED: 10_000}


@dataclass(frozen=True)
class Story:
    name: str
    log: str
    epochs: tuple[str, ...] = ()
    last: str = "gone"
    history: int = COMPLETE


STORIES = (
    Story(
        "one heartbeat converges an epoch",
        "10: 5 a, 3 1, 7 a, 6 1, 8 a 1",
        ("0/1 bumped 10 assigned 10 converged 10 converged, 1 members",),
        "consumer Stable 1/1, 1 members since 10",
    ),
    Story(
        "an epoch that never got an assignment of its own is superseded when a later one converges",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 5 b, 3 2, 8 b 1
        30: 5 c, 3 3, 8 c 1
        40: 7 a, 7 b, 7 c, 6 3, 8 a 3
        50: 8 b 3
        60: 8 c 3
        """,
        (
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 20 assigned 40 converged 60 superseded by 3, 2 members",
            "0/3 bumped 30 assigned 40 converged 60 converged, 3 members",
        ),
        "consumer Stable 3/3, 3 members since 60",
    ),
    Story(
        "what wrote no member states does not say whether a group has converged",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1 -
        20: 5 b, 3 2, 8 b 2
        30: 7 a, 7 b, 6 2, 8 a 2 -
        40: 8 a 2
        """,
        (
            "0/1 bumped 10 assigned 10 converged 40 superseded by 2, 1 members",
            "0/2 bumped 20 assigned 30 converged 40 converged, 2 members",
        ),
        "consumer Stable 2/2, 2 members since 40",
    ),
    Story(
        "a later epoch supersedes though the log ends first",
        """
        10: 5 a, 3 1, 7 a, 6 1
        20: 5 b, 3 2
        """,
        (
            "0/1 bumped 10 assigned 10 converged - superseded by 2, 1 members",
            "0/2 bumped 20 assigned - converged - open, 2 members",
        ),
        "consumer Assigning 2/1, 2 members since 10",
    ),
    Story(
        "a group that empties does not converge, and an assignment that comes later is not its own",
        """
        10: 5 a, 3 1
        20: 8 a x, 7 a x, 5 a x, 3 2
        30: 5 b, 3 3, 7 b, 6 3
        """,
        (
            "0/1 bumped 10 assigned - converged - emptied, 1 members",
            "0/2 bumped 20 assigned - converged - emptied, 0 members",
            "0/3 bumped 30 assigned 30 converged - open, 1 members",
        ),
        "consumer Reconciling 3/3, 1 members since 30",
    ),
    Story(
        "deleted in the operation that empties it",
        """
        10: 5 a, 3 1, 7 a, 6 1
        20: 8 a x, 7 a x, 6 x, 5 a x, 4 x, 3 x
        """,
        ("0/1 bumped 10 assigned 10 converged - deleted, 1 members",),
    ),
    Story(
        "deleted and used again, in one operation",
        """
        10: 5 a, 3 1
        20: 5 a x, 6 x, 3 x, 5 b, 3 1, 7 b, 6 1, 8 b 1
        """,
        (
            "0/1 bumped 10 assigned - converged - deleted, 1 members",
            "1/1 bumped 20 assigned 20 converged 20 converged, 1 members",
        ),
        "consumer Stable 1/1, 1 members since 20",
    ),
    Story(
        "what an incarnation knew is forgotten with it",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 3 x
        30: 5 b, 3 1
        """,
        (
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "1/1 bumped 30 assigned - converged - open, 1 members",
        ),
        "consumer Assigning 1/-, 1 members since 30",
    ),
    Story(
        "an upgrade writes two epochs and two assignments in one operation",
        """
        10: 2 6/1
        20: 2 x, 5 a, 3 6, 7 a, 6 6, 8 a 6, 5 b, 3 7, 7 a, 7 b, 6 7, 8 b 7 2
        30: 8 a 7
        40: 8 b 7
        """,
        (
            "0/6 bumped 20 assigned 20 converged 40 superseded by 7, 1 members",
            "0/7 bumped 20 assigned 20 converged 40 converged, 2 members",
        ),
        "consumer Stable 7/7, 2 members since 40",
    ),
    Story(
        "a downgrade deletes the consumer group and leaves a classic one",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 5 b, 3 2
        30: 8 a x, 7 a x, 6 x, 5 b x, 5 a x, 3 x, 2 3/1
        """,
        (
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 20 assigned - converged - deleted, 2 members",
        ),
        "classic Stable generation 3, 1 members since 30",
    ),
    Story(
        "a classic group without members",
        "10: 2 1/2\n20: 2 2/0\n30: 2 2/0",
        (),
        "classic Empty generation 2, 0 members since 20",
    ),
    Story("a classic group that is deleted", "10: 2 1/2\n20: 2 x"),
    Story(
        "a static member that is away holds the group up without an epoch",
        """
        10: 5 a, 5 b, 3 1, 7 a, 7 b, 6 1, 8 a 1, 8 b 1
        20: 8 a -2
        """,
        ("0/1 bumped 10 assigned 10 converged 10 converged, 2 members",),
        "consumer Reconciling 1/1, 2 members, 1 away since 20",
    ),
    Story(
        "inside an operation that replaces its only member the group is not empty",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 3 2
        30: 8 a x, 7 a x, 5 a x, 5 b, 7 b, 8 b 0, 8 b 1
        40: 7 b, 6 2, 8 b 2
        """,
        (
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 20 assigned 40 converged 40 converged, 1 members",
        ),
        "consumer Stable 2/2, 1 members since 40",
    ),
    Story(
        "an assignment of an epoch that has passed answers that epoch only",
        """
        10: 5 a, 3 1
        20: 5 b, 3 2
        30: 7 a, 7 b, 6 1, 8 a 1
        40: 7 a, 7 b, 6 2, 8 a 2
        """,
        (
            "0/1 bumped 10 assigned 30 converged - superseded by 2, 1 members",
            "0/2 bumped 20 assigned 40 converged - open, 2 members",
        ),
        "consumer Reconciling 2/2, 2 members since 10",
    ),
    Story(
        "the first assignment that reaches an epoch counts, whatever is written after it",
        """
        10: 5 a, 3 1
        20: 5 b, 3 2
        30: 7 a, 7 b, 6 2
        40: 7 a, 6 1
        """,
        (
            "0/1 bumped 10 assigned 30 converged - superseded by 2, 1 members",
            "0/2 bumped 20 assigned 30 converged - open, 2 members",
        ),
        "consumer Assigning 2/1, 2 members since 10",
    ),
    Story(
        "of a repeated epoch and a repeated assignment the first counts",
        """
        10: 5 a, 3 1
        20: 5 b, 3 1
        30: 7 a, 6 1
        40: 7 b, 6 1
        """,
        ("0/1 bumped 10 assigned 30 converged - open, 1 members",),
        "consumer Reconciling 1/1, 2 members since 10",
    ),
    Story(
        "a clock that goes back is kept and flagged, and orders nothing",
        """
        500: 5 a, 3 1
        100: 7 a, 6 1, 8 a 1
        """,
        ("0/1 bumped 500 assigned 100 converged 100 converged, 1 members, clock skew",),
        "consumer Stable 1/1, 1 members since 100",
    ),
    Story(
        "a member without a type 8 has not converged",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 8 a x
        30: 16
        """,
        ("0/1 bumped 10 assigned 10 converged 10 converged, 1 members",),
        "consumer Reconciling 1/1, 1 members since 20",
    ),
    Story(
        "a type 8 that outlives its member counts for nobody",
        """
        10: 5 a, 5 b, 3 1, 7 a, 7 b, 6 1, 8 a 1, 8 b 1
        20: 5 b x, 5 c
        """,
        ("0/1 bumped 10 assigned 10 converged 10 converged, 2 members",),
        "consumer Reconciling 1/1, 2 members since 20",
    ),
    Story(
        "the epoch alone is not enough",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1 2
        20: 8 a 1 1
        """,
        ("0/1 bumped 10 assigned 10 converged - open, 1 members",),
        "consumer Reconciling 1/1, 1 members since 10",
    ),
    Story(
        "a member may skip epochs",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1 1
        20: 5 b, 3 2, 7 a, 7 b, 6 2, 8 b 2
        30: 8 a 2
        """,
        (
            "0/1 bumped 10 assigned 10 converged 30 superseded by 2, 1 members",
            "0/2 bumped 20 assigned 20 converged 30 converged, 2 members",
        ),
        "consumer Stable 2/2, 2 members since 30",
    ),
    Story(
        "an operation ends where the timestamp changes, though the offsets go on",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        11: 5 b, 3 2, 7 a, 7 b, 6 2, 8 b 2, 8 a 2
        """,
        (
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 11 assigned 11 converged 11 converged, 2 members",
        ),
        "consumer Stable 2/2, 2 members since 10",
    ),
    Story(
        "an operation ends at another group's record, though the timestamp stays",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        ...
        10: 5 b, 3 2, 7 a, 7 b, 6 2, 8 b 2 2
        """,
        (
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 10 assigned 10 converged - open, 2 members",
        ),
        "consumer Reconciling 2/2, 2 members since 10",
    ),
    Story(
        "before the first epoch all is at the start epoch, whatever it is",
        """
        10: 5 a, 8 a 1
        20: 8 a x, 5 a x, 5 b, 8 b 0, 8 b 1
        """,
        (),
        "consumer Stable 1/1, 1 members since 10",
    ),
    Story(
        "the start epoch is the highest that a member has then",
        "10: 5 b, 8 b 0, 8 b 1",
        (),
        "consumer Stable 1/1, 1 members since 10",
    ),
    Story(
        "an assignment that is missing tells no state where history is partial",
        """
        10: 5 a, 3 1
        20: 7 a, 6 1, 8 a 1
        30: 5 b, 3 2
        """,
        (
            "0/1 bumped 10 assigned 20 converged 20 converged, 1 members",
            "0/2 bumped 30 assigned - converged - open, 2 members",
        ),
        "consumer Assigning 2/1, 2 members since 30",
        PARTIAL,
    ),
    Story(
        "no epochs tell no state where history is partial",
        "10: 5 a, 8 a 1",
        (),
        "consumer unknown -/-, 1 members since 10",
        PARTIAL,
    ),
    Story("not even that it is empty", "10: 8 a x, 5 a x", (), "consumer unknown -/-, 0 members since 10", PARTIAL),
    Story(
        "nor does an assignment alone", "10: 5 a, 6 1, 8 a 1", (), "consumer unknown -/1, 1 members since 10", PARTIAL
    ),
    Story(
        "a state that is unknown ends no epoch",
        """
        10: 5 a, 3 1
        20: 6 x, 5 a x, 3 x
        """,
        ("0/1 bumped 10 assigned - converged - deleted, 1 members",),
        history=PARTIAL,
    ),
    Story(
        "before history is complete the start epoch is unknown",
        "10: 5 a, 8 a 1",
        (),
        "consumer unknown -/-, 1 members since 10",
        COMPACTED,
    ),
)


def records_of(story: Story) -> list[dict[str, Any]]:
    """A story's records; each story has a stretch of offsets of its own, before 10,000 of its partition."""
    first = 100 * [other.name for other in STORIES if other.history == story.history].index(story.name)
    records: list[dict[str, Any]] = []
    offset = first
    for line in filter(None, map(str.strip, story.log.splitlines())):
        if line.startswith("."):
            offset += 1
            continue
        at, _, written = line.partition(":")
        for text in written.split(","):
            records.append(_record(story, offset, int(at), text.split()))
            offset += 1
    return records


def _record(story: Story, offset: int, at: int, words: list[str]) -> dict[str, Any]:
    kind, *rest = words
    key = {"group" if kind == "2" else "groupId": story.name}
    if kind in {"5", "7", "8"}:
        key["memberId"] = rest.pop(0)
    record = {"partition": story.history, "offset": offset, "timestamp": at, "type": int(kind), "key": key}
    return {**record, "value": None if rest == ["x"] else _value(kind, rest)}


def _value(kind: str, rest: list[str]) -> dict[str, Any]:
    if kind == "2":
        generation, members = rest[0].split("/")
        return {"generation": int(generation), "members": [{"memberId": str(n)} for n in range(int(members))]}
    fields = {"3": ("epoch",), "6": ("assignmentEpoch",), "8": ("memberEpoch", "state")}.get(kind, ())
    words = (None if word == "-" else int(word) for word in rest)
    return {"state": 0, **dict(zip(fields, words, strict=False))}


RECORDS = [record for story in STORIES for record in records_of(story)]


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession) -> Told:
    return told(*spark_rows(spark, RECORDS, COMPLETE_FROM))


@pytest.fixture(scope="module")
def by_replay() -> Told:
    return told(*replay(RECORDS, COMPLETE_FROM))


@pytest.mark.parametrize("teller", ["by_spark", "by_replay"])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_story(story: Story, teller: str, request: pytest.FixtureRequest) -> None:
    epochs, lasts = request.getfixturevalue(teller)
    assert [line for group, line in epochs if group == story.name] == list(story.epochs)
    assert [line for group, line in lasts if group == story.name] == ([] if story.last == "gone" else [story.last])


def told(epochs: list[Row], lasts: list[Row], _states: list[Row]) -> Told:
    return told_epochs(epochs), told_lasts(lasts)


def told_epochs(rows: list[Row]) -> list[tuple[str, str]]:
    lines = []
    for row in sorted(rows, key=lambda row: (row["group_id"], row["incarnation"], row["group_epoch"])):
        times = " ".join(f"{name} {_dash(row[f'{name}_at'])}" for name in ("bumped", "assigned", "converged"))
        by = "" if row["superseded_by"] is None else f" by {row['superseded_by']}"
        skew = ", clock skew" if row["clock_skew"] else ""
        epoch = f"{row['incarnation']}/{row['group_epoch']}"
        lines.append((row["group_id"], f"{epoch} {times} {row['status']}{by}, {row['members']} members{skew}"))
    return lines


def told_lasts(rows: list[Row]) -> list[tuple[str, str]]:
    lines = []
    for row in rows:
        consumer = f"{_dash(row['group_epoch'])}/{_dash(row['assignment_epoch'])}"
        epochs = consumer if row["generation"] is None else f"generation {row['generation']}"
        away = f", {row['members_away']} away" if row["members_away"] else ""
        state = f"{row['group_type']} {row['state']} {epochs}, {row['members']} members{away} since {row['since']}"
        lines.append((row["group_id"], state))
    return lines


def _dash(value: int | None) -> str:
    return "-" if value is None else str(value)
