"""The replay of simulated classic groups, against what their clients and the coordinator really did."""

from collections import Counter

import pyarrow as pa
import pytest

from kip848_records.replay.log_rows import LOG_SCHEMA
from kip848_records.simulate.broker.operation import Record
from kip848_records.simulate.broker.releases import KAFKA_4_3
from kip848_records.simulate.encoding import encode
from tests.replay.classic_logs import tables_of
from tests.replay.log_batches import log_batch
from tests.simulate.classic_groups import ClassicWalk

SEEDS = range(12)
GENERATION = (
    *("incarnation", "generation", "cause", "rounds", "joined_at", "completed_at", "sync_ms", "members", "units"),
    *("moved", "unassigned", "mode", "joined", "left", "ended_at", "ended_by"),
)


@pytest.fixture(scope="module", params=[(seed, is_cooperative) for seed in SEEDS for is_cooperative in (False, True)])
def both(request):
    """A walk, and the tables of its log."""
    seed, is_cooperative = request.param
    walk = ClassicWalk(seed, is_cooperative)
    walk.run(60)
    rows = []
    for record in walk.records:
        key, value = encode(Record(2, record["key"], record["value"]), KAFKA_4_3)
        place = {"offset": record["offset"], "timestamp": record["timestamp"], "group_id": walk.group_id}
        rows.append({"key": key, "value": value, **place})
    return walk, tables_of(log_batch(rows, pa.schema(LOG_SCHEMA)))


def in_order(rows):
    return sorted(rows, key=lambda row: (row["incarnation"], row["generation"]))


def test_generations(both):
    walk, tables = both
    found = in_order(tables["classic_generation"])
    assert len(found) > 20
    for row, true in zip(found, walk.generations, strict=True):
        assert {name: row[name] for name in GENERATION} == {name: true[name] for name in GENERATION}
        replaced = [tuple(each.values()) for each in row["static_replaced"]]
        assert replaced == true["static_replaced"]
        assert row["history"] == "observed"


def test_every_move_is_a_handover_and_its_bounds_hold(both):
    """The true stop of a client lies between the bounds; the lower one is the leader's sync."""
    walk, tables = both
    moves = {(move["partition"], move["at"]): move for move in walk.moves}
    found = {(row["partition"], row["acquired_at"]): row for row in tables["partition_handover"]}
    assert found.keys() == moves.keys()
    assert len(moves) > 10
    for key, row in found.items():
        move = moves[key]
        assert (row["from_member"], row["to_member"]) == (move["from_member"], move["to_member"])
        assert row["unowned_ms"] == move["sync_ms"] <= move["stopped_ms"]
        assert row["unowned_max_ms"] is None or move["stopped_ms"] <= row["unowned_max_ms"]


def test_rebalances(both):
    walk, tables = both
    found = sorted(tables["rebalance"], key=lambda row: row["began_offset"])
    for row, true in zip(found, walk.rebalances, strict=True):
        assert (row["first_epoch"], row["last_epoch"], row["outcome"]) == (true["first"], true["last"], true["outcome"])
        if true["outcome"] != "emptied":
            assert row["duration_ms"] == true["ended_at"] - true["began_at"]
            assert row["causes"] == list(dict.fromkeys(true["causes"]))
            measured = row["partitions_moved"], row["partitions_stopped"], row["unowned_ms"]
            assert measured == (true["moved"], true["stopped"], true["unowned_ms"])


def test_walks_have_all_kinds_of_generations():
    causes, upper_bounds = Counter(), 0
    for seed in SEEDS:
        for is_cooperative in (False, True):
            walk = ClassicWalk(seed, is_cooperative)
            walk.run(60)
            causes.update(row["cause"] for row in walk.generations)
            causes.update(f"rounds {row['rounds']}" for row in walk.generations if (row["rounds"] or 0) > 1)
            causes.update("static" for row in walk.generations if row["static_replaced"])
            upper_bounds += sum(move["stopped_ms"] > move["sync_ms"] for move in walk.moves)
    expected = {"created", "emptied", "member_joined", "member_left", "members_changed", "follow_up", "unknown"}
    expected |= {"subscription_changed", "topic_metadata_changed", "rounds 2", "rounds 3", "static"}
    assert expected <= causes.keys()
    assert min(causes[name] for name in expected) > 10
    assert upper_bounds > 100
