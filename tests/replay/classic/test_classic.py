"""Classic groups: what the replay makes of real brokers' logs, and what an admin client saw at the same moments."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.replay.classic_logs import END, admin_answers, batch_of, chosen, rows_of, tables, tables_of
from tests.replay.stories import Story, complete_between

NUMBERS = ("incarnation", "generation", "offset", "cause", "mode", "rounds", "join_ms", "sync_ms", "moved", "units")


def test_generations_of_an_eager_group() -> None:
    assert rows_of("kafka-4.3.1", "classic_generation", "classic", *NUMBERS) == [
        (0, 0, 0, "created", None, None, None, None, 0, 0),
        (0, 1, 1, "member_joined", "unknown", 1, 553, 16, 0, 12),
        (0, 2, 38, "member_joined", "eager", 1, None, 3, 6, 12),
        (0, 3, 87, "member_joined", "eager", 1, None, 4, 6, 12),
    ]


def test_generations_of_a_group_that_is_emptied() -> None:
    assert rows_of("kafka-4.3.1-all-types", "classic_generation", "g-classic", *NUMBERS) == [
        (0, 0, 15, "created", None, None, None, None, 0, 0),
        (0, 1, 23, "member_joined", "unknown", 1, 525, 4, 0, 12),
        (0, 2, 361, "member_joined", "eager", 1, None, 4, 6, 12),
        (0, 3, 520, "member_joined", "eager", 1, None, 1, 6, 12),
        (0, 4, 3067, "member_left", "eager", 1, None, 2, 4, 16),
        (0, 5, 3308, "member_left", "eager", 1, None, 2, 8, 16),
        (0, 6, 3405, "emptied", None, 1, None, None, 0, 0),
    ]


def test_a_group_that_is_deleted_steps_the_incarnation() -> None:
    (group_id,) = {
        row["group_id"]
        for row in tables("kafka-4.3.1-all-types")["classic_generation"]
        if row["group_id"].startswith("spark-kafka-relation")
    }
    names = ("incarnation", "offset", "cause", "sync_ms", "ended_by")
    assert rows_of("kafka-4.3.1-all-types", "classic_generation", group_id, *names) == [
        (0, 5230, "created", None, "next_generation"),
        (0, 5231, "member_joined", 12, "emptied"),
        (0, 5232, "emptied", None, "deleted"),
    ]


def test_rounds_of_a_cooperative_group() -> None:
    names = ("generation", "cause", "mode", "moved", "unassigned", "units")
    assert rows_of("group-kinds", "classic_generation", "coop", *names)[2:7] == [
        (2, "member_joined", "cooperative", 0, 3, 3),
        (3, "follow_up", "cooperative", 3, 0, 6),
        (4, "member_joined", "cooperative", 0, 2, 4),
        (5, "follow_up", "cooperative", 2, 0, 6),
        (6, "member_left", "cooperative", 2, 0, 6),
    ]


def test_a_static_member_that_comes_back_is_replaced_within_the_generation() -> None:
    rows = rows_of("group-kinds", "classic_generation", "static", "generation", "static_replaced", "joined")
    assert [(generation, len(replaced), len(joined or ())) for generation, replaced, joined in rows] == [
        (0, 0, 0),
        (1, 0, 1),
        (2, 1, 1),
    ]
    (replacement,) = rows[-1][1]
    members = rows_of("group-kinds", "classic_member", "static", "generation", "member_id", "instance_id")
    assert (2, replacement["from_member"], replacement["instance_id"]) in members
    assert (2, replacement["to_member"], replacement["instance_id"]) in members


def test_two_members_of_one_instance_id_own_what_the_record_says() -> None:
    """No coordinator writes that; a damaged record may say it."""
    batch = batch_of("group-kinds")
    rows = [row for row in batch.to_pylist() if row["group_id"] == "static"]
    for row in rows:
        row["value"] = row["value"].replace(b"\0\6inst-1", b"\0\6inst-0")
    found = tables_of(pa.RecordBatch.from_pylist(rows, batch.schema))
    assert chosen(found["classic_generation"], "static", "generation", "units", "ended_by")[-1] == (2, 3, None)
    assert len(chosen(found["classic_member"], "static", "member_id")) == 5


def test_a_leader_whose_assignor_sleeps() -> None:
    rows = rows_of("streams-not-ready", "classic_generation", "slow", "generation", "join_ms", "sync_ms", "mode")
    assert rows == [(0, None, None, None), (1, 1045, 888, "unknown"), (2, None, 443, "eager"), (3, None, 3, "eager")]


@pytest.mark.parametrize(("name", "count"), [("group-kinds", 573), ("streams-not-ready", 17)])
def test_every_sample_of_an_admin_client_is_a_generation(name: str, count: int) -> None:
    """State, assignor, and the partitions of every member; PreparingRebalance and CompletingRebalance are hidden."""
    equal = 0
    for answer in admin_answers(name):
        if answer["type"] != "Classic" or answer["state"] not in {"Empty", "Stable"}:
            continue
        generations = [
            row
            for row in tables(name)["classic_generation"]
            if row["group_id"] == answer["g"]
            and row["completed_at"] <= answer["t1"]
            and (row["ended_at"] is None or row["ended_at"] >= answer["t0"])
        ]
        said = answer["state"], answer["assignor"], {each["id"]: sorted(each["tp"]) for each in answer["members"]}
        assert any(said == seen for row in generations for seen in _states(name, row)), answer
        equal += 1
    assert equal == count


def _states(name: str, row: dict) -> list[tuple]:  # type: ignore[type-arg]
    """What an admin client may see while a generation lasts: before and after a static member was replaced."""
    members = {
        each["member_id"]: sorted(f"{topic['topic']}-{n}" for topic in each["assigned"] for n in topic["partitions"])
        for each in tables(name)["classic_member"]
        if (each["group_id"], each["incarnation"], each["generation"])
        == (row["group_id"], row["incarnation"], row["generation"])
    }
    gone = {each["from_member"] for each in row["static_replaced"]}
    new = {each["to_member"] for each in row["static_replaced"]}
    state = "Stable" if members else "Empty"
    return [
        (state, row["protocol"] or "", {each: parts for each, parts in members.items() if each not in without})
        for without in (gone, new)
    ]


def test_what_compaction_left_is_right_and_compares_with_nothing() -> None:
    batch = batch_of("kafka-4.3.1")
    kept = [row for row in batch.to_pylist() if row["group_id"] == "classic"][-1:]
    found = tables_of(pa.RecordBatch.from_pylist(kept, batch.schema), complete_from=1000)
    assert chosen(found["classic_generation"], "classic", *NUMBERS, "history") == [
        (0, 3, 87, "unknown", "unknown", None, None, 4, None, 12, "left_censored")
    ]
    assert chosen(found["group_state"], "classic", "state", "members") == [("Stable", 3)]


@pytest.mark.parametrize(("complete_from", "joined", "history"), [(1, 1, "observed"), (1000, None, "left_censored")])
def test_the_first_generation_shows_its_cause_without_the_record_before_it(
    complete_from: int, joined: int | None, history: str
) -> None:
    """Compaction removed the record of the group's creation. Before generation 1 a group has no members."""
    batch = batch_of("kafka-4.3.1")
    (first,) = (row for row in batch.to_pylist() if (row["group_id"], row["offset"]) == ("classic", 1))
    found = tables_of(pa.RecordBatch.from_pylist([first], batch.schema), complete_from=complete_from)
    (generation,) = found["classic_generation"]
    assert (generation["generation"], generation["cause"], generation["history"]) == (1, "member_joined", history)
    assert len(generation["joined"] or ()) == (joined or 0)
    (rebalance,) = found["rebalance"]
    assert (rebalance["causes"], rebalance["history"]) == (["member_joined"], history)
    assert rebalance["trigger_member_ids"] == (generation["joined"] or [])


