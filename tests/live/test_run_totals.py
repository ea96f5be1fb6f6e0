"""Sums over all runs: each rebalance that ended is counted once, whatever becomes of the log after that."""

from datetime import timedelta

import pytest

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.pipeline import maintain
from kip848_records.pipeline.run_totals import OUTCOMES
from kip848_records.simulate.spec import START_MS
from tests.audits import table_rows
from tests.live import two_days
from tests.live.topics import DAY_MS
from tests.progress import Watcher

pytestmark = pytest.mark.slow

NAMES = ("new_rebalances", "total_rebalances")


def runs_of(out, cluster="default"):
    rows = sorted(table_rows(out, "audit_runs", cluster), key=lambda row: row["run"])
    return [row | {name: dict(row[name]) for name in NAMES} for row in rows]


def counted(rows):
    return {outcome: sum(row["outcome"] == outcome for row in rows) for outcome in OUTCOMES}


@pytest.fixture(scope="module")
def nights(log, tmp_path_factory):
    """The folder of two nights' tables, and the rebalances that the log has after each of them."""
    out = tmp_path_factory.mktemp("totals")
    topic, ended = two_days.topic(log.folder, two_days.FIRST_DAY), []
    for until in (two_days.FIRST_DAY, log.ends):
        topic.until = dict(until)
        topic.now_ms = START_MS + DAY_MS if until == two_days.FIRST_DAY else START_MS + 2 * DAY_MS + 120_000
        topic.audit(out)
        ended.append(counted(table_rows(out, "rebalance", "default")))
    return out, ended


def test_a_run_counts_what_ended_since_the_run_before(nights):
    out, ended = nights
    first, second = runs_of(out)
    assert (first["new_rebalances"], first["total_rebalances"]) == (ended[0], ended[0])
    assert second["total_rebalances"] == ended[1]
    assert second["new_rebalances"] == {outcome: ended[1][outcome] - ended[0][outcome] for outcome in OUTCOMES}
    assert 0 < sum(second["new_rebalances"].values()) < sum(ended[1].values())


def test_durations_are_of_what_the_log_shows_whole(nights):
    out, _ = nights
    first, second = runs_of(out)
    rows = table_rows(out, "rebalance", "default")
    whole = [
        row["duration_ms"]
        for row in rows
        if row["outcome"] in OUTCOMES and row["history"] == "observed" and not row["duration_is_minimum"]
    ]
    assert second["total_durations"] == {"count": len(whole), "sum_ms": sum(whole)}
    new = second["new_durations"]
    assert new["count"] == len(whole) - first["new_durations"]["count"] > 0
    assert 0 < new["p50_ms"] <= new["p95_ms"] <= new["p99_ms"] <= new["max_ms"] <= max(whole)


@pytest.mark.nightly
def test_retention_takes_nothing_from_the_sums_and_the_next_run_counts_no_rebalance_twice(nights, log):
    out, _ = nights
    *_, before = runs_of(out)
    plans = maintain.plan(EmbeddedEngine(str(out)), timedelta(hours=12))
    assert plans[0].rows["rebalance"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maintain, "TABLES", {})  # no table's files are tidied: each takes Delta seconds
        maintain.maintain(EmbeddedEngine(str(out)), plans, Watcher())
    two_days.topic(log.folder, log.ends).audit(out)
    *_, removed, after = runs_of(out)
    assert sum(counted(table_rows(out, "rebalance", "default")).values()) < sum(before["total_rebalances"].values())
    for row in (removed, after):
        assert row["total_rebalances"] == before["total_rebalances"]
        assert row["total_durations"] == before["total_durations"]
        assert not any(row["new_rebalances"].values())


@pytest.mark.nightly
def test_a_topic_made_anew_adds_to_the_sums_what_ended_since(nights, log):
    """Its records are older than the last run."""
    out, _ = nights
    *_, before = runs_of(out)
    topic = two_days.topic(log.folder, log.ends)
    topic.topic_id = "BBBBBBBBBBBBBBBBBBBBBQ"
    topic.audit(out)
    *_, after = runs_of(out)
    assert sum(counted(table_rows(out, "rebalance", "default")).values()) > 0
    assert after["total_rebalances"] == before["total_rebalances"]
    archived = table_rows(out, "audit_runs", f"default until run {before['run']}")
    assert {row["total_rebalances"] for row in archived} == {None}
