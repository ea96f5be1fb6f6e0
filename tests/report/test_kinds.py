"""What `kip848 explain` says of a group's kind, by tables without a log."""

import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from rich.console import Console

from kip848_records.queries.duck import DuckTables
from kip848_records.report.explain import explain
from kip848_records.report.explain_kind import one_generation
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.group_sections import FREE, GENERATIONS, TOPICS
from kip848_records.report.page.contents import contents
from kip848_records.report.summary import summary
from tests import made_tables
from tests.report.fitted import entries, flat, lines_of
from tests.report.page.made_contents import CAPTURED as PAGE_CAPTURED
from tests.report.page.made_contents import write_groups

CAPTURED = datetime(2026, 1, 2, tzinfo=UTC)
STREAMS = {"group_id": "app", "group_type": "streams", "subtopology_id": "s", "role": "active"}


def tasks_text(out, lost):
    made_tables.write(
        out,
        "made",
        audit_runs=[{"run": 1, "captured_at": CAPTURED}],
        group_state=[{"group_id": "app", "group_type": "streams", "state": "Stable"}],
        group_state_timeline=[{"group_id": "app", "group_type": "streams", "state": "Stable", "from_at": CAPTURED}],
        task_handover=lost,
        classic_generation=[],
    )
    group = GroupHistory(DuckTables(str(out)), "app", "made")
    return "\n".join(lines_of(group, FREE, group.incarnations[-1], "streams"))


def test_the_tasks_that_have_had_no_owner_for_longest_are_not_cut(tmp_path):
    lost = STREAMS | {"status": "open", "from_member": "b"}
    tasks = [
        lost | {"task": 0, "released_at": CAPTURED - timedelta(seconds=2), "subtopology_id": f"{n}"} for n in range(149)
    ]
    tasks.append(
        lost
        | {"subtopology_id": "z", "task": 999, "released_at": CAPTURED - timedelta(seconds=97), "unowned_ms": 97_000}
    )
    rows = entries(tasks_text(tmp_path, tasks), "Tasks without an owner, 100 of 150:")
    assert (len(rows), rows[-1]) == (101, "and 50 more: see task_handover")
    assert rows[0].startswith("z: 999 ≥ 1 min 37 s ")


def test_tasks_without_an_owner_are_named(tmp_path):
    lost = {"group_id": "app", "group_type": "streams", "subtopology_id": "s", "task": 7, "status": "open"}
    released = CAPTURED - timedelta(minutes=5)
    text = tasks_text(tmp_path, [lost | {"from_member": "b", "released_at": released, "unowned_ms": 300_000}])
    assert entries(text, "Tasks without an owner:") == ["s: 7 ≥ 5 min 2026-01-01 23:55:00 UTC b"]


def write_shared(out, members=("a", "b")):
    """Write a share group of two topics; its present members subscribe to one of them."""
    shared = {"group_id": "g", "group_type": "share"}
    minutes_ago = [CAPTURED - timedelta(minutes=number) for number in range(10)]
    topic = {"group_id": "g", "state": "initialized", "from_at": minutes_ago[9]}
    stay = shared | {"joined_at": minutes_ago[8]}
    owned = shared | {"topic_id": "T", "topic": "orders"}
    made_tables.write(
        out,
        "made",
        group_state_timeline=[shared | {"state": "Stable", "from_at": minutes_ago[9]}],
        group_state=[shared | {"state": "Stable", "since": minutes_ago[9]}],
        share_partition_state=[
            topic | {"topic_id": "T", "topic": "orders", "partitions": [0, 1, 2, 3]},
            topic | {"topic_id": "U", "topic": "unread", "partitions": [0, 1]},
        ],
        membership=[
            *(stay | {"member_id": member, "topics": ["orders"]} for member in members),
            stay | {"member_id": "gone", "topics": ["unread"], "left_offset": 5},
        ],
        ownership=[
            owned | {"member_id": "a", "partition": 0, "from_at": minutes_ago[8], "to_at": minutes_ago[4]},
            owned | {"member_id": "a", "partition": 1, "from_at": minutes_ago[8], "to_at": minutes_ago[2]},
            owned | {"member_id": "b", "partition": 1, "from_at": minutes_ago[3]},
            owned | {"member_id": "b", "partition": 2, "from_at": minutes_ago[3], "to_at": minutes_ago[2]},
            owned | {"member_id": "b", "partition": 3, "from_at": minutes_ago[3]},
        ],
    )


