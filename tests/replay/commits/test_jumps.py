"""Jumps of rows made by hand: commits of one partition among the stays of its owners."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from kip848_records.replay.commits import progress
from kip848_records.replay.commits.rows import ACQUIRE, COMMIT, COMMIT_ROWS, PHASE, RELEASE, WITH_MEMBERS
from tests.replay.logs import inputs_of

START = datetime(2026, 11, 28, tzinfo=UTC)
KEY = {"partition": 0, "group_id": "g", "topic": "t", "topic_partition": 0, "incarnation": 0}


def row(what, at, **values):
    when = START + timedelta(seconds=at)
    return KEY | {"what": what, "at_offset": at, "offset": at, "timestamp": when} | values


def stay(member_id, acquired, released=None):
    until = None if released is None else START + timedelta(seconds=released)
    of_stay = {"member_id": member_id, "acquired_offset": acquired, "until_offset": released, "until": until}
    rows = [row(ACQUIRE, acquired, history="observed", **of_stay)]
    return rows if released is None else [*rows, row(RELEASE, released, **of_stay)]


def rows_of(rows, kind):
    ordered = sorted(rows, key=lambda each: (each["at_offset"], each["what"]))
    batches = pa.Table.from_pylist(ordered, COMMIT_ROWS).to_batches(max_chunksize=1)
    found = progress.commit_batches(inputs_of({0: 0}, None), {}.get, batches)
    return [each for of_kind, batch in found if of_kind.__name__ == kind for each in batch.to_pylist()]


def found_jumps(rows):
    return {
        each["offset"]: (each["kind"], each["context"], each["before_offset"]) for each in rows_of(rows, "FoundJump")
    }


def jumps(rows):
    return {offset: each[:2] for offset, each in found_jumps(rows).items()}


@pytest.mark.parametrize("rows", [1, 1000])
def test_the_first_commit_of_an_owner_comes_after_a_removal(monkeypatch, rows):
    monkeypatch.setattr(progress, "ROWS_OF_A_CHUNK", rows)
    log = [row(PHASE, 0, phase=WITH_MEMBERS, topic=None), *stay("a", 0, 2), *stay("b", 2)]
    log += [row(COMMIT, at, committed=committed) for at, committed in ((1, 10), (3, None), (4, 20), (5, 8))]
    expected = {3: ("lost", "owner_change"), 4: ("restart_after_loss", "owner_change"), 5: ("back", "same_owner")}
    assert jumps(log) == expected


@pytest.mark.parametrize(("committed", "expected"), [(1, {4: ("first_commit", "first_owner")}), (0, {})])
def test_who_begins_a_new_partition_at_its_start_has_skipped_nothing(committed, expected):
    new = [each | {"topic_partition": 1} for each in (*stay("a", 3), row(COMMIT, 4, committed=committed))]
    log = [row(PHASE, 0, phase=WITH_MEMBERS, topic=None), *stay("a", 0), row(COMMIT, 1, committed=10), *new]
    assert jumps(log) == expected


@pytest.mark.parametrize("rows", [1, 1000])
def test_a_tombstone_that_removes_nothing_is_no_row(monkeypatch, rows):
    monkeypatch.setattr(progress, "ROWS_OF_A_CHUNK", rows)
    log = [row(COMMIT, 1, committed=None), row(COMMIT, 2, committed=None, topic="other"), row(COMMIT, 3, committed=5)]
    progressed = rows_of(log, "FoundProgress")
    assert [(each["topic"], each["commits"], each["removed"]) for each in progressed] == [("t", 1, 0)]


NEGATIVE = [
    # The member goes on where it is.
    ([*stay("a", 0)], ((1, 10), (2, -1), (3, -1), (4, 12)), {}),
    ([*stay("a", 0)], ((1, 10), (2, -1), (3, 8)), {3: ("back", "same_owner", 10)}),
    # The next owner begins where auto.offset.reset says.
    (
        [*stay("a", 0, 3), *stay("b", 3)],
        ((1, 10), (2, -1), (4, 30), (5, 31)),
        {4: ("restart_after_negative", "owner_change", 10)},
    ),
    ([*stay("a", 0, 3), *stay("b", 3)], ((1, 10), (2, -1), (4, -1), (5, 30)), {}),
    # What was not committed is not lost, and nothing comes after it.
    ([*stay("a", 0)], ((1, -1), (2, 10)), {}),
    ([*stay("a", 0)], ((1, 10), (2, -1), (3, None)), {}),
]


@pytest.mark.parametrize("rows", [1, 1000])
@pytest.mark.parametrize(("stays", "commits", "expected"), NEGATIVE)
def test_a_negative_offset_is_none(monkeypatch, stays, commits, expected, rows):
    monkeypatch.setattr(progress, "ROWS_OF_A_CHUNK", rows)
    log = [row(PHASE, 0, phase=WITH_MEMBERS, topic=None), *stays]
    log += [row(COMMIT, at, committed=committed) for at, committed in commits]
    assert {at: each[:3] for at, each in found_jumps(log).items()} == expected


@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_how_long_a_negative_offset_stood(monkeypatch, rows):
    """The first member's is over when the second one commits; the second one's own is not."""
    monkeypatch.setattr(progress, "ROWS_OF_A_CHUNK", rows)
    log = [row(PHASE, 0, phase=WITH_MEMBERS, topic=None), *stay("a", 0, 4), *stay("b", 4)]
    log += [row(COMMIT, at, committed=committed) for at, committed in ((1, 10), (2, -1), (3, -1), (5, 12), (6, -7))]
    found = {
        each["member_id"]: tuple(seconds(each[name]) for name in ("negative_from", "negative_until"))
        + tuple(each[name] for name in ("negative_commits", "negative_offset", "before_negative", "start_offset"))
        for each in rows_of(log, "FoundProgress")
    }
    assert found == {"a": (2, 5, 2, -1, 10, None), "b": (6, None, 1, -7, 12, None)}


def seconds(at):
    return None if at is None else (at - START).total_seconds()
