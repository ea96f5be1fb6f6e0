"""How long rebalances stopped consumption, by stories of a few commits that are read in chunks of any size."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from kip848_records.pipeline.commits import consumption_stops
from kip848_records.replay.commits import progress
from kip848_records.replay.commits.rows import ACQUIRE, COMMIT, COMMIT_ROWS, PHASE, RELEASE, STOP, WITH_MEMBERS
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.rows import FoundProgress, FoundStop, StoppedPartition, row_type
from tests.log_rows import table_of

Row = dict[str, Any]

START = datetime(2026, 11, 28, tzinfo=UTC)
COVERAGE = PartitionCoverage(((0, 1000),), last_offset=999)
KEY = {"partition": 0, "group_id": "g", "topic": "t", "topic_partition": 3, "incarnation": 0}
STOPPED = {
    "offsets_partition": 0,
    "group_id": "g",
    "incarnation": 0,
    "group_type": "classic",
    "epoch": 2,
    "topic": "t",
    "partition": 3,
    "kind": "moved",
    "offset": 40,
    "rebalance_offset": 40,
    "is_one_round": True,
    "history": "observed",
}


def row(what: int, at_offset: int, at: int = 0, **values: Any) -> Row:
    when = START + timedelta(seconds=at)
    return KEY | {"what": what, "at_offset": at_offset, "offset": at_offset, "timestamp": when} | values


def commit(at_offset: int, at: int, committed: int | None, **values: Any) -> Row:
    """A commit at a time in s; None: its tombstone."""
    return row(COMMIT, at_offset, at, committed=committed, **values)


def stay(member_id: str, acquired: int, released: int | None = None) -> list[Row]:
    until = None if released is None else START
    of_stay = {"member_id": member_id, "acquired_offset": acquired, "until_offset": released, "until": until}
    rows = [row(ACQUIRE, acquired, history="observed", **of_stay)]
    return rows if released is None else [*rows, row(RELEASE, released, **of_stay)]


STAYS = [*stay("a", 10, 40), *stay("b", 40)]
USUAL = [commit(20 + nth, nth * 5, nth) for nth in range(5)]
"""Commits that move on every 5 s from offset 20 on; the partition stops at offset 40."""


@pytest.fixture
def stops(engine, monkeypatch):
    def run(
        commits: Iterable[Row],
        stays: Iterable[Row] = STAYS,
        coverage: PartitionCoverage = COVERAGE,
        chunk: int = 1000,
        **stop: Any,
    ) -> list[Row]:
        monkeypatch.setattr(progress, "ROWS_OF_A_CHUNK", chunk)
        stopped = STOPPED | stop
        mark = row(STOP, stopped["offset"], acquired_offset=stopped["rebalance_offset"])
        rows = [row(PHASE, 0, phase=WITH_MEMBERS, topic=None), *stays, mark, *commits]
        ordered = sorted(rows, key=lambda each: (each["partition"], each["at_offset"], each["what"]))
        batches = pa.Table.from_pylist(ordered, COMMIT_ROWS).to_batches(max_chunksize=1)
        inputs = ReplayInputs("kafka", None, {0: coverage}, offset_commits=True)
        found = list(progress.commit_batches(inputs, lambda _: None, batches))

        def relation(kind):
            schema = pa.schema(list(row_type(kind)))
            given = [stopped] if kind is StoppedPartition else []
            given += [each for found_kind, batch in found if found_kind is kind for each in batch.to_pylist()]
            return engine.relation(pa.Table.from_pylist(given, schema))

        tables = map(relation, (StoppedPartition, FoundStop, FoundProgress))
        return table_of(consumption_stops(engine, *tables)).to_pylist()

    return run


FOUND = ("stop_max_ms", "stop_min_ms", "usual_ms", "idle_before_ms", "is_idle", "history")


def said(rows: list[Row]) -> tuple[Any, ...]:
    (found,) = rows
    return tuple(found[name] for name in FOUND)


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_the_stop_lasts_until_a_higher_offset_is_committed(stops, chunk):
    """The old owner repeats its position, and the new one first commits that."""
    rows = [*USUAL, commit(30, 22, 4), commit(41, 24, 4), commit(42, 50, 5), commit(43, 55, 6)]
    assert said(stops(rows, chunk=chunk)) == (30_000, 20_000, 5_000, 2_000, False, "observed")


@pytest.mark.parametrize("chunk", [1, 1000])
def test_a_removed_offset_ends_what_is_known(stops, chunk):
    rows = [*USUAL, commit(41, 24, None), commit(42, 50, 5)]
    assert said(stops(rows, chunk=chunk)) == (None, None, 5_000, 0, False, "right_censored")
    assert stops([*USUAL, commit(39, 23, None), commit(42, 50, 5)], chunk=chunk) == []


@pytest.mark.parametrize("chunk", [1, 1000])
def test_the_first_commit_behind_a_removal_is_progress(stops, chunk):
    rows = [*USUAL, commit(38, 23, None), commit(39, 30, 2), commit(42, 50, 5)]
    assert said(stops(rows, chunk=chunk))[0] == 20_000


def test_no_commit_is_behind_the_largest_offset(stops):
    largest = 2**63 - 1
    (found,) = stops([*USUAL, commit(39, 30, largest), commit(41, 41, 5), commit(42, 50, largest)])
    assert (found["first_progress_at"], found["history"]) == (None, "right_censored")


def test_a_slower_clock_behind_the_stop_bounds_nothing(stops):
    assert said(stops([*USUAL, commit(41, 3, 5)])) == (None, None, 5_000, 0, False, "observed")


def test_fewer_than_three_advances_show_nothing(stops):
    assert said(stops([*USUAL[2:], commit(42, 50, 5)])) == (30_000, None, None, 0, True, "observed")


def test_a_partition_without_progress_before_the_rebalance_was_idle(stops):
    idle = stops([*USUAL, commit(39, 31, 4), commit(42, 50, 5)])
    assert said(idle) == (30_000, 20_000, 5_000, 11_000, True, "observed")
    assert said(stops([*USUAL, commit(39, 30, 4), commit(42, 50, 5)]))[3:5] == (10_000, False)


def test_without_an_owner_when_the_rebalance_began_nothing_shows_that_it_was_consumed(stops):
    rows, stays = [*USUAL, commit(52, 50, 5)], [*stay("a", 10, 40), *stay("b", 50)]
    assert said(stops(rows, stays, offset=50, rebalance_offset=41))[2:5] == (None, 0, True)


@pytest.mark.parametrize("chunk", [1, 1000])
def test_the_usual_time_is_that_of_the_owner_when_the_rebalance_began(stops, chunk):
    """The member gets another type of group in the rebalance: its stay begins anew."""
    rows, stays = [*USUAL, commit(62, 50, 5)], [*stay("a", 10, 42), *stay("a", 42, 45), *stay("b", 60)]
    assert said(stops(rows, stays, chunk=chunk, offset=60, rebalance_offset=41))[2] == 5_000


def test_what_its_owner_keeps_in_an_eager_group_goes_on_in_one_stay(stops):
    rows = [*USUAL, commit(42, 50, 5)]
    assert said(stops(rows, stay("a", 10), kind="kept"))[:3] == (30_000, 20_000, 5_000)


def test_a_rebalance_of_several_rounds_has_no_lower_bound(stops):
    found = stops([*USUAL, commit(42, 50, 5)], is_one_round=False)
    assert said(found) == (30_000, None, 5_000, 0, False, "observed")


def test_without_progress_behind_it_the_stop_is_open(stops):
    assert said(stops([*USUAL, commit(42, 50, 4)])) == (None, None, 5_000, 0, False, "right_censored")


def test_without_a_commit_before_it_there_is_no_row(stops):
    assert stops([commit(42, 50, 5)]) == []


@pytest.mark.parametrize(
    ("ranges", "after", "history"),
    [
        (((25, 1000),), 5, "left_censored"),
        (((0, 41), (42, 1000)), 5, "left_censored"),
        (((25, 1000),), 4, "censored"),
    ],
)
def test_commits_that_compaction_may_have_removed_censor_the_row(stops, ranges, after, history):
    coverage = PartitionCoverage(ranges, last_offset=999)
    assert said(stops([*USUAL, commit(42, 50, after)], coverage=coverage))[-1] == history


def test_every_partition_has_its_own_commits(stops):
    other = [commit(at, 60, 9, topic_partition=4) for at in (30, 41)]
    assert said(stops([*USUAL, *other, commit(42, 50, 5)])) == (30_000, 20_000, 5_000, 0, False, "observed")


@pytest.mark.parametrize("chunk", [1, 1000])
def test_a_transaction_counts_from_its_marker_on(stops, chunk):
    (found,) = stops([*USUAL, commit(41, 30, 5, offset=39)], chunk=chunk)
    assert (found["last_progress_at"], found["first_progress_at"]) == (
        START + timedelta(seconds=20),
        START + timedelta(seconds=30),
    )