def test_shared_partitions_that_no_member_has_are_named(tmp_path):
    write_shared(tmp_path)
    known = {"partition_history": [{"partition": 0, "is_base": True}], "classic_generation": []}
    made_tables.write(tmp_path, "made", audit_runs=[{"run": 1, "captured_at": CAPTURED}], **known)
    group = GroupHistory(DuckTables(str(tmp_path)), "g", "made")
    orders, unread = entries("\n".join(lines_of(group, TOPICS)), "Partitions by state:")
    assert orders.endswith("without a member: 0, 2; without for: ≥ 2 min")
    assert unread.endswith("without a member: no member subscribes")


def test_the_page_names_shared_partitions_that_no_member_has(tmp_path):
    write_groups(tmp_path, {}, cluster="made")
    write_shared(tmp_path)
    orders, unread = contents(DuckTables(str(tmp_path))).histories["made", 0, "g"]["topics"]
    free_ms = (PAGE_CAPTURED - CAPTURED + timedelta(minutes=2)) // timedelta(milliseconds=1)
    assert (orders["without_a_member_text"], orders["free_ms"]) == ("0, 2", free_ms)
    assert (unread["without_a_member_text"], unread["free_ms"]) == ("no member subscribes", None)


def test_no_member_is_missed_in_an_empty_share_group(tmp_path):
    write_shared(tmp_path, members=())
    made_tables.write(tmp_path, "made", audit_runs=[{"run": 1, "captured_at": CAPTURED}], classic_generation=[])
    group = GroupHistory(DuckTables(str(tmp_path)), "g", "made")
    assert not any("without for" in line for line in lines_of(group, TOPICS))


def test_only_the_present_generation_of_a_group_is_ongoing(tmp_path):
    classic = {"group_id": "g", "group_type": "classic", "state": "Stable", "incarnation": 1}
    made_tables.write(
        tmp_path,
        "made",
        audit_runs=[{"run": 1, "captured_at": CAPTURED}],
        group_state=[classic | {"generation": 3}],
        group_state_timeline=[classic | {"from_at": CAPTURED}],
        classic_generation=[
            {"group_id": "g", "incarnation": 1, "generation": 1, "ended_by": "next_generation", "history": "observed"},
            {"group_id": "g", "incarnation": 1, "generation": 2, "history": "observed"},
            {"group_id": "g", "incarnation": 1, "generation": 3, "history": "right_censored"},
            {"group_id": "g", "incarnation": 0, "generation": 3, "history": "observed"},
        ],
        classic_member=[],
    )
    group = GroupHistory(DuckTables(str(tmp_path)), "g", "made")
    rows = group.section(GENERATIONS, group.incarnations[-1])
    assert [(row["generation"], row["is_ongoing"]) for row in rows] == [(3, True), (2, False), (1, False)]
    common = {"kind": "classic", "clients": {}}
    ends = [flat("\n".join(map(str, one_generation(group, group.incarnations[-1], n, common)))) for n in (1, 2, 3)]
    assert [each.rpartition("ended by ")[2] for each in ends[1:]] == ["2 0 not seen", "3 0 ongoing"]
    assert "ended by" not in ends[0]


@pytest.mark.parametrize(
    ("cluster", "name", "epoch", "title", "holder"),
    [
        ("group-kinds", "coop", 4, "Members of the generation:", "coop-2 @ 127.0.0.1"),
        ("connect", "connect-cluster", 10, "Workers:", "http://127.0.0.1:19603/"),
    ],
)
def test_one_generation_of_a_classic_group(kinds, cluster, name, epoch, title, holder):  # noqa: PLR0913, PLR0917
    text = explained(kinds, cluster, name, epoch)
    (row,) = entries(text, "Generation:")
    assert row.split()[0] == str(epoch)
    assert holder in text[text.index(title) :]
    assert "Epoch:" not in text


def explained(kinds, cluster, name, epoch=None):
    console = Console(width=250, highlight=False)
    with console.capture() as captured:
        for part in explain(GroupHistory(DuckTables(str(kinds)), name, cluster), epoch):
            console.print(part)
    return captured.get()


