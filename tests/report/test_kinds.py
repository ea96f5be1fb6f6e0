"""What `kip848 explain` says of a group's kind, by tables without a log."""

from datetime import datetime, timedelta, timezone

import pytest
from rich.console import Console

from kip848_records.queries.duck import DuckTables
from kip848_records.report.explain import explain
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.kinds import kind_of_group, kind_of_incarnation
from tests import made_tables

CAPTURED = datetime(2026, 1, 2, tzinfo=timezone.utc)
STREAMS = {"group_id": "app", "group_type": "streams", "subtopology_id": "s", "role": "active"}


def tasks_text(out, units, lost=()):
    owned = [{**STREAMS, "member_id": member, "partition": number} for member, number in units]
    made_tables.write(
        out,
        "made",
        audit_runs=[{"run": 1, "captured_at": CAPTURED}],
        group_state=[{"group_id": "app", "group_type": "streams", "state": "Stable"}],
        group_state_timeline=[{"group_id": "app", "group_type": "streams", "state": "Stable", "from_at": CAPTURED}],
        ownership=owned,
        task_handover=lost,
        classic_generation=[],
    )
    group = GroupHistory(DuckTables(str(out)), "app", "made")
    console = Console(width=200, highlight=False)
    with console.capture() as captured:
        kind = kind_of_incarnation(group, group.incarnations[-1])
        for part in kind_of_group(group, group.incarnations[-1], kind):
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


def test_tasks_without_an_owner_are_named(tmp_path):
    lost = {"group_id": "app", "group_type": "streams", "subtopology_id": "s", "task": 7, "status": "open"}
    released = CAPTURED - timedelta(minutes=5)
    text = tasks_text(tmp_path, [("a", 0)], [lost | {"from_member": "b", "released_at": released}])
    row = text[text.index("Active tasks without an owner:") :].splitlines()[3]
    assert row.split() == ["s:", "7", "b", "2026-01-01", "23:55:00.000", "UTC", "≥", "5", "min"]


def test_shared_partitions_that_no_member_has_are_named(tmp_path):
    shared = {"group_id": "g", "group_type": "share", "state": "Stable"}
    minutes_ago = [CAPTURED - timedelta(minutes=number) for number in range(10)]
    topic = {"group_id": "g", "topic_id": "T", "topic": "orders", "state": "initialized", "partitions": [0, 1, 2, 3]}
    owned = {"group_id": "g", "group_type": "share", "topic_id": "T", "topic": "orders"}
    made_tables.write(
        tmp_path,
        "made",
        audit_runs=[{"run": 1, "captured_at": CAPTURED}],
        group_state_timeline=[shared | {"from_at": minutes_ago[9]}],
        classic_generation=[],
        share_partition_state=[topic | {"from_at": minutes_ago[9]}],
        ownership=[
            owned | {"member_id": "a", "partition": 0, "from_at": minutes_ago[8], "to_at": minutes_ago[4]},
            owned | {"member_id": "a", "partition": 1, "from_at": minutes_ago[8], "to_at": minutes_ago[2]},
            owned | {"member_id": "b", "partition": 1, "from_at": minutes_ago[3]},
            owned | {"member_id": "b", "partition": 2, "from_at": minutes_ago[3], "to_at": minutes_ago[2]},
            owned | {"member_id": "b", "partition": 3, "from_at": minutes_ago[3]},
        ],
    )
    group = GroupHistory(DuckTables(str(tmp_path)), "g", "made")
    parts = [str(part) for part in kind_of_group(group, group.incarnations[-1], "share")]
    assert "\nNo member has orders 0, 2, for ≥ 4 min" in parts


@pytest.mark.parametrize(
    ("cluster", "name", "epoch", "title", "holder"),
    [
        ("group-kinds", "coop", 4, "Members of the generation:", "coop-2 @ 127.0.0.1"),
        ("connect", "connect-cluster", 10, "Workers:", "http://127.0.0.1:19603/"),
    ],
)
def test_one_generation_of_a_classic_group(kinds, cluster, name, epoch, title, holder):  # noqa: PLR0913, PLR0917
    console = Console(width=250, highlight=False)
    with console.capture() as captured:
        for part in explain(GroupHistory(DuckTables(str(kinds)), name, cluster), epoch):
            console.print(part)
    text = captured.get()
    (row,) = text[text.index("Generation:") : text.index(title)].strip().splitlines()[3:]
    assert row.split()[0] == str(epoch)
    assert holder in text[text.index(title) :]
    assert "Epoch:" not in text