def test_a_generation_whose_successor_may_be_gone_has_no_end() -> None:
    batch = batch_of("group-kinds")
    kept = [row for row in batch.to_pylist() if row["group_id"] == "coop" and row["offset"] >= 245]
    without_generation_4 = [row for row in kept if row["offset"] != 499]
    left = pa.RecordBatch.from_pylist(without_generation_4, batch.schema)
    found = tables_of(left, ranges=[(245, 246), (801, END)])
    assert chosen(found["classic_generation"], "coop", "generation", "history", "ended_at", "ended_by")[:3] == [
        (3, "left_censored", None, None),
        (5, "left_censored", None, None),
        (6, "left_censored", 1_795_663_899_998, "next_generation"),
    ]


def test_handovers_of_an_eager_group() -> None:
    columns = ("group_type", "generation", "unowned_ms", "unowned_max_ms", "topic", "history")
    rows = rows_of("kafka-4.3.1", "partition_handover", "classic", *columns)
    assert rows == [
        *[("classic", 2, 3, None, "orders", "observed")] * 6,
        *[("classic", 3, 4, None, "orders", "observed")] * 6,
    ]


def test_a_round_that_leaves_partitions_to_no_member_is_an_upper_bound() -> None:
    rows = rows_of("group-kinds", "partition_handover", "coop", "generation", "unowned_ms", "unowned_max_ms")
    assert set(rows) == {
        (3, 32, 209),
        (5, 10, 518),
        (6, 19, None),
        (8, 99, 529),
        (10, 113, 648),
        (11, 79, None),
    }


