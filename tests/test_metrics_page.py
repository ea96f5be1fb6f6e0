"""docs/metrics.md has a line for each metric, and one for each alert."""

import re
from pathlib import Path

import pytest

from kip848_records.report.metrics import METRICS

ROOT = Path(__file__).parent.parent
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
