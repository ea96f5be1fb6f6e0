"""What the metrics of made-up tables are, to the unit: seconds, not milliseconds."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from prometheus_client.parser import text_string_to_metric_families

from kip848_records.queries.duck import DuckTables
from kip848_records.report.changes import Changed, Changes
from kip848_records.report.metrics import metrics
from kip848_records.tables.registry import DEFAULT
from tests import made_tables

CAPTURED = datetime(2026, 1, 1, 12, tzinfo=UTC)
GROUPS = {"newly_overdue": [Changed("g", 1)] * 2, "unknown": [Changed("h", 1)], "recovered": [Changed("i", None)] * 3}
CHANGES = Changes(is_first=False, **GROUPS, undated=[], settled=[], began=[], ended=[], passed=[])
RUN = {
    "run": 2,
    "captured_at": CAPTURED,
    "dialect": "kafka",
    "offset_commits": True,
    "new_rebalances": [("converged", 3), ("emptied", 1)],
    "new_durations": {"count": 3, "sum_ms": 9_000, "p50_ms": 2_000, "p95_ms": 4_500, "p99_ms": None, "max_ms": 5_000},
    "total_rebalances": [("converged", 40), ("emptied", 6)],
    "total_durations": {"count": 40, "sum_ms": 120_500},
}


def stuck(group, hours, **columns):
    since = CAPTURED - timedelta(hours=hours)
    row = {"group_id": group, "group_type": "consumer", "state": "Reconciling", "since": since, "members": 1}
    return row | {"history": "right_censored", "captured_at": CAPTURED, **columns}


def test_no_more_groups_have_a_series_than_the_help_says(tmp_path, monkeypatch):
    monkeypatch.setattr("kip848_records.report.metrics.GROUPS_SHOWN", 2)
    rows = dict.fromkeys((name for name in DEFAULT if name != "log"), ())
    rows["audit_runs"] = [RUN]
    rows["group_state"] = [stuck(name, 3) for name in "ghi"]
    rows["diagnosis"] = [
        {"group_id": name, "pattern": "storm", "severity": "error", "is_present": True, "incarnation": 0}
        | {"partition": 0, "first_seen": CAPTURED - timedelta(minutes=90)}
        for name in "ghi"
    ]
    made_tables.write(tmp_path, "c", **rows)
    verdict = SimpleNamespace(captured_at={"c": CAPTURED}, limits={"c": SimpleNamespace(known_to=[])}, results=[])
    text = metrics(DuckTables(str(tmp_path)), verdict, {"c": CHANGES})
    families = {family.name: family.samples for family in text_string_to_metric_families(text)}
    assert len(families["kip848_stuck_group_seconds"]) == len(families["kip848_trouble_seconds"]) == 2


def test_ages_and_durations_are_in_seconds(tmp_path):
    """A group may be in two partitions: it has one series, that of the longer time."""
    rows = dict.fromkeys((name for name in DEFAULT if name != "log"), ())
    rows["audit_runs"] = [RUN | {"run": 1, "captured_at": CAPTURED - timedelta(hours=1)}, RUN]
    rows["group_state"] = [stuck("g", 3), stuck("g", 2, partition=1), stuck("h", 0.5)]
    rows["rebalance"] = [{"group_id": "h", "outcome": "open", "group_type": "consumer"}]
    trouble = {"group_id": "h", "pattern": "storm", "severity": "error", "is_present": True, "incarnation": 0}
    rows["diagnosis"] = [trouble | {"partition": 0, "first_seen": CAPTURED - timedelta(minutes=90)}]
    transaction = {"producer_id": 7, "status": "open"}
    rows["open_transaction"] = [transaction | {"age_ms": age} for age in (90_000, 2_000, None)]
    made_tables.write(tmp_path, "c", **rows)
    limits = {"c": SimpleNamespace(known_to=[1, 2])}
    verdict = SimpleNamespace(captured_at={"c": CAPTURED}, limits=limits, results=[])
    text = metrics(DuckTables(str(tmp_path)), verdict, {"c": CHANGES})
    found = {
        " ".join([sample.name, *(value for name, value in sample.labels.items() if name != "cluster")]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found == {
        "kip848_audit_captured_timestamp_seconds": CAPTURED.timestamp(),
        "kip848_partitions_not_read_to_end": 2,
        "kip848_groups consumer Reconciling": 3,
        "kip848_groups_by_health stuck": 3,
        "kip848_stuck_groups": 3,
        "kip848_stuck_groups_of_unknown_age": 0,
        "kip848_stuck_group_seconds g": 10_800,
        "kip848_stuck_group_seconds h": 1_800,
        "kip848_stuck_group_blocker  h storm": 1,
        "kip848_trouble_seconds h storm error": 5_400,
        "kip848_troubles_of_unknown_age error": 0,
        "kip848_troubles_of_unknown_age warning": 0,
        "kip848_newly_overdue_groups": 2,
        "kip848_overdue_groups_unknown_before": 1,
        "kip848_recovered_groups": 3,
        "kip848_open_transactions open": 3,
        "kip848_open_transactions unknown": 0,
        "kip848_open_transactions unnamed": 0,
        "kip848_open_transaction_seconds": 90,
        "kip848_open_transactions_of_unknown_age": 1,
        "kip848_new_rebalances converged": 3,
        "kip848_new_rebalances emptied": 1,
        "kip848_rebalances_total converged": 40,
        "kip848_rebalances_total emptied": 6,
        "kip848_rebalance_duration_seconds 0.5": 2,
        "kip848_rebalance_duration_seconds 0.95": 4.5,
        "kip848_rebalance_duration_seconds 1": 5,
        "kip848_rebalance_duration_seconds_sum": 120.5,
        "kip848_rebalance_duration_seconds_count": 40,
    }
