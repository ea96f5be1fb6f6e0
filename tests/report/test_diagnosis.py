"""How `kip848 explain` begins: what has been wrong with the group over time."""

from datetime import UTC, datetime, timedelta

import pytest

from kip848_records.queries.duck import DuckTables
from kip848_records.report.diagnosis import diagnosis, own_troubles, subject_text
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.group_sections import DIAGNOSIS
from kip848_records.tables.registry import TABLES
from tests import made_tables

CAPTURED = datetime(2026, 1, 2, tzinfo=UTC)
ALL = '"SELECT * FROM diagnosis"'
SINCE = "2026-01-01 17:00:00 UTC"
NOBODY = dict.fromkeys(field.name for field in TABLES["diagnosis"].schema.field("subject").type)
ROW = {
    "group_id": "g",
    "partition": 0,
    "pattern": "restart_loop",
    "severity": "warning",
    "is_present": True,
    "subject": NOBODY,
    "first_seen": CAPTURED - timedelta(hours=7),
    "last_seen": CAPTURED - timedelta(minutes=1),
    "recognized_at": CAPTURED - timedelta(hours=6),
    "sentence": "app @ 10.0.0.1 does not stay.",
    "next_step": "Read its log.",
}


@pytest.fixture
def told(tmp_path):
    def run(*rows):
        made_tables.write(
            tmp_path,
            "c",
            audit_runs=[{"run": 1, "captured_at": CAPTURED}],
            group_state=[{"group_id": "g", "group_type": "consumer", "state": "Stable"}],
            group_state_timeline=[{"group_id": "g", "state": "Stable", "from_at": CAPTURED}],
            diagnosis=[ROW | row for row in rows],
        )
        group = GroupHistory(DuckTables(str(tmp_path)), "g", "c")
        parts = diagnosis(group, own_troubles(group.section(DIAGNOSIS)))
        return "\n".join(part.plain for part in parts)

    return run


def test_what_is_present_comes_first_with_what_to_do_once(told):
    past = {"is_present": False, "ended_at": CAPTURED, "severity": "error", "sentence": "It was worse."}
    past |= {"subject": NOBODY | {"client_id": "other"}}
    assert told(past, {"cost_share": 0.22, "at_least": True}).split("\n") == [
        "",
        "app @ 10.0.0.1 does not stay.",
        "  next     Read its log.",
        f"  restart loop (warning); since {SINCE}, for \u2265 7 h, and still so",
        "  at capture; it cost 22% of the group's work",
        "",
        "It was worse.",
        "  next     as above",
        f"  restart loop (error); {SINCE} to 2026-01-01 23:59:00 UTC, over",
        "  since then",
    ]


def test_the_worst_is_first_and_a_row_that_another_one_explains_is_not_told(told):
    text = told(
        {"sentence": "Cheap.", "cost_share": 0.01, "subject": NOBODY | {"what": "cheap"}},
        {"sentence": "Explained.", "explained_by": "storm", "severity": "error"},
        {"sentence": "Dear.", "cost_share": 0.3, "pattern": "storm"},
        {"sentence": "Worst.", "severity": "error"},
        {"sentence": "Of another.", "group_id": "h"},
    )
    order = [line for line in text.split("\n") if line[:1].isupper()]
    assert order == ["Worst.", "Dear.", "Cheap."]


def test_nothing_is_said_where_nothing_is_known(told):
    assert told() == ""


def test_what_is_left_out_is_counted(told, tmp_path):
    rows = [{"subject": NOBODY | {"what": f"app-{n}"}} for n in range(1, 8)]
    assert told(*rows).endswith(f"\nand 2 more troubles: kip848 query {tmp_path} {ALL}")


def test_a_trouble_that_came_several_times_is_told_once(told):
    over = {"is_present": False, "ended_at": CAPTURED, "sentence": "It did not stay."}
    rows = [over | {"first_seen": CAPTURED - timedelta(hours=n), "episode": n} for n in range(8, 11)]
    text = " ".join(told({}, *rows, over | {"subject": NOBODY | {"what": "another"}}).split())
    assert "still so at capture; 3 other times since 2026-01-01 14:00:00 UTC" in text
    assert text.count("It did not stay.") == 1, "that of another subject"


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ({"client_id": "app", "client_host": "/10.0.0.1"}, "app @ 10.0.0.1"),
        ({"client_id": "app", "client_host": "/10.0.0.1", "instance_id": "i-1"}, "i-1"),
        ({"regex": "a.*"}, "a.*"),
        ({"topics": ["a", "b"]}, "a, b"),
        ({}, ""),
    ],
)
def test_a_subject_in_a_narrow_cell(named, text):
    assert subject_text(NOBODY | named) == text
