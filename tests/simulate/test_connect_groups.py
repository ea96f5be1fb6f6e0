"""The replay of simulated Connect clusters, against what their workers and the leader really did."""

from collections import Counter
from functools import cache

import pytest

from tests.seeds import daily_seeds, nightly
from tests.simulator.walked import assert_same, walked
from tests.simulator.walks.connect import ObservedConnectWalk

SEEDS = (0, 2, 3, 4, 15)
NIGHTLY = daily_seeds(20, "connect walks")
STEPS = 80
COLUMNS = {
    "classic_generation": (
        *("incarnation", "generation", "offset", "protocol_type", "protocol", "leader", "cause", "mode", "rounds"),
        *("joined_at", "completed_at", "join_ms", "sync_ms", "members", "joined", "left", "static_replaced"),
        *("units", "moved", "unassigned", "unapplied", "ended_at", "ended_by", "history", "clock_skew"),
    ),
    "connect_assignment": (
        *("incarnation", "generation", "member_id", "worker_url", "version", "error", "config_offset"),
        *("worker_config_offset", "owned", "assigned", "revoked", "running", "delay_ms", "quarantine_reason"),
    ),
    "task_handover": (
        *(
            "incarnation",
            "group_type",
            "connector",
            "task",
            "acquired_offset",
            "from_member",
            "reason",
            "released_offset",
        ),
        *("to_member", "acquired_at", "epoch", "status", "ended_at", "expected_at", "history", "clock_skew"),
    ),
    "rebalance": (
        *("incarnation", "group_type", "began_offset", "began_at", "first_epoch", "last_epoch", "epochs", "causes"),
        *("ended_at", "ended_offset", "outcome", "duration_ms", "started_empty", "members_before", "members"),
        *("partitions_moved", "partitions_stopped", "unowned_ms", "rounds", "duration_is_minimum", "delay_ms"),
        *("expected_at", "revoked", "history", "clock_skew"),
    ),
}


@cache
def walk(seed):
    """The tables of a walk's log, and its truth."""
    return walked(ObservedConnectWalk(seed), STEPS)


@pytest.fixture(params=[*SEEDS, *nightly(NIGHTLY)])
def both(request):
    return walk(request.param)


@pytest.mark.parametrize("table", COLUMNS)
def test_the_replay_finds_what_happened(both, table):
    found, truth = both
    assert_same(found[table], truth[table], COLUMNS[table])


def test_a_unit_was_without_a_worker_for_a_time_between_the_bounds(both):
    found, truth = both
    key = ("incarnation", "connector", "task", "epoch", "status", "acquired_at", "ended_at", "from_member")
    times = {tuple(row.get(name) for name in key): row for row in truth["task_handover"]}
    measured = [row for row in found["task_handover"] if row["status"] != "removed"]
    for row in measured:
        true = times[tuple(row[name] for name in key)]
        assert row["unowned_ms"] is None or row["unowned_ms"] <= true["unowned_ms"]
        assert row["unowned_max_ms"] is None or true["unowned_ms"] <= row["unowned_max_ms"]
        assert row["unowned_ms"] is not None or row["unowned_max_ms"] is not None
        if row["status"] == "acquired":
            assert true["released_at"] <= row["released_at"]


def test_nothing_contradicts_the_protocol(both):
    assert both[0]["anomaly"] == []


def test_walks_have_all_kinds_of_events():
    assert all(any(walk(seed)[1][table] for seed in SEEDS) for table in COLUMNS)
    seen = Counter()
    for _, truth in map(walk, SEEDS):
        for row in truth["classic_generation"]:
            seen.update([row["cause"], row.get("mode"), row["ended_by"], f"{row['rounds']} rounds"])
        for row in truth["connect_assignment"]:
            seen.update([f"version {row['version']}", f"error {row['error']}"])
            seen["lags"] += row["worker_config_offset"] < row["config_offset"]
        for row in truth["task_handover"]:
            seen.update([row["reason"], row["status"], f"{row['reason']} {row['status']}"])
            seen["waited"] += row["status"] == "acquired" and row["expected_at"] is not None
        for row in truth["rebalance"]:
            seen.update([row["outcome"], "with delay" if row["delay_ms"] else "without delay"])
        seen.update(returns(truth))
    expected = {"created", "emptied", "deleted", "member_joined", "member_left", "members_changed", "follow_up"}
    expected |= {"delay_expired", "config_changed", "unknown", "eager", "cooperative", "2 rounds", "3 rounds"}
    expected |= {"version 0", "version 1", "version 2", "error 1", "lags", "with delay", "converged", "waited"}
    expected |= {"revoked acquired", "worker_left acquired", "direct acquired", "unassigned acquired"}
    expected |= {"revoked removed", "worker_left removed", "returned inside the delay", "returned after the delay"}
    assert {name: seen[name] for name in expected if seen[name] < 2} == {}
    assert {"protocol_changed", "open"} <= seen.keys()


def returns(truth):
    """Count the workers that came back while the leader waited for them, and afterwards."""
    seen, rounds, left = Counter(), sorted(truth["rebalance"], key=lambda row: row["began_at"]), {}
    workers = sorted(truth["connect_assignment"], key=lambda row: (row["incarnation"], row["generation"]))
    generations = {(row["incarnation"], row["generation"]): row for row in truth["classic_generation"]}
    urls = {row["member_id"]: row["worker_url"] for row in workers}
    for row in sorted(generations.values(), key=lambda each: each["completed_at"]):
        left |= {urls[member_id]: row["completed_at"] for member_id in row["left"] or ()}
        for url in {urls[member_id] for member_id in row["joined"] or ()} & left.keys():
            at = left.pop(url)
            inside = any(
                each["began_at"] <= at and (each.get("ended_at") or at) > row["completed_at"] and each["delay_ms"]
                for each in rounds
            )
            seen["returned inside the delay" if inside else "returned after the delay"] += 1
    return seen