REBALANCE = (
    *("first_epoch", "last_epoch", "causes", "outcome", "duration_ms", "duration_is_minimum", "rounds"),
    *("members_before", "members", "partitions_moved", "unowned_ms", "longest_unowned_ms"),
)


def test_a_cooperative_rebalance_is_a_generation_and_its_follow_ups() -> None:
    rows = rows_of("group-kinds", "rebalance", "coop", *REBALANCE)
    assert rows[:4] == [
        (1, 1, ["member_joined"], "converged", 191, True, 1, 0, 1, 0, 0, 0),
        (2, 3, ["member_joined", "follow_up"], "converged", 221, True, 2, 1, 2, 3, 96, 32),
        (4, 5, ["member_joined", "follow_up"], "converged", 536, True, 2, 2, 3, 2, 20, 10),
        (6, 6, ["member_left"], "converged", 19, True, 1, 3, 2, 2, 38, 19),
    ]


def test_in_an_eager_rebalance_every_partition_stops() -> None:
    rows = rows_of("kafka-4.3.1-all-types", "rebalance", "g-classic", *REBALANCE)
    assert rows == [
        (1, 1, ["member_joined"], "converged", 4, True, 1, 0, 1, 0, 0, 0),
        (2, 2, ["member_joined"], "converged", 4, True, 1, 1, 2, 6, 12 * 4, 4),
        (3, 3, ["member_joined"], "converged", 1, True, 1, 2, 3, 6, 12 * 1, 1),
        (4, 4, ["member_left"], "converged", 2, True, 1, 3, 2, 4, 12 * 2, 2),
        (5, 5, ["member_left"], "converged", 2, True, 1, 2, 1, 8, 16 * 2, 2),
        (6, 6, ["emptied"], "emptied", None, True, 1, 1, 1, 0, 0, 0),
    ]


def test_owners_go_on_through_an_upgrade_and_a_downgrade() -> None:
    """The member that leaves last has the partitions that the first generation after it gives away."""
    columns = ("group_type", "incarnation", "generation", "from_member", "partition")
    rows = rows_of("group-kinds", "partition_handover", "mig", *columns)
    classic = [row for row in rows if row[0] == "classic"]
    assert [row[1:3] for row in classic] == [*[(0, 3)] * 3, *[(1, 11)] * 4, *[(1, 13)] * 4]
    generations = rows_of("group-kinds", "classic_generation", "mig", "generation", "incarnation", "cause", "ended_by")
    assert generations[3:6] == [
        (3, 0, "follow_up", "upgraded"),
        (10, 1, "downgraded", "next_generation"),
        (11, 1, "follow_up", "next_generation"),
    ]
    stays = rows_of("group-kinds", "membership", "mig", "group_type", "member_id", "left_how", "instance_id")
    left_last = {member for kind, member, how, _ in stays if (kind, how) == ("consumer", "left")}
    assert {row[3] for row in classic if row[2] == 11} <= left_last
    # No member of the classic group acquires what it had; two partitions were added later.
    assert {row[4] for row in rows if row[0] == "consumer" and row[3] is None} == {6, 7}


