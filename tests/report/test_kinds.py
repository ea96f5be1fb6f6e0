"""What `kip848 explain` says of a group's kind, by tables without a log."""

from datetime import datetime, timezone

from rich.console import Console

from kip848_records.queries.duck import DuckTables
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.kinds import kind_of_group
from tests import made_tables

CAPTURED = datetime(2026, 1, 2, tzinfo=timezone.utc)
STREAMS = {"group_id": "app", "group_type": "streams", "subtopology_id": "s", "role": "active"}


def tasks_text(out, units):
    owned = [{**STREAMS, "member_id": member, "partition": number} for member, number in units]
    made_tables.write(
        out,
        "made",
        audit_runs=[{"run": 1, "captured_at": CAPTURED}],
        group_state=[{"group_id": "app", "group_type": "streams", "state": "Stable"}],
        group_state_timeline=[{"group_id": "app", "group_type": "streams", "state": "Stable", "from_at": CAPTURED}],
        ownership=owned,
    )
    group = GroupHistory(DuckTables(str(out)), "app", "made")
    console = Console(width=200, highlight=False)
    with console.capture() as captured:
        for part in kind_of_group(group, group.incarnations[-1]):
            console.print(part)
    return captured.get()


def test_tasks_of_few_members(tmp_path):
    text = tasks_text(tmp_path, [("a", 0), ("a", 1), ("b", 2)])
    assert "Tasks of 2 members, by subtopology:" in text
    assert "s: 0-1" in text


def test_it_says_that_members_are_cut(tmp_path):
    text = tasks_text(tmp_path, [(f"m{number:03}", number) for number in range(101)])
    assert "Tasks of 101 members, by subtopology (the first 100 of 101 rows):" in text
    assert "m099" in text
    assert "m100" not in text


def test_it_says_that_tasks_are_cut(tmp_path):
    text = tasks_text(tmp_path, [("a", number) for number in range(10_001)])
    assert "Tasks of 1 member, by subtopology (only 10,000 of 10,001 tasks were read):" in text
