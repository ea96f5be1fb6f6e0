"""Dumps that were read one after the other, each from where the one before ended: together they are one log."""

from collections import defaultdict

import pytest

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.log.state import state_of
from kip848_records.queries.texts import rendered
from kip848_records.sources.copies import merge_copies
from tests.log.copies import LogCopy, dump_row, is_commit, log_rows
from tests.log.test_captures import capture_logs
from tests.log_rows import coverage_of, table_of

pytestmark = pytest.mark.slow

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
def told(logs):
    """The base of every partition, and the live keys and where they are, for each case."""
    rows = []
    for number, log in enumerate(logs):
        for place, case in enumerate(CASES):
            partition = 10 * number + place
            whole = [row for row in LogCopy(partition, "", log, shows_gaps=False).rows() if row["file"] is None]
            for name, part in zip("abc", dumps_of(whole, case), strict=False):
                covered = dump_row(partition, [row["offset"] for row in part])
                rows += [row | {"copies": [name]} for row in (*part, covered)]
    engine = EmbeddedEngine()
    merged = table_of(merge_copies(engine, engine.relation(log_rows(without_commits(rows)))))
    coverage = coverage_of(engine, merged)
    counted = rendered("log/sql/without_places.sql")
    live = live_of(engine, engine.sql(counted, log=engine.relation(merged), places=coverage.stale))
    return {copy.partition: copy for copy in coverage.copies if copy.is_base}, live


def without_commits(rows):
    return (row for row in rows if not is_commit(row["key"]))


def live_of(engine, log):
    """Partition -> its live keys, and where they are."""
    live = defaultdict(set)
    for row in engine.collect(state_of(engine, log)):
        live[row.partition].add((row.key, row.offset))
    return live


@pytest.fixture(scope="module")
def live_of_whole(logs):
    engine = EmbeddedEngine()
    rows = [row for n, log in enumerate(logs) for row in LogCopy(n, "a", log, shows_gaps=False).rows()]
    return live_of(engine, engine.relation(log_rows(without_commits(rows))))


@pytest.mark.parametrize("case", ["touching", "overlapping", "three"])
def test_nothing_of_the_state_is_lost(told, logs, live_of_whole, case):
    bases, live = told
    continued = complete = 0
    for number in range(len(logs)):
        partition = 10 * number + CASES.index(case)
        assert live[partition] == live_of_whole[number]
        assert bases[partition].log_start_missing is False
        # Where no offset is missing, the first dump and what follows are one complete history.
        complete += (bases[partition].copy, bases[partition].complete_from) == ("a", 0)
        continued += bases[partition].stale_from > 0
    assert complete
    assert continued
    assert complete + continued >= len(logs) - 1


def test_behind_a_gap_between_them_the_start_of_the_log_is_missing(told, logs):
    bases, _ = told
    assert {bases[10 * number + CASES.index("gap")].log_start_missing for number in range(len(logs))} == {True}


def test_what_a_cleaned_dump_lacks_does_not_count(told, logs):
    bases, live = told
    for number in range(len(logs)):
        partition = 10 * number + CASES.index("cleaned")
        base = bases[partition]
        assert (base.copy, base.stale_from) == ("b", 0)
        assert all(offset >= base.first_offset for _, offset in live[partition])