@pytest.mark.parametrize(("first", "last"), [(0, 0), (925, 1199), (1443, 1444)])
def test_behind_a_loss_nobody_knows_who_had_the_partitions_before_a_downgrade(first: int, last: int) -> None:
    rows = batch_of("group-kinds")
    offset = rows["offset"]
    is_lost = pc.and_(pc.greater_equal(offset, first), pc.less_equal(offset, last))
    left = rows.filter(pc.and_(pc.equal(rows["group_id"], "mig"), pc.invert(is_lost)))
    found = tables_of(left, last + 1, first_loss=first, last_loss=last)
    columns = ("generation", "cause", "moved", "history")
    assert chosen(found["classic_generation"], "mig", *columns)[-4:] == [
        (10, "downgraded", None, "observed"),
        (11, "follow_up", None, "observed"),
        (12, "member_joined", 0, "observed"),
        (13, "follow_up", 4, "observed"),
    ]
    whole = rows_of("group-kinds", "classic_generation", "mig", *columns)[-4:]
    assert whole[:2] == [(10, "downgraded", 0, "observed"), (11, "follow_up", 4, "observed")]
    (rebalance, _) = chosen(found["rebalance"], "mig", "first_epoch", *REBALANCE[-3:])[-2:]
    assert rebalance == (10, None, None, None)


def test_a_group_says_whether_it_can_be_upgraded() -> None:
    columns = ("protocol_type", "protocol", "upgradable")
    assert rows_of("group-kinds", "group_state", "coop", *columns) == [("consumer", "cooperative-sticky", True)]
    assert rows_of("connect", "group_state", "connect-cluster", *columns) == [("connect", "sessioned", False)]


def test_migrations() -> None:
    columns = ("direction", "from_type", "to_type", "offset", "epoch", "converted", "mixed_until", "history")
    assert rows_of("kafka-4.3.1-all-types", "group_migration", "g-upgrade", *columns) == [
        ("upgrade", "classic", "consumer", 1379, 1, 1, 1_795_247_812_876, "observed")
    ]
    rows = rows_of("group-kinds", "group_migration", "mig", "incarnation", *columns)
    assert [row[:3] for row in rows] == [(0, "upgrade", "classic"), (1, "downgrade", "consumer")]
    assert [row[4:7] for row in rows] == [(*rows[0][4:5], 3, 2), (1615, 10, 1)]


def told(log: str, table: str) -> list[Any]:
    """The rows of a story."""
    return Story("", log).replay()[table]


def test_an_empty_group_is_replaced_by_one_of_another_type() -> None:
    log = """
        10: 5 a, 3 1
        20: 8 a x, 7 a x, 5 a x, 3 2
        30: 6 x, 3 x, 2 0/0
        40: 2 1/a
        50: 2 2/0
        60: 2 x, 5 b, 3 2, 7 b, 6 2, 8 b 2
    """
    rows = told(log, "GroupMigration")
    assert [(row.direction, row.from_type, row.to_type, row.incarnation, row.epoch) for row in rows] == [
        ("empty_replaced", "consumer", "classic", 1, 0),
        ("empty_replaced", "classic", "consumer", 1, 2),
    ]
    generations = told(log, "ClassicGeneration")
    assert [(row.cause, row.ended_by) for row in generations] == [
        ("created", "next_generation"),
        ("member_joined", "emptied"),
        ("emptied", "replaced"),
    ]


def test_two_records_of_one_time_are_two_generations() -> None:
    rows = told("10: 2 1/a, 2 2/a+b, 2 3/0, 2 x, 2 1/c", "ClassicGeneration")
    assert [(row.incarnation, row.generation, row.cause, row.ended_by) for row in rows] == [
        (0, 1, "member_joined", "next_generation"),
        (0, 2, "member_joined", "emptied"),
        (0, 3, "emptied", "deleted"),
        (1, 1, "member_joined", None),
    ]


