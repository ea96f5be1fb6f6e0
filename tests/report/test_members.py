"""What `kip848 explain` says of members: what they have, how they came and went, and what else is wrong."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from kip848_records.queries.duck import DuckTables
from kip848_records.report.comings import with_changes
from kip848_records.report.explain import explain
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.group_sections import MEMBERS, clients_of, with_units
from tests import made_tables
from tests.report.fitted import entries, flat

CAPTURED = datetime(2026, 1, 2, tzinfo=UTC)
GROUP = {"group_id": "g", "group_type": "consumer", "state": "Reconciling"}
UNPROVEN = "; records are missing here, so this may not be so"
NEEDED = (
    *("anomaly", "quarantine", "regex_resolution", "group_migration", "protocol_comparison", "classic_generation"),
    *(
        "connect_assignment",
        "classic_member",
        "task_handover",
        "share_partition_state",
        "rebalance_lag",
        "latest_state",
    ),
)


def stay(member, client, **columns):
    return {
        "group_id": "g", "group_type": "consumer", "member_id": member, "client_id": client, "client_host": "/h",
        "joined_offset": 1, **columns,
    }  # fmt: skip


def state(member, name="reconciled", **columns):
    return {"group_id": "g", "group_type": "consumer", "member_id": member, "state": name, **columns}


def assigned(member, present, target, pending=(), topic="orders", **columns):
    counts = {"present_units": len(present), "target_units": len(target), "pending_units": len(pending)}
    lists = {"present": [*present], "target": [*target], "pending": [*pending]}
    return {
        "group_id": "g",
        "group_type": "consumer",
        "member_id": member,
        "topic": topic,
        **lists,
        **counts,
        **columns,
    }


@pytest.fixture
def told(tmp_path):
    """The lines of `explain` of a group in made tables."""

    def run(group=GROUP, **tables):
        made_tables.write(
            tmp_path,
            "c",
            audit_runs=[{"run": 1, "captured_at": CAPTURED}],
            group_state=[group],
            group_state_timeline=[group | {"from_at": CAPTURED - timedelta(hours=1)}],
            **dict.fromkeys({*NEEDED, "rebalance", "membership", "member_state_timeline"} - tables.keys(), ()),
            **tables,
        )
        console = Console(width=300, highlight=False)
        with console.capture() as captured:
            for part in explain(GroupHistory(DuckTables(str(tmp_path)), "g", "c")):
                console.print(part)
        return [line.rstrip() for line in captured.get().splitlines()]

    return run


def rows_of(lines, title):
    return entries("\n".join(lines), title)


def test_members_that_lack_something_come_first(told):
    lines = told(
        membership=[stay("m1", "fine"), stay("m2", "revokes"), stay("m3", "gets"), stay("m4", "idle")],
        member_state_timeline=[state("m1"), state("m2"), state("m3"), state("m4")],
        member_assignment=[
            assigned("m1", (0, 1, 2, 9), (0, 1, 2, 9)),
            assigned("m2", (3, 4), (3,), (4,)),
            assigned("m3", (), (4, 5)),
        ],
    )
    assert rows_of(lines, "Members:") == [
        "revokes @ h reconciled orders 3-4 (2) orders 4 m2",
        "gets @ h reconciled nothing orders 4-5 m3",
        "idle @ h reconciled nothing m4",
        "fine @ h reconciled orders 0-2, 9 (4) m1",
    ]


def test_who_is_behind_for_longest_comes_first(told):
    ages = {"m1": 5, "m2": 20, "m3": 10}
    behind = {"group_id": "g", "group_type": "consumer", "group_epoch": 2, "status": "open", "superseded": False}
    lines = told(
        GROUP | {"captured_at": CAPTURED},
        membership=[stay(member, f"app-{member}") for member in ages],
        member_state_timeline=[state(member, "waiting") for member in ages],
        rebalance_lag=[
            behind
            | {
                "member_id": member,
                "behind_since": CAPTURED - timedelta(minutes=minutes),
                "awaited": [{"topic": "orders", "partition": 0, "owner": None}],
            }
            for member, minutes in ages.items()
        ],
    )
    waits = [line.split()[0] for line in lines if "waits for 1 partition, behind for" in line]
    assert waits == ["m2", "m3", "m1"]
    assert [row.split()[-1] for row in rows_of(lines, "Members:")] == ["m2", "m3", "m1"]


def test_nothing_is_claimed_of_members_whose_states_were_lost(told, tmp_path):
    lines = told(GROUP | {"state": "unknown"}, membership=[stay("m1", "a"), stay("m2", "b")],
                 member_state_timeline=[state("m2", "unknown")])  # fmt: skip
    assert rows_of(lines, "Members:") == ["b @ h insufficient data m2"]
    group = GroupHistory(DuckTables(str(tmp_path)), "g", "c")
    rows = [row | {"kind": "consumer", "clients": {}, "places": None} for row in group.section(MEMBERS)]
    shown = MEMBERS.rows_for_page(with_units(rows, []))
    assert {row["member_id"]: (row["state_text"], row["has"]) for row in shown} == {
        "m1": ("", ""),
        "m2": ("insufficient data", ""),
    }


def test_many_topics_and_ranges_are_cut(told):
    topics = [assigned("m", (0,), (0,), topic=f"t{number}") for number in range(5)]
    wide = assigned("m", range(0, 100, 2), range(0, 100, 2), topic="a")
    lines = told(membership=[stay("m", "c")], member_state_timeline=[state("m")], member_assignment=[wide, *topics])
    (row,) = rows_of(lines, "Members:")
    assert "…; t0 0; t1 0; t2 0; t3 0; 1 more (55)" in row
    assert len(row) < 200


def test_members_of_a_mixed_group_are_told_apart(told):
    lines = told(
        membership=[stay("m1", "old"), stay("m2", "new"), stay("m3", "gone", group_type="classic")],
        member_state_timeline=[state("m1", is_classic=True), state("m2")],
    )
    at = lines.index("A mixed group: 1 of 2 members still uses the classic protocol: old @ h")
    assert lines[at + 1] == "  next     Finish the roll to group.protocol=consumer"
    assert sorted(row.split()[3] for row in rows_of(lines, "Members:")) == ["classic", "reconciled"]
    assert not any("gone @ h" in line for line in lines)


def test_tasks_are_told_by_role(told):
    streams = {"group_type": "streams", "topic": None, "subtopology_id": "0"}
    lines = told(
        GROUP | {"group_type": "streams"},
        membership=[stay("m", "c", group_type="streams")],
        member_state_timeline=[state("m", group_type="streams")],
        member_assignment=[
            assigned("m", (0, 1), (0, 1), role="active", **streams),
            assigned("m", (), (2,), role="standby", **streams),
        ],
    )
    (row,) = rows_of(lines, "Members:")
    assert "active 0: 0-1 (2) standby 0: 2" in row


def test_who_joined_and_left_is_named_by_how(told):
    rebalance = {"group_id": "g", "group_type": "consumer", "outcome": "converged", "began_at": CAPTURED}
    steps = [rebalance | {"began_offset": nth, "first_epoch": nth, "last_epoch": nth} for nth in (2, 3, 4, 5)]
    left = {"left_offset": 9, "left_how": "left"}
    lines = told(
        rebalance=[*steps, rebalance | {"began_offset": 6, "first_epoch": 6, "last_epoch": 8}],
        membership=[
            stay("m1", "a", joined_epoch=2, joined_how="joined", left_epoch=3, **left),
            stay("m1", "a", joined_offset=20, joined_epoch=4, joined_how="joined"),
            stay("s1", "s", instance_id="i", joined_epoch=1, joined_how="joined", left_epoch=5, left_how="replaced",
                 left_offset=30),
            stay("s2", "s", instance_id="i", joined_offset=31, joined_epoch=5, joined_how="replaced"),
            stay("t1", "t", instance_id="j", joined_epoch=1, joined_how="joined", left_epoch=5, left_how="replaced",
                 left_offset=32),
            stay("t2", "u", instance_id="j", joined_offset=33, joined_epoch=5, joined_how="replaced"),
            *(stay(f"x{n}", "x", joined_offset=40 + n, joined_epoch=7, joined_how="joined") for n in range(3)),
            *(stay(f"y{n}", f"y{n}", joined_offset=50 + n, joined_epoch=6, joined_how="joined", left_epoch=8,
                   left_how="expired", left_offset=60) for n in range(2)),
        ],
    )  # fmt: skip
    rows = rows_of(lines, "Rebalances, the latest first:")
    assert [row.partition(" cause: ")[2] for row in rows] == [
        "joined: x @ h (3 times), y0 @ h and 1 more; was away and expired: y0 @ h, y1 @ h",
        "was replaced: s @ h (instance i), t @ h (instance j); took the place of its predecessor: u @ h (instance j)",
        "returned: a @ h",
        "left or expired: a @ h",
        "joined: a @ h",
    ]


def test_of_too_many_who_joined_the_latest_are_named(told, monkeypatch):
    monkeypatch.setattr("kip848_records.report.comings._READ", 50)
    rebalance = {"group_id": "g", "group_type": "consumer", "outcome": "converged", "began_at": CAPTURED}
    lines = told(
        rebalance=[rebalance | {"began_offset": nth, "first_epoch": nth, "last_epoch": nth} for nth in (1, 2, 3)],
        membership=[
            stay(f"m{nth}", name, joined_offset=nth, joined_epoch=epoch, joined_how="joined")
            for nth in range(1, 53)
            for name, epoch in [("last", 3) if nth == 52 else ("late", 2) if nth > 40 else ("early", 1)]
        ],
    )
    rows = rows_of(lines, "Rebalances, the latest first:")
    assert [row.partition(" cause: ")[2] for row in rows] == [
        "joined: last @ h",
        "joined: late @ h (11 times)",
        "joined: early @ h (38 times); perhaps more: only the 50 members that joined or left last are read",
    ]


def test_a_rebalance_of_which_records_were_lost_took_at_least_its_time(told):
    lost = {"group_id": "g", "group_type": "consumer", "outcome": "unknown", "history": "censored", "duration_ms": 9000}
    (row,) = rows_of(told(rebalance=[lost | {"began_at": CAPTURED}]), "Rebalances, the latest first:")
    assert " UTC ≥ 9 s " in row


def test_members_with_one_client_are_told_apart_by_their_ids():
    rows = [stay("m1", "a"), stay("m2", "a"), stay("m3", "b"), stay("m4", None, client_host=None)]
    named = clients_of([{"instance_id": None} | row for row in rows])
    assert named == {"m1": "a @ h, member m1", "m2": "a @ h, member m2", "m3": "b @ h"}


def test_nothing_is_said_of_rebalances_without_epochs():
    assert with_changes(None, None, [{"first_epoch": None}]) == [{"first_epoch": None, "changes": ""}]


def test_what_expressions_resolved_to(told):
    lines = told(
        membership=[stay("m1", "a", regex="a.*"), stay("m2", "a", regex="a.*"), stay("m3", "b", regex="b"),
                    stay("m4", "b", regex="c"), stay("m5", "old", regex="old", left_offset=3)],
        regex_resolution=[
            {"group_id": "g", "regex": "a.*", "topics": ["old"], "offset": 4, "resolved_at": CAPTURED},
            {"group_id": "g", "regex": "a.*", "topics": ["a1", "a2"], "offset": 7, "resolved_at": CAPTURED},
            {"group_id": "g", "regex": "b", "topics": [], "offset": 8},
        ],
    )  # fmt: skip
    said = flat("\n".join(lines))
    assert [f"Expression {each}".strip() for each in said.split("Expression ")[1:]] == [
        "Expression a.* of 2 members: a1, a2 (2 topics), resolved at 2026-01-02 00:00:00 UTC",
        "Expression b of 1 member: it matches no topic that the client may see",
        "Expression c of 1 member: the broker has not resolved it, or the log does not show it",
    ]


def test_damage_and_contradictions_of_its_records(told):
    damaged = {"group_id": "g", "partition": 0, "error_code": "truncated", "reason": "the value ends early"}
    lines = told(
        quarantine=[damaged | {"offset": 7}, damaged | {"offset": 5}, damaged | {"group_id": "other", "offset": 6}],
        anomaly=[
            {"group_id": "g", "kind": "two_owners", "offset": 9, "is_proven": True},
            {"group_id": "g", "kind": "epoch_went_back", "offset": 3},
            {"group_id": "g", "kind": "epoch_went_back", "offset": 4},
            {"group_id": "other", "kind": "target_overlap", "offset": 4},
        ],
    )
    said = flat("\n".join(lines))
    for line in (
        "  2 rows could not be decoded (the first at offset 5 of partition 0): the value ends early; see quarantine",
        "  a partition or task had two owners at once, 1 time (last at offset 9 of partition 0); see anomaly",
        f"  an epoch or generation went back, 2 times (last at offset 4 of partition 0){UNPROVEN}; see anomaly",
    ):
        assert flat(line) in said


def test_a_group_that_is_not_ready_needs_topics(told):
    parts = [
        {"sourceTopics": ["words"], "sourceTopicRegex": [], "repartitionSourceTopics": []},
        {"sourceTopics": [], "sourceTopicRegex": ["in.*"], "repartitionSourceTopics": [{"name": "app-repartition"}],
         "stateChangelogTopics": [{"name": "app-changelog"}]},
    ]  # fmt: skip
    rebalance = {"group_id": "g", "group_type": "streams", "outcome": "open", "began_at": CAPTURED, "blockers": []}
    lines = told(
        GROUP | {"group_type": "streams", "state": "NotReady"},
        rebalance=[rebalance],
        latest_state=[
            {"group_id": "g", "record": "StreamsGroupTopology", "value": json.dumps({"subtopologies": parts})}
        ],
    )
    assert "\n".join(lines).split("Topics that its topology needs")[1].split("\n\n")[0].splitlines()[1:] == [
        "  source       words",
        "  source by expression  in.*",
        "  repartition  app-repartition",
        "  changelog    app-changelog",
        "  Brokers create repartition and changelog topics once all sources exist",
    ]


@pytest.mark.parametrize(
    ("places", "has"),
    [
        (None, "orders 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38; t0 1; t1 1; t2 1"),
        (3, "orders 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, …; t0 1; t1 1; 1 more"),
    ],
)
@pytest.mark.parametrize(("total", "count"), [(4, "23"), (5, "≥ 23")])
def test_the_page_has_all_that_a_member_has(places, has, total, count):
    """The terminal ends a long list at a comma. Where not all rows were read, the count is a minimum."""
    member = {"kind": "consumer", "places": places, "incarnation": 0, "member_id": "m", "is_present": True}
    member |= {"state": "reconciled", "behind_ms": None}
    unit = {"incarnation": 0, "member_id": "m", "role": None, "target": None, "pending": "", "total": total}
    units = [unit | {"place": "orders", "numbers": " ".join(map(str, range(0, 40, 2)))}]
    units += [unit | {"place": f"t{nth}", "numbers": "1"} for nth in range(3)]
    (found,) = with_units([member], units)
    assert found["has"] == f"{has} ({count})"


@pytest.mark.parametrize(
    "place", ["t" * 90, "sink, the second, of the three that write into the same table of one database"]
)
def test_the_name_of_a_place_is_not_cut(place):
    """Nor does the terminal claim more units of it than there are."""
    member = {"kind": "consumer", "places": 5, "incarnation": 0, "member_id": "m", "is_present": True}
    member |= {"state": "reconciled", "behind_ms": None}
    unit = {"incarnation": 0, "member_id": "m", "role": None, "target": None, "pending": "", "total": 1}
    (found,) = with_units([member], [unit | {"place": place, "numbers": "3"}])
    assert found["has"] == f"{place} 3 (1)"
