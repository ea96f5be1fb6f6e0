"""In the browser, too, no negative time is shown, and time spans have the words of all reports."""

from datetime import UTC, datetime, timedelta

from kip848_records.queries.duck import DuckTables
from kip848_records.report.page.contents import contents
from kip848_records.report.page.page import page
from kip848_records.tables.registry import DEFAULT
from kip848_records.text import CLOCK_WENT_BACK, duration_text
from tests import made_tables

CAPTURED = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_clock_that_went_back(tmp_path, opened):
    group = {"group_id": "g", "group_type": "consumer"}
    ended = group | {"outcome": "converged", "history": "observed", "clock_skew": True, "began_at": CAPTURED}
    later = CAPTURED + timedelta(hours=1)
    rows = dict.fromkeys((name for name in DEFAULT if name != "log"), ()) | {
        "audit_runs": [{"run": 1, "captured_at": CAPTURED, "dialect": "kafka"}],
        "rebalance": [
            ended | {"began_offset": 1, "duration_ms": -10_000},
            ended | {"began_offset": 2, "duration_ms": 8_000},
            ended | {"began_offset": 3, "duration_ms": 7_000, "clock_skew": False},
        ],
        "membership": [group | {"member_id": "m"}],
        "rebalance_lag": [group | {"member_id": "m", "status": "open", "behind_since": later}],
        "member_state_timeline": [group | {"member_id": "m", "state": "behind", "from_at": later}],
        "group_state_timeline": [group | {"state": "Reconciling", "from_at": later}],
        "group_state": [group | {"state": "Reconciling", "since": later}],
    }
    made_tables.write(tmp_path / "out", "c", **rows)
    shown = opened(page(contents(DuckTables(str(tmp_path / "out")))).html, "#group=g")
    text = shown.inner_text("body")
    assert f"stuck for {CLOCK_WENT_BACK}, since" in text
    assert shown.locator(f"td:has-text('{CLOCK_WENT_BACK}')").count() >= 3
    assert "≥ unknown" not in text
    cells = shown.locator("td").all_inner_texts()
    assert "7 s" in cells
    assert "8 s" not in cells
    assert not [cell for cell in cells if cell.startswith("-")]


def test_time_spans_in_the_browser_are_those_of_all_reports(tmp_path, opened):
    spans = [0, 1, 999, 1000, 4172, 59_999, 60_000, 65_001, 3_600_000, 3_601_000, 90_061_000]
    row = {"group_id": "g", "group_type": "consumer", "outcome": "converged", "history": "observed"}
    rebalances = [row | {"began_at": CAPTURED, "began_offset": nth, "duration_ms": ms} for nth, ms in enumerate(spans)]
    state = {"group_id": "g", "group_type": "consumer", "state": "Stable"}
    rows = dict.fromkeys((name for name in DEFAULT if name != "log"), ()) | {
        "audit_runs": [{"run": 1, "captured_at": CAPTURED, "dialect": "kafka"}],
        "rebalance": rebalances,
        "group_state": [state | {"since": CAPTURED}],
        "group_state_timeline": [state | {"from_at": CAPTURED}],
    }
    made_tables.write(tmp_path / "out", "c", **rows)
    shown = opened(page(contents(DuckTables(str(tmp_path / "out")))).html, "#group=g")
    totals = shown.locator("td[data-label='Total']").all_inner_texts()
    assert set(totals) >= {duration_text(ms) for ms in spans}