def test_rounds_that_were_given_up_and_members_that_changed() -> None:
    rows = told("10: 2 1/a@i+b\n20: 2 4/x@i+c\n30: 2 5/x@i+c", "ClassicGeneration")
    assert [(row.rounds, row.cause, row.joined, row.left) for row in rows] == [
        (None, "member_joined", ("b", "i"), ()),
        (3, "members_changed", ("c",), ("b",)),
        (1, "unknown", (), ()),
    ]


def test_payloads_that_do_not_parse_are_kept() -> None:
    batch = batch_of("kafka-4.3.1")
    rows = [row for row in batch.to_pylist() if row["group_id"] == "classic"]
    # The version of the first member's assignment is followed by the number of topics: -1 is none.
    good = bytes.fromhex("0000000000010006") + b"orders"
    assert any(good in row["value"] for row in rows)
    for row in rows:
        row["value"] = row["value"].replace(good, bytes.fromhex("0000ffffffff0006") + b"orders")
    found = tables_of(pa.RecordBatch.from_pylist(rows, batch.schema))
    generations = chosen(found["classic_generation"], "classic", "generation", "units", "mode", "moved", "sync_ms")
    assert generations[1:] == [(n, None, None, None, sync_ms) for n, sync_ms in ((1, 16), (2, 3), (3, 4))]
    members = chosen(found["classic_member"], "classic", "assigned", "assignment", "topics")
    assert all(assigned is None and payload for assigned, payload, _ in members)
    assert {tuple(topics) for *_, topics in members} == {("orders",)}


def test_what_compares_with_a_record_before_the_history_is_complete_is_not_told() -> None:
    batch = batch_of("kafka-4.3.1")
    kept = [row for row in batch.to_pylist() if row["group_id"] == "classic"][-2:]
    found = tables_of(pa.RecordBatch.from_pylist(kept, batch.schema), complete_from=50)
    assert chosen(found["classic_generation"], "classic", *NUMBERS, "joined", "history")[-1] == (
        *(0, 3, 87, "unknown", "unknown", None, None, 4, None, 12, None),
        "left_censored",
    )
    columns = ("causes", "members_before", "started_empty", "members", "partitions_moved", "duration_ms", "history")
    assert chosen(found["rebalance"], "classic", *columns)[-1] == (
        *(["unknown"], None, None, 3, None, 4),
        "left_censored",
    )
    handovers = chosen(found["partition_handover"], "classic", "history")
    assert handovers == [("left_censored",)] * 6


@pytest.mark.parametrize("tombstones", ["3 x", "5 n x", "8 n x, 7 n x, 6 x, 5 n x, 3 x", "11 x", "17 x, 23 x", "6 x"])
@pytest.mark.parametrize("at", [5, 0])
def test_tombstones_of_another_kind_do_not_delete_a_classic_group(tombstones: str, at: int) -> None:
    """The coordinator refuses to load them; the classic group lives on."""
    found = Story("stray", f"0: 2 1/a+b\n{at}: {tombstones}\n9: 2 2/a").replay()
    assert [(row.incarnation, row.state, row.to_at) for row in found["GroupStateInterval"]] == [(0, "Stable", None)]
    assert [(row.incarnation, row.generation, row.cause) for row in found["ClassicGeneration"]] == [
        (0, 1, "member_joined"),
        (0, 2, "member_left"),
    ]
    stays = [(row.incarnation, row.member_id, row.left_how) for row in found["Membership"]]
    assert sorted(stays) == [(0, "a", None), (0, "b", "left")]
    assert [(row.incarnation, row.state, row.members) for row in found["GroupState"]] == [(0, "Stable", 1)]


def test_tombstones_of_a_consumer_group_delete_a_simple_group() -> None:
    """It only has a name: the coordinator lets a consumer group take its place."""
    found = Story("created", "0: 2 0/0\n5: 8 a x, 7 a x, 6 x, 5 a x, 3 x").replay()
    assert found["GroupState"] == []


def test_a_tombstone_behind_a_loss_may_delete_what_a_classic_group_became() -> None:
    coverage = complete_between((0, 1), (11, END), first_loss=5, last_loss=5)
    found = Story("lost", "0: 2 1/a\n..........\n5: 3 x", coverage=coverage).replay()
    assert found["GroupState"] == []
