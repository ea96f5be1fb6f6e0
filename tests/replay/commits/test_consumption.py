"""How long rebalances stopped consumption, by the offset commits of real groups and of stories of a few commits."""

from collections import Counter
from collections.abc import Iterable
from statistics import median
from typing import Any

import pytest

from kip848_records.replay.commits.consumption import COMMIT, TOMBSTONE
from kip848_records.replay.inputs import PartitionCoverage
from tests.replay.offset_commits import Row, of_capture, stops


def of_group(name: str, group_id: str) -> list[Row]:
    return [row for row in of_capture(name) if row["group_id"] == group_id]


def test_an_eager_group_of_a_capture() -> None:
    """The worked example: an auto commit every 2 s bounds the stop of 3 and 4 ms only bluntly."""
    rows = of_group("kafka-4.3.1", "classic")
    second, third = ([row for row in rows if row["epoch"] == generation] for generation in (2, 3))
    for generation, (least, most) in ((second, (1403, 1404)), (third, (1389, 1392))):
        assert Counter(row["kind"] for row in generation) == {"moved": 6, "kept": 6}
        moved = [row for row in generation if row["kind"] == "moved"]
        assert {row["stop_max_ms"] for row in moved} <= set(range(least, most + 1))
    assert {row["usual_ms"] for row in rows} == {None}
    assert {row["is_idle"] for row in rows} == {True}
    assert {row["stop_min_ms"] for row in rows} == {None}


def test_an_upgraded_group_of_a_capture() -> None:
    """The worked example: the stop of all 28 moved partitions is known."""
    rows = [row for row in of_group("kafka-4.3.1-all-types", "g-upgrade") if row["group_type"] == "consumer"]
    known = [row["stop_max_ms"] for row in rows if row["kind"] == "moved" and row["stop_max_ms"] is not None]
    assert (len(known), median(known), max(known)) == (28, 1308, 1339)


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
    "round_before": 10,
    "is_one_round": True,
    "history": "observed",
}


def commit(at_offset: int, at: int, committed: int | None, **other: Any) -> Row:
    """A commit at a time in s; None: its tombstone."""
    what = TOMBSTONE if committed is None else COMMIT
    row = {"offsets_partition": 0, "group_id": "g", "topic": "t", "partition": 3, "what": what}
    return {**row, "at_offset": at_offset, "committed": committed, "timestamp": at * 1_000_000, **other}


def usual(*after: Row, step: int = 5) -> list[Row]:
    """Commits that move on every 5 s from offset 20 on, a stop at offset 40, and what follows."""
    return [*(commit(20 + nth, nth * step, nth) for nth in range(5)), STOPPED, *after]


FOUND = ("stop_max_ms", "stop_min_ms", "usual_ms", "idle_before_ms", "is_idle", "history")


def found(rows: Iterable[Row], **options: Any) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in FOUND) for row in stops(rows, **options)]


def test_a_generation_that_begins_with_the_record_that_ends_another_has_usual_steps() -> None:
    """An eager group of three generations: each boundary stops the partition."""
    later = STOPPED | {"epoch": 3, "offset": 80, "rebalance_offset": 80, "round_before": 40}
    second = [commit(50 + nth, 40 + 5 * nth, 4 + nth) for nth in range(6)]
    rows = [*usual(), *second, later, commit(90, 100, 10)]
    assert found(rows) == [
        (25_000, 15_000, 5_000, 0, False, "observed"),
        (35_000, 25_000, 5_000, 0, False, "observed"),
    ]


def test_a_slower_clock_behind_the_stop_bounds_nothing() -> None:
    assert found(usual(commit(41, 3, 5))) == [(None, None, 5_000, 0, False, "observed")]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_stop_lasts_until_a_higher_offset_is_committed(size: int) -> None:
    """The new owner first commits the position that it was given. The last step is not a usual one: three are left."""
    rows = usual(commit(41, 24, 4), commit(42, 50, 5), commit(43, 55, 6))
    assert found(rows, size=size) == [(30_000, 20_000, 5_000, 0, False, "observed")]


def test_fewer_than_three_steps_show_nothing() -> None:
    rows = [row for row in usual(commit(42, 50, 5)) if row.get("at_offset") != 20]
    assert found(rows) == [(30_000, None, None, 0, True, "observed")]


def test_a_partition_without_progress_before_the_rebalance_was_idle() -> None:
    assert found(usual(commit(39, 31, 4), commit(42, 50, 5))) == [(30_000, 20_000, 5_000, 11_000, True, "observed")]
    assert found(usual(commit(39, 30, 4), commit(42, 50, 5))) == [(30_000, 20_000, 5_000, 10_000, False, "observed")]


def test_steps_outside_the_generation_before_are_not_usual() -> None:
    early = [commit(2 + nth, -100 + nth, nth - 100) for nth in range(8)]
    assert found([*early, *usual(commit(42, 50, 5))]) == [(30_000, 20_000, 5_000, 0, False, "observed")]


def test_a_rebalance_of_several_rounds_has_no_lower_bound() -> None:
    rows = [row | {"is_one_round": False} if "kind" in row else row for row in usual(commit(42, 50, 5))]
    assert found(rows) == [(30_000, None, 5_000, 0, False, "observed")]


def test_without_progress_behind_it_the_stop_is_open() -> None:
    assert found(usual(commit(42, 50, 4))) == [(None, None, 5_000, 0, False, "right_censored")]


def test_without_a_commit_before_it_there_is_no_row() -> None:
    assert found([STOPPED, commit(42, 50, 5)]) == []


def test_a_tombstone_ends_what_is_known() -> None:
    rows = usual(commit(41, 24, None), commit(42, 50, 5))
    assert found(rows) == [(None, None, 5_000, 0, False, "right_censored")]
    assert found([*usual(commit(42, 50, 5)), commit(39, 23, None)]) == []


def test_commits_that_compaction_may_have_removed_censor_the_row() -> None:
    rows = usual(commit(42, 50, 5))
    from_25 = {0: PartitionCoverage(((25, 100),), last_offset=99)}
    two_ranges = {0: PartitionCoverage(((0, 41), (42, 100)), last_offset=99)}
    assert [row[-1] for row in found(rows, coverage=from_25)] == ["left_censored"]
    assert [row[-1] for row in found(rows, coverage=two_ranges)] == ["left_censored"]
    assert [row[-1] for row in found(usual(), coverage=from_25)] == ["censored"]


def test_every_partition_has_its_own_commits() -> None:
    other = [commit(row["at_offset"], 60, 9, partition=4) for row in usual() if row.get("what") == COMMIT]
    assert found([*usual(commit(42, 50, 5)), *other]) == [(30_000, 20_000, 5_000, 0, False, "observed")]


def test_of_an_even_number_of_steps_the_two_middle_ones_count() -> None:
    quick = [commit(30 + nth, 21 + nth, 30 + nth) for nth in range(5)]
    assert [row[2] for row in found([*usual(), *quick[:2]])] == [5_000]
    assert [row[2] for row in found([*usual(), *quick])] == [3_000]
