"""The clock of a broker went back: no report shows the negative number, each says why the time is unknown."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from kip848_records.cli import main
from kip848_records.report.page.phrases import blocker_text
from kip848_records.tables.registry import DEFAULT
from kip848_records.text import CLOCK_WENT_BACK, lasting_text, span_text
from tests import made_tables

CAPTURED = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def tables(tmp_path):
    """A rebalance that ended before it began, one whose clock went back by less, and a member behind since tomorrow."""
    group = {"group_id": "g", "group_type": "consumer"}
    ended = group | {
        "outcome": "converged",
        "history": "observed",
        "clock_skew": True,
        "epochs": 1,
        "began_at": CAPTURED,
    }
    later = CAPTURED + timedelta(days=1)
    rows = dict.fromkeys((name for name in DEFAULT if name != "log"), ())
    rows |= {
        "audit_runs": [{"run": 1, "captured_at": CAPTURED, "dialect": "kafka"}],
        "rebalance": [
            ended | {"began_offset": 1, "first_epoch": 2, "last_epoch": 2, "duration_ms": -10_000},
            ended | {"began_offset": 9, "first_epoch": 3, "last_epoch": 3, "duration_ms": 8_000, "members_before": 1},
        ],
        "epoch_timeline": [
            group | {"group_epoch": 2, "rebalance_lag_ms": -10_000, "assign_lag_ms": -1, "clock_skew": True}
        ],
        "rebalance_lag": [
            group
            | {
                "group_epoch": 2,
                "member_id": "m",
                "status": "reconciled",
                "lag_ms": -11_000,
                "wait_ms": -1,
                "clock_skew": True,
            },
            group | {"group_epoch": 4, "member_id": "m", "status": "open", "behind_since": later},
        ],
        "membership": [group | {"member_id": "m", "joined_offset": 1}],
        "member_state_timeline": [group | {"member_id": "m", "state": "behind", "duration_ms": -5}],
        "group_state_timeline": [group | {"state": "Reconciling"}],
        "group_state": [group | {"state": "Reconciling", "since": later, "members": 1, "converged_members": 0}],
    }
    made_tables.write(tmp_path / "out", "c", **rows)
    return tmp_path / "out"


def test_explain(tables, capsys):
    assert main(["explain", str(tables), "g"]) == 0
    said = capsys.readouterr().out
    assert "stuck for an unknown time (the broker's clock went back), since 2026-01-02" in " ".join(said.split())
    assert said.count(CLOCK_WENT_BACK) == 3  # of a member, and of two rebalances: the one with 8 s took longer
    assert main(["explain", str(tables), "g", "--epoch", "2"]) == 0
    said = capsys.readouterr().out
    assert said.count(CLOCK_WENT_BACK) == 4
    assert " -1" not in said


@pytest.mark.slow
def test_check_and_metrics(tables, tmp_path, capsys):
    json_file, metrics = tmp_path / "x.json", tmp_path / "x.prom"
    main(["check", str(tables), "--json", str(json_file), "--openmetrics", str(metrics), "--quiet"])
    capsys.readouterr()
    results = {each["name"]: each for each in json.loads(json_file.read_text())["expectations"]}
    messages = [each["message"] for each in results["rebalance_time"]["unknown"]]
    assert ["took an unknown time (the broker's clock went back)" in each for each in messages] == [True, True]
    assert "kip848_stuck_groups" in metrics.read_text()
    assert "kip848_stuck_group_seconds{" not in metrics.read_text()


@pytest.mark.slow
def test_the_page(tables, tmp_path, capsys):
    assert main(["report", str(tables), "--out", str(tmp_path / "x.html"), "--quiet"]) == 0
    capsys.readouterr()
    assert f'class="number strong">{CLOCK_WENT_BACK}<' in (tmp_path / "x.html").read_text()


def test_the_words():
    assert span_text(-1) == span_text(-1, is_minimum=True) == CLOCK_WENT_BACK
    assert (span_text(None, is_minimum=True), span_text(61_000, is_minimum=True)) == ("", "≥ 1 min 1 s")
    assert (lasting_text(None), lasting_text(0), lasting_text(5_000, is_minimum=True)) == ("", " for 0 s", " for ≥ 5 s")
    assert lasting_text(-1) == " for an unknown time (the broker's clock went back)"
    blocker = {"who": "a @ b", "doing": "revoking", "state_ms": -1, "pattern": "slow_revocation"}
    assert blocker_text(blocker) == "a @ b, revoking for an unknown time (the broker's clock went back)"
