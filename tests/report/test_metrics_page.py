"""docs/metrics.md has a line for each metric, and one for each alert."""

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kip848_records.cli import main
from kip848_records.report.metrics import METRICS
from tests import made_tables
from tests.docs.pages import block, commands

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")


def line(name, spec):
    shown = f"{name}_total" if spec.type == "counter" else name
    return f"| `{shown}` | {spec.type} | {', '.join(f'`{label}`' for label in spec.labels)} | {spec.help} |"


def test_every_metric_has_its_line_and_no_other_is_there():
    rows = [row for row in PAGE.splitlines() if row.startswith("| `kip848_")]
    assert rows == [line(name, spec) for name, spec in METRICS.items()]


@pytest.mark.parametrize("file", ["conf/prometheus/alerts.yml", "conf/grafana/kip848.json"])
def test_what_is_to_be_copied_names_metrics_that_are_there(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    named = set(re.findall(r"\bkip848_\w+", text))
    there = {f"{name}{suffix}" for name in METRICS for suffix in ("", "_total", "_sum", "_count")}
    assert named
    assert named <= there


def test_every_alert_has_its_line():
    rules = (ROOT / "conf" / "prometheus" / "alerts.yml").read_text(encoding="utf-8")
    assert re.findall(r"alert: (\w+)", rules) == re.findall(r"^\| `(Kip848\w+)`", PAGE, re.MULTILINE)


def test_the_counts_of_audits_are_in_sql(tmp_path, capsys, monkeypatch):
    durations = {"count": 7, "sum_ms": 9_000, "p95_ms": 5_000}
    counts = {"new_rebalances": [("converged", 7), ("emptied", 1)], "new_durations": durations}
    captured = {"captured_at": datetime(2026, 1, 1, tzinfo=UTC)}
    made_tables.write(tmp_path / "out", "c", audit_runs=[{"run": 1, **captured, **counts}, {"run": 2, **captured}])
    (command,) = commands(block("test: counts of audits"))
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["run", "captured_at", "converged", "p95_ms"]
    assert rows[2:] == [["1", "2026-01-01", "00:00:00", "UTC", "7", "5000"], ["2", "2026-01-01", "00:00:00", "UTC"]]
