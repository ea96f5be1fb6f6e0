"""What the page says against the tables that it was made from."""

from datetime import timedelta

import pytest
from deltalake import DeltaTable

from kip848_records.queries.duck import DuckTables
from kip848_records.report.page import contents as bounds
from kip848_records.report.page.contents import contents
from kip848_records.report.page.page import page
from kip848_records.report.page.phrases import blocker_text
from tests import made_tables
from tests.report.page.made_contents import CAPTURED, limit_sections, write_groups


def test_the_groups_that_are_stuck_come_first_the_oldest_first(made_contents):
    made = made_contents({"b": 0, "new": 60, "old": 1432})
    assert [group["group_id"] for group in made.groups][:2] == ["old", "new"]
    assert made.counts == {"stuck": 2, "healthy": 1}
    captured = round(CAPTURED.timestamp() * 1000)
    assert made.captured == {"demo": captured}
    assert [captured - group["since_ms"] for group in made.groups[:2]] == [1_432_000, 60_000]
    assert [group["waiting"] for group in made.groups] == [2, 2, 0]


def test_a_stuck_group_has_its_blocker_and_what_to_do(made_contents):
    (group,) = made_contents({"old": 1432}).groups
    blocker = group["blocker"]
    assert (blocker["client_id"], blocker["doing"], blocker["state_ms"]) == ("old-client", "revoking", 1_432_000)
    assert (blocker["pattern"], blocker["topics"], blocker["holds"]) == (
        "revokes_beyond_timeout",
        ("orders",),
        "orders 1-2",
    )
    assert group["blockers"] == [blocker["member_id"]]
    assert {"old-client", "orders", blocker["member_id"]} <= set(group["words"].split())


def test_a_trouble_over_time_is_said_where_no_member_is_named():
    found = {"pattern": "restart_loop", "who": "app @ host", "doing": "restart loop", "state_ms": None, "lost": 0}
    assert blocker_text(found) == "app @ host, restart loop"
    assert blocker_text(found | {"pattern": "storm", "who": None}) == (
        "no single member: members leave or join again all the time"
    )


@pytest.mark.slow
def test_a_stuck_group_of_which_nothing_shows_the_blocker_says_so(tmp_path):
    state = {"group_id": "old", "group_type": "consumer", "state": "Reconciling", "since": CAPTURED, "members": 1}
    timeline = {"group_id": "old", "group_type": "consumer", "state": "Reconciling", "from_at": CAPTURED}
    names = (
        "rebalance",
        "rebalance_lag",
        "member_state_timeline",
        "membership",
        "partition_handover",
        *made_tables.OF_KINDS,
    )
    run = {"run": 1, "captured_at": CAPTURED, "sources": ["made"], "dialect": "kafka", "version": "1"}
    made_tables.write(
        tmp_path,
        "demo",
        group_state=[state],
        group_state_timeline=[timeline],
        audit_runs=[run],
        **dict.fromkeys(names, ()),
    )
    (group,) = contents(DuckTables(str(tmp_path))).groups
    assert group["blocker"]["pattern"] == "no_evidence"
    assert "the log does not show which member" in page(contents(DuckTables(str(tmp_path)))).html


def test_rebalances_are_counted_once(made_contents):
    made = made_contents({"a": 0, "b": 60}, rebalances=3)
    assert [group["rebalances"] for group in made.groups] == [3, 3]
    assert sum(row["rebalances"] for row in made.begun) == 6
    assert sum(row["ongoing"] for row in made.begun) == 1
    assert {row["group_id"] for row in made.slowest} == {"a", "b"}


@pytest.mark.parametrize(("last", "peak"), [(3599, 3), (3600, 2)])
def test_the_busiest_hour_of_a_group_is_an_hour(made_contents, last, peak):
    group = {"group_id": "a", "group_type": "consumer", "incarnation": 0, "partition": 7}
    begun = [CAPTURED - timedelta(hours=20) + timedelta(seconds=each) for each in (0, 1800, last)]
    more = [group | {"began_at": at, "began_offset": nth} for nth, at in enumerate(begun, start=100)]
    (found,) = made_contents({"a": 0}, rebalances=1, rebalance=more).groups
    assert (found["rebalances"], found["peak_per_hour"]) == (4, peak)


def test_groups_that_fail_come_in_the_order_of_the_harm_and_others_by_their_slowest_rebalance(made_contents):
    trouble = {"partition": 7, "incarnation": 0, "is_present": True, "pattern": "storm", "first_seen": CAPTURED}
    failing = [
        trouble | {"group_id": name, "severity": severity, "cost_share": share}
        for name, severity, share in (("a", "warning", 0.1), ("b", "error", 0.2), ("c", "warning", 0.3))
    ]
    groups = made_contents(dict.fromkeys("abcdef", 0), diagnosis=failing).groups
    assert [group["group_id"] for group in groups[:3]] == ["b", "c", "a"]
    slowest = [group["slowest_ms"] for group in groups[3:]]
    assert slowest == sorted(slowest, reverse=True)


@pytest.mark.slow
def test_the_audits_of_captures_are_read(audits):
    made = contents(DuckTables(str(audits.out)))
    assert made.groups[0]["group_id"] == "stuck"
    assert made.groups[0]["blocker"]["who"] == "stuck-app @ 127.0.0.1"
    assert made.groups[0]["blocker"]["holds"] == "clicks 12-23"
    assert sum(made.counts.values()) == len(made.groups)


def test_too_much_is_cut_and_counted(tmp_path, monkeypatch):
    write_groups(tmp_path, {f"group-{n}": 60 * n for n in range(5)}, rebalances=4)
    monkeypatch.setattr(bounds, "GROUPS_LISTED", 4)
    monkeypatch.setattr(bounds, "GROUPS_DRAWN", 2)
    limit_sections(monkeypatch, rebalances=3)
    made = contents(DuckTables(str(tmp_path)))
    assert [group["group_id"] for group in made.groups] == ["group-4", "group-3", "group-2", "group-1"]
    assert sum(made.counts.values()) == 5
    assert [group_id for _, _, group_id in made.histories] == ["group-3", "group-4"]
    history = made.histories["demo", 7, "group-4"]
    assert (len(history["rebalances"]), history["omitted"]) == (3, ["3 of 4 rebalances"])


@pytest.mark.slow
def test_the_timelines_are_those_of_the_groups_that_are_listed_first(tmp_path, monkeypatch):
    """A group that was deleted is listed by its slowest rebalance, as one that is healthy."""
    write_groups(tmp_path, {f"group-{n}": 0 for n in range(3)})
    slowest = contents(DuckTables(str(tmp_path))).groups[0]["group_id"]
    DeltaTable(tmp_path / "group_state").delete(f"group_id = '{slowest}'")
    monkeypatch.setattr(bounds, "GROUPS_DRAWN", 1)
    made = contents(DuckTables(str(tmp_path)))
    assert (made.groups[0]["group_id"], made.groups[0]["health"]) == (slowest, "deleted")
    assert [group_id for _, _, group_id in made.histories] == [slowest]