@pytest.mark.parametrize(
    ("cluster", "name", "said"),
    [
        ("group-kinds", "coop", r"generation 11 was completed at \S+ \S+ UTC; whether it rebalances now"),
        ("connect", "connect-sink1", r"Empty, generation 2 was completed at \S+ \S+ UTC; whether members join now"),
    ],
)
def test_the_log_shows_what_a_classic_group_completed_not_what_it_does(kinds, cluster, name, said):
    text = flat(explained(kinds, cluster, name))
    assert re.match(
        rf"Group {name} of cluster {cluster}, captured at [^:]+:[^:]+:[^:]+: {said} is not in the log ", text
    )
    assert "Generations" not in text


def test_a_static_member_that_was_replaced_is_not_listed(kinds):
    text = explained(kinds, "group-kinds", "static")
    members = entries(text, "Members of the last generation:")
    assert [re.search(r"instance (inst-\d)", row)[1] for row in members] == ["inst-0", "inst-1"]
    assert "inst-1-ce66bdfa" not in text


def test_a_streams_group_is_stuck_since_its_rebalance_began_in_every_report(kinds):
    """It was NotReady for nine seconds of it, and then Reconciling."""
    said = flat(explained(kinds, "streams-not-ready", "ns-gone"))
    assert "Reconciling, stuck for ≥ 16.9 s, since 2026-11-26 03:47:43 UTC" in said
    assert "  ns-gone      ≥ 16.9 s  0/1        0  nsg-A-StreamThread-1-consumer @ 127.0.0.1" in summarized(
        kinds, "streams-not-ready"
    )


def test_the_summary_names_the_worker_that_left(kinds):
    text = summarized(kinds, "connect")
    assert text.startswith("WARNING  1 of 2 groups stuck, none for too long")
    assert "worker http://127.0.0.1:19603/" in text


def summarized(kinds, cluster):
    tables = DuckTables(str(kinds))
    (run,) = tables.chosen_runs(cluster)
    counts = {"records": {2: 1}, "quarantined": 0, "captured_at": run.captured_at, "reads": ()}
    counts |= {"run": 1, "resumed": False, "skipped": 0, "dialect": "kafka"}
    audit = SimpleNamespace(
        options=SimpleNamespace(cluster=cluster, out="out", dialect="kafka", limits=(), offset_commits=False), **counts
    )
    console = Console(width=1000, highlight=False, color_system=None)
    with console.capture() as captured:
        for part in summary(tables, audit):
            console.print(part)
    return captured.get()


def test_a_worker_that_restarted_is_back_under_its_url(tmp_path):
    """One that announced the same URL all the time is another one."""
    group = {"group_id": "c", "incarnation": 0}
    lost = group | {"group_type": "classic", "task": 0, "status": "open", "reason": "worker_left", "released_offset": 2}
    workers = [
        *(("old-a", "http://a/", 1), ("old-b", "http://b/", 1), ("new-a", "http://a/", 2)),
        *(("old-c", "http://c/", 1), ("other-c", "http://c/", 1), ("other-c", "http://c/", 2)),
    ]
    made_tables.write(
        tmp_path,
        "made",
        audit_runs=[{"run": 1, "captured_at": CAPTURED}],
        group_state=[group | {"group_type": "classic", "state": "Stable", "generation": 2}],
        connect_assignment=[
            group | {"member_id": member, "worker_url": url, "generation": generation}
            for member, url, generation in workers
        ],
        membership=[
            group | {"member_id": member, "client_host": "/h", "joined_offset": 2 if member == "new-a" else 1}
            for member in sorted({member for member, *_ in workers})
        ],
        task_handover=[lost | {"connector": each, "from_member": f"old-{each}"} for each in "abc"],
        rebalance=[group | {"group_type": "classic", "outcome": "open", "delay_ms": 5, "expected_at": CAPTURED}],
    )
    (row,) = DuckTables(str(tmp_path)).rows("SELECT blocker FROM group_state", "made")
    assert row.blocker["workers"] == ["http://a/", "http://b/", "http://c/ @ h, member old-c"]
    assert row.blocker["sentence"].startswith("3 workers left 3 connectors and tasks behind; 1 worker is back; ")
