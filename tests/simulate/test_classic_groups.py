"""The replay of simulated classic groups, against what their clients and the coordinator really did."""

from collections import Counter
from functools import cache

import pytest

from tests.seeds import daily_seeds, nightly
from tests.simulator.walked import assert_same, walked
from tests.simulator.walks.classic import ObservedClassicWalk

SEEDS, NIGHTLY = (
    [(seed, is_cooperative) for seed in seeds for is_cooperative in (False, True)]
    for seeds in (range(2), daily_seeds(10, "classic walks"))
)
STEPS = 60
COLUMNS = {
    "classic_generation": (
        *("incarnation", "generation", "offset", "protocol_type", "protocol", "leader", "cause", "mode", "rounds"),
        *("joined_at", "completed_at", "join_ms", "sync_ms", "members", "joined", "left", "static_replaced"),
        *("units", "moved", "unassigned", "unapplied", "ended_at", "ended_by", "history", "clock_skew"),
    ),
    "partition_handover": (
        *("offsets_partition", "incarnation", "group_type", "topic", "partition", "from_member", "to_member"),
        *("acquired_at", "acquired_offset", "generation", "history", "clock_skew"),
    ),
    "rebalance": (
        *("incarnation", "group_type", "began_offset", "began_at", "first_epoch", "last_epoch", "epochs", "causes"),
        *("ended_at", "ended_offset", "outcome", "duration_ms", "started_empty", "members_before", "members"),
        *("partitions_moved", "partitions_stopped", "unowned_ms", "rounds", "duration_is_minimum", "history"),
    ),
}


@cache
def walk(seed):
    """The tables of a walk's log, and its truth."""
    return walked(ObservedClassicWalk(seed[0], is_cooperative=seed[1]), STEPS)


@pytest.fixture(params=[*SEEDS, *nightly(NIGHTLY)])
def both(request):
    return walk(request.param)


@pytest.mark.parametrize("table", COLUMNS)
def test_the_replay_finds_what_happened(both, table):
    found, truth = both
    assert_same(found[table], truth[table], COLUMNS[table])


def test_a_client_stopped_for_a_time_between_the_bounds(both):
    """The lower bound is the leader's sync."""
    found, truth = both
    stops = {(row["partition"], row["acquired_at"]): row for row in truth["partition_handover"]}
    syncs = {row["completed_at"]: row.get("sync_ms") for row in truth["classic_generation"]}
    for row in found["partition_handover"]:
        stop = stops[row["partition"], row["acquired_at"]]
        assert row["unowned_ms"] == syncs[row["acquired_at"]] <= stop["unowned_ms"]
        assert row["unowned_max_ms"] is None or stop["unowned_ms"] <= row["unowned_max_ms"]
        assert stop["released_at"] <= row["released_at"]


def test_walks_have_all_kinds_of_generations():
    assert all(any(walk(seed)[1][table] for seed in SEEDS) for table in COLUMNS)
    seen = Counter()
    for _, truth in map(walk, SEEDS):
        for row in truth["classic_generation"]:
            seen.update([row["cause"], f"{row['rounds']} rounds", row["ended_by"], row.get("mode")])
            seen["static"] += bool(row["static_replaced"])
        syncs = {row["completed_at"]: row.get("sync_ms") for row in truth["classic_generation"]}
        seen["longer"] += sum(row["unowned_ms"] > syncs[row["acquired_at"]] for row in truth["partition_handover"])
    expected = {"created", "emptied", "member_joined", "member_left", "members_changed", "follow_up", "unknown"}
    expected |= {"subscription_changed", "topic_metadata_changed", "2 rounds", "3 rounds", "static"}
    expected |= {"deleted", "next_generation", "eager", "cooperative", "static_member_replaced"}
    assert {name: seen[name] for name in expected if seen[name] < 2} == {}
    assert seen["longer"] > 100
