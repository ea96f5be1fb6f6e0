"""Sums over the audits of copies: of a newer copy, an older one, a replica that lags, and a topic made anew."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from kip848_records.log.bases import CopyCoverage
from kip848_records.log.table import Knowledge
from kip848_records.pipeline.run_totals import OUTCOMES, run_totals
from kip848_records.queries.duck import DuckTables
from tests import made_tables

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(minute):
    return START + timedelta(minutes=minute)


def rebalance(offset, minute, *, partition=0, **columns):
    """It ended at an offset and a minute, after so many seconds as its offset."""
    row = {"group_id": f"g{partition}", "group_type": "consumer", "partition": partition, "began_offset": offset - 1}
    row |= {"ended_offset": offset, "ended_at": at(minute), "outcome": "converged", "duration_ms": offset * 1000}
    return row | {"history": "observed"} | columns


@dataclass
class Audits:
    """The audits of one cluster's copies; `log` has their tables, as `LogTable.ask` reads them."""

    out: object
    rows: tuple = ()

    def ask(self, text, table="log", **parameters):
        return DuckTables(str(self.out / str(len(self.rows)))).newest(text, table, cluster="c", **parameters)

    def copy(self, minute, ends, *rebalances):
        """Audit a copy, made at a minute: `ends` has the last offset of each partition. Return the row of the run."""
        log = [
            {"content": "record", "partition": each["partition"], "offset": each["ended_offset"]}
            | {"timestamp": each["ended_at"]}
            for each in rebalances
        ]
        made_tables.write(self.out / str(len(self.rows)), "c", rebalance=rebalances, log=log)
        whole = {"copy": "copy", "first_offset": 0, "complete_from": 0, "log_start_missing": False, "stale_from": 0}
        copies = [CopyCoverage(partition=n, last_offset=last, is_base=True, **whole) for n, last in ends.items()]
        facts = SimpleNamespace(copies=copies, inputs=SimpleNamespace(captured_at=at(minute).timestamp() * 1000))
        knowledge = Knowledge([SimpleNamespace(is_copy=True)])
        found = run_totals(self, knowledge, facts, self.rows)
        self.rows += ({"run": len(self.rows) + 1, "captured_at": at(minute), **found},)
        return found


@pytest.fixture
def audits(tmp_path):
    return Audits(tmp_path)


def converged(found):
    return dict(found["new_rebalances"])["converged"], dict(found["total_rebalances"])["converged"]


A, B, C = rebalance(10, 1), rebalance(20, 2), rebalance(30, 3)


def test_the_first_audit_counts_what_ended_by_outcome(audits):
    others = [rebalance(n, 1, outcome=outcome) for n, outcome in enumerate(OUTCOMES[1:])]
    ignored = [rebalance(7, 1, outcome=outcome) for outcome in ("open", "unknown", None)]
    found = audits.copy(5, {0: 40}, A, B, *others, *ignored)
    assert dict(found["new_rebalances"]) == dict.fromkeys(OUTCOMES, 1) | {"converged": 2}
    assert found["new_rebalances"] == found["total_rebalances"]
    assert dict(found["counted_until"]) == {0: 41}


def test_a_newer_copy_adds_what_is_beyond_the_one_before(audits):
    assert converged(audits.copy(2, {0: 20}, A, B)) == (2, 2)
    assert converged(audits.copy(3, {0: 30}, A, B, C)) == (1, 3)


def test_what_compaction_removed_stays_in_the_sums(audits):
    audits.copy(2, {0: 20}, A, B)
    assert converged(audits.copy(3, {0: 30}, C)) == (1, 3)


def test_the_same_copy_and_an_older_one_add_nothing_nor_does_the_newer_one_again(audits):
    audits.copy(3, {0: 30}, A, B, C)
    for minute, end, rows in ((3, 30, (A, B, C)), (2, 20, (A, B)), (3, 30, (A, B, C))):
        assert converged(audits.copy(minute, {0: end}, *rows)) == (0, 3)


def test_a_topic_made_anew_counts_by_time(audits):
    audits.copy(3, {0: 30}, A, B, C)
    anew = [rebalance(5, 4), rebalance(6, 4)]
    assert converged(audits.copy(5, {0: 8}, *anew)) == (2, 5)
    assert converged(audits.copy(6, {0: 12}, *anew, rebalance(9, 6))) == (1, 6)


def test_a_topic_made_anew_may_be_longer_than_the_one_before(audits):
    audits.copy(3, {0: 30}, A, B, C)
    assert converged(audits.copy(6, {0: 50}, rebalance(5, 4), rebalance(40, 5))) == (2, 5)


def test_a_replica_that_lags_in_one_partition_adds_nothing_and_nothing_is_counted_again(audits):
    """Its copy is later, as another partition shows."""
    other = rebalance(8, 4, partition=1)
    audits.copy(3, {0: 30, 1: 5}, A, B, C)
    assert converged(audits.copy(5, {0: 20, 1: 9}, A, B, other)) == (1, 4)
    assert converged(audits.copy(6, {0: 40, 1: 9}, A, B, C, rebalance(35, 6), other)) == (1, 5)


def test_a_partition_that_no_copy_held_before_counts_by_time(audits):
    audits.copy(3, {0: 30}, A, B, C)
    theirs = [rebalance(4, 1, partition=1), rebalance(8, 4, partition=1)]
    assert converged(audits.copy(5, {0: 30, 1: 9}, A, B, C, *theirs)) == (1, 4)
    assert converged(audits.copy(6, {1: 9}, *theirs)) == (0, 4)
    assert converged(audits.copy(7, {0: 40}, A, B, C, rebalance(35, 6))) == (1, 5)


def test_durations_are_of_rebalances_that_the_log_shows_whole(audits):
    cut = [rebalance(50, 1, history="left_censored"), rebalance(60, 1, duration_is_minimum=True)]
    found = audits.copy(2, {0: 60}, A, B, *cut)
    expected = {"count": 2, "sum_ms": 30_000, "p50_ms": 15_000, "p95_ms": 19_500, "p99_ms": 19_900, "max_ms": 20_000}
    assert found["new_durations"] == expected
    later = audits.copy(3, {0: 70}, *cut)
    assert later["new_durations"] == dict.fromkeys(expected) | {"count": 0, "sum_ms": 0}
    assert later["total_durations"] == {"count": 2, "sum_ms": 30_000}


def test_rows_of_an_older_version_have_no_sums_and_counting_begins_anew(audits):
    audits.rows = ({"run": 1, "captured_at": at(1), "total_rebalances": None},)
    assert converged(audits.copy(3, {0: 30}, A, B, C)) == (3, 3)
