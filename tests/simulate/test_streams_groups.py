"""The replay of simulated streams groups, against what their threads and the coordinator really did."""

from collections import Counter
from functools import cache

import pytest

from tests.seeds import daily_seeds, nightly
from tests.simulator.walked import assert_same, walked
from tests.simulator.walks.streams import ObservedStreamsWalk

SEEDS = range(5)
NIGHTLY = daily_seeds(20, "streams walks")
STEPS = 300
INTERVAL = ("from_at", "from_offset", "to_at", "duration_ms", "history", "clock_skew")
COLUMNS = {
    "group_state_timeline": ("incarnation", "group_type", "state", *INTERVAL, "to_offset", "hides_rebalance"),
    "task_handover": (
        *("incarnation", "group_type", "subtopology_id", "task", "from_member", "to_member", "released_at"),
        *("acquired_at", "status", "ended_at", "unowned_ms", "was_warm", "epoch", "history", "clock_skew"),
    ),
    "ownership": ("incarnation", "group_type", "member_id", "subtopology_id", "role", "partition", *INTERVAL),
    "rebalance": (
        *("incarnation", "group_type", "began_offset", "began_at", "first_epoch", "last_epoch", "epochs", "causes"),
        *("ended_at", "ended_offset", "outcome", "duration_ms", "started_empty", "members_before", "members"),
        *("partitions_moved", "assigning_ms", "history", "clock_skew", "is_measured"),
    ),
    "epoch_timeline": (
        *("incarnation", "group_epoch", "group_type", "cause", "bumped_at", "bump_offset", "assigned_at"),
        *("converged_at", "status", "superseded_by", "members", "partitions_moved"),
        *("assign_lag_ms", "reconcile_lag_ms", "rebalance_lag_ms", "history", "clock_skew"),
    ),
}


@cache
def walk(seed):
    """The tables of a walk's log, and its truth."""
    return walked(ObservedStreamsWalk(seed, event_ms=12_000), STEPS)


@pytest.fixture(params=[*SEEDS, *nightly(NIGHTLY)])
def both(request):
    return walk(request.param)


@pytest.mark.parametrize("table", COLUMNS)
def test_the_replay_finds_what_happened(both, table):
    found, truth = both
    assert_same(found[table], truth[table], COLUMNS[table])


def test_nothing_contradicts_the_protocol(both):
    found, _ = both
    assert found["anomaly"] == []
    histories = {row["history"] for rows in found.values() for row in rows if "history" in row}
    assert histories <= {"observed", "right_censored"}


def test_every_moment_of_a_rebalance_has_a_reason(both):
    for row in both[0]["rebalance"]:
        assert row["assigning_ms"] + row["late_ms"] + row["not_ready_ms"] == row["duration_ms"]


def test_walks_have_all_that_matters():
    assert all(any(walk(seed)[1][table] for seed in SEEDS) for table in COLUMNS)
    seen = Counter()
    for _, truth in map(walk, SEEDS):
        for row in truth["task_handover"]:
            seen.update([f"acquired warm {row.get('was_warm')}" if row["status"] == "acquired" else row["status"]])
            seen["direct"] += row.get("unowned_ms") == 0
        seen.update(row["state"] for row in truth["group_state_timeline"])
        seen.update(row["role"] for row in truth["ownership"])
        seen.update(row["cause"] for row in truth["epoch_timeline"])
        seen.update(row["status"] for row in truth["epoch_timeline"])
        seen.update(f"rebalance {row['outcome']}" for row in truth["rebalance"])
        seen["assigning"] += sum(row["assigning_ms"] > 0 for row in truth["rebalance"])
        seen["moved"] += sum((row["partitions_moved"] or 0) > 0 for row in truth["rebalance"])
    expected = {"acquired warm True", "acquired warm False", "removed", "active", "standby", "superseded", "emptied"}
    expected |= {"Empty", "NotReady", "Assigning", "Reconciling", "Stable", "member_joined", "member_left"}
    expected |= {
        "assigning",
        "moved",
        "topology_initialized",
        "topology_validated",
        "topology_invalidated",
        "converged",
    }
    assert {name: seen[name] for name in expected if seen[name] < 2} == {}
