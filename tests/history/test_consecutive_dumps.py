"""Dumps that were read one after the other, each from where the one before ended: together they are one log."""

from collections import defaultdict

import pytest

from kip848_records.history import copy_history, stale_places, with_continuations
from kip848_records.replay import replay
from kip848_records.sources import _ends
from kip848_records.sources.copies import merge_copies
from kip848_records.sources.log import without_offset_commits
from tests.history.copies import LogCopy, is_commit, log_rows
from tests.history.test_captures import capture_logs

CASES = ("touching", "overlapping", "gap", "cleaned", "three")


def dumps_of(rows, case):
    """The rows of each copy, cut at a record that directly follows another."""
    at = next(n for n in range(len(rows) * 6 // 10, len(rows)) if rows[n]["offset"] == rows[n - 1]["offset"] + 1)
    if case == "touching":
        return [rows[:at], rows[at:]]
    if case == "overlapping":
        return [rows[:at], rows[at - 10 :]]
    if case == "gap":
        return [rows[:at], rows[at + 1 :]]
    if case == "cleaned":
        last = max(n for n in range(at) if not is_commit(rows[n]["key"]))
        return [rows[:at], [*rows[last - 1 : last], *rows[last + 1 :]]]
    half = next(n for n in range(at // 2, at) if rows[n]["offset"] == rows[n - 1]["offset"] + 1)
    return [rows[:half], rows[half:at], rows[at:]]


@pytest.fixture(scope="module")
def logs(captures):
    return list(capture_logs(captures))[:4]


@pytest.fixture(scope="module")
def told(spark, logs, tmp_path_factory):
    """The base of every partition, and the live keys and where they are, for each case."""
    rows = []
    for number, log in enumerate(logs):
        for place, case in enumerate(CASES):
            whole = list(LogCopy(10 * number + place, "", log, shows_gaps=False).rows())
            for name, part in zip("abc", dumps_of(whole, case), strict=False):
                rows += [row | {"copies": [name]} for row in part]
    log = log_rows(spark, rows)
    path = tmp_path_factory.mktemp("dumps")
    merge_copies(without_offset_commits(log)).unionByName(_ends(log)).write.parquet(f"{path}/log")
    landed = spark.read.parquet(f"{path}/log")
    with_continuations(copy_history(landed), landed).write.parquet(f"{path}/history")
    history = spark.read.parquet(f"{path}/history")
    live = defaultdict(set)
    for row in replay(landed.join(stale_places(landed, history), ["partition", "offset"], "left_anti")).collect():
        live[row.partition].add((bytes(row.key), row.offset))
    return {row.partition: row for row in history.filter("is_base").collect()}, live


@pytest.fixture(scope="module")
def live_of_whole(spark, logs):
    rows = [row for n, log in enumerate(logs) for row in LogCopy(n, "a", log, shows_gaps=False).rows()]
    live = defaultdict(set)
    for row in replay(without_offset_commits(log_rows(spark, rows))).collect():
        live[row.partition].add((bytes(row.key), row.offset))
    return live


@pytest.mark.parametrize("case", ["touching", "overlapping", "three"])
def test_nothing_of_the_state_is_lost(told, logs, live_of_whole, case):
    bases, live = told
    continued = 0
    for number in range(len(logs)):
        partition = 10 * number + CASES.index(case)
        assert live[partition] == live_of_whole[number]
        assert bases[partition].head_missing is False
        continued += bases[partition].stale_from > 0
    assert continued > len(logs) / 2


def test_a_gap_between_them_leaves_the_head_missing(told, logs):
    bases, _ = told
    assert {bases[10 * number + CASES.index("gap")].head_missing for number in range(len(logs))} == {True}


def test_what_a_cleaned_dump_lacks_does_not_count(told, logs):
    bases, live = told
    for number in range(len(logs)):
        partition = 10 * number + CASES.index("cleaned")
        base = bases[partition]
        assert (base.copy, base.stale_from) == ("b", 0)
        assert all(offset >= base.first_offset for _, offset in live[partition])
