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


def jumps(rows):
    ordered = sorted(rows, key=lambda each: (each["at_offset"], each["what"]))
    batches = pa.Table.from_pylist(ordered, COMMIT_ROWS).to_batches(max_chunksize=1)
    found = progress.commit_batches(inputs_of({0: 0}, None), {}.get, batches)
    batches = [batch for kind, batch in found if kind.__name__ == "FoundJump"]
    return {each["offset"]: (each["kind"], each["context"]) for batch in batches for each in batch.to_pylist()}


@pytest.mark.parametrize("rows", [1, 1000])
def test_the_first_commit_of_an_owner_comes_after_a_removal(monkeypatch, rows):
    monkeypatch.setattr(progress, "ROWS_OF_A_CHUNK", rows)
    log = [row(PHASE, 0, phase=WITH_MEMBERS, topic=None), *stay("a", 0, 2), *stay("b", 2)]
    log += [row(COMMIT, at, committed=committed) for at, committed in ((1, 10), (3, None), (4, 20), (5, 8))]
    expected = {3: ("lost", "owner_change"), 4: ("restart_after_loss", "owner_change"), 5: ("back", "same_owner")}
    assert jumps(log) == expected


@pytest.mark.parametrize("rows", [1, 1000])
def test_a_tombstone_that_removes_nothing_is_no_row(monkeypatch, rows):
    monkeypatch.setattr(progress, "ROWS_OF_A_CHUNK", rows)
    log = [row(COMMIT, 1, committed=None), row(COMMIT, 2, committed=None, topic="other"), row(COMMIT, 3, committed=5)]
    batches = pa.Table.from_pylist(log, COMMIT_ROWS).to_batches(max_chunksize=1)
    found = progress.commit_batches(inputs_of({0: 0}, None), {}.get, batches)
    progressed = [each for kind, batch in found if kind.__name__ == "FoundProgress" for each in batch.to_pylist()]
    assert [(each["topic"], each["commits"], each["removed"]) for each in progressed] == [("t", 1, 0)]
