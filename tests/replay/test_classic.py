"""Classic groups: what the replay makes of real brokers' logs, and what an admin client saw at the same moments."""

import pyarrow as pa
import pytest

from tests.replay.classic_logs import admin_answers, batch_of, chosen, rows_of, tables, tables_of

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
