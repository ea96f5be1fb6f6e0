"""The replay of simulated share groups, against what their members and the coordinator really did."""

from collections import Counter
from functools import cache

import pytest

from tests.seeds import daily_seeds, nightly
from tests.simulator.walked import assert_same, walked
from tests.simulator.walks.share import ObservedShareWalk

SEEDS = range(4)
NIGHTLY = daily_seeds(20, "share walks")
STEPS = 250
INTERVAL = ("from_at", "from_offset", "to_at", "duration_ms", "history", "clock_skew")
COLUMNS = {
    "epoch_timeline": (
        *("incarnation", "group_epoch", "group_type", "bumped_at", "bump_offset", "cause", "metadata_changed"),
        *("trigger_member_ids", "assigned_at", "target_partitions", "target_duplicates", "converged_at", "status"),
        *("superseded_by", "members", "partitions_moved", "assign_lag_ms", "reconcile_lag_ms", "rebalance_lag_ms"),
        *("history", "clock_skew"),
    ),
    "rebalance": (
        *("incarnation", "group_type", "began_offset", "began_at", "first_epoch", "last_epoch", "epochs", "causes"),
        *("ended_at", "ended_offset", "outcome", "duration_ms", "started_empty", "members_before", "members"),
        *("partitions_moved", "unowned_ms", "assigning_ms", "late_ms", "not_ready_ms", "history", "clock_skew"),
        "is_measured",
    ),
    "group_state_timeline": ("incarnation", "group_type", "state", *INTERVAL, "to_offset", "hides_rebalance"),
    "group_state": ("incarnation", "group_type", "state", "group_epoch", "assignment_epoch", "members"),
    "membership": (
        *("incarnation", "group_type", "member_id", "joined_offset", "client_id", "client_host", "topics", "joined_at"),
        *("joined_epoch", "joined_how", "left_at", "left_offset", "left_epoch", "left_how", "returned", "history"),
    ),
    "ownership": ("incarnation", "group_type", "member_id", "topic_id", "partition", "role", *INTERVAL),
    "share_partition_state": ("incarnation", "topic_id", "topic", "state", "partitions", *INTERVAL),
}


@cache
def walk(seed):
    """The tables of a walk's log, and its truth."""
    return walked(ObservedShareWalk(seed, event_ms=12_000), STEPS)


@pytest.fixture(params=[*SEEDS, *nightly(NIGHTLY)])
def both(request):
    return walk(request.param)


@pytest.mark.parametrize("table", COLUMNS)
def test_the_replay_finds_what_happened(both, table):
    found, truth = both
    assert_same(found[table], truth[table], COLUMNS[table])


def test_nothing_contradicts_the_protocol(both):
    assert both[0]["anomaly"] == []


def test_the_state_at_the_end_counts_the_members_that_converged(both):
    found, truth = both
    columns = ("group_id", "converged_members", "rebalancing_since", "rebalancing_history")
    present = [row for row in found["group_state"] if row["state"] == "Stable"]
    assert_same(present, [row for row in truth["group_state"] if row["state"] == "Stable"], columns)


def test_walks_have_all_kinds_of_events():
    assert all(any(walk(seed)[1][table] for seed in SEEDS) for table in COLUMNS)
    seen = Counter()
    for _, truth in map(walk, SEEDS):
        for row in truth["epoch_timeline"]:
            seen.update([row["cause"], row["status"]])
            seen["shared"] += bool(row.get("target_duplicates"))
        for row in truth["rebalance"]:
            seen.update([f"rebalance {row['outcome']}", "several epochs" if row["epochs"] > 1 else "one epoch"])
            seen["unowned"] += row["unowned_ms"] > 0
            seen["late"] += row["late_ms"] > 0
            seen["assigning"] += row["assigning_ms"] > 0
        seen.update(row["state"] for row in truth["group_state_timeline"])
        seen.update(row["state"] for row in truth["share_partition_state"])
        seen.update("a later life" for row in truth["group_state_timeline"] if row["incarnation"])
        seen.update("ends" if row["to_at"] else "goes on" for row in truth["ownership"])
    expected = {"member_joined", "member_left", "subscription_changed", "topic_metadata_changed"}
    expected |= {"partitions_initialized", "converged", "superseded", "emptied", "shared", "rebalance converged"}
    expected |= {"rebalance emptied", "several epochs", "one epoch", "unowned", "late", "assigning", "Empty", "Stable"}
    expected |= {"initializing", "initialized", "deleting", "a later life", "ends", "goes on"}
    assert {name: seen[name] for name in expected if seen[name] < 2} == {}
