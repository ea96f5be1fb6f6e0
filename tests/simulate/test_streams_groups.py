"""The replay of simulated streams groups, against what their threads and the coordinator really did."""

from collections import Counter

import pytest

from tests.replay.logs import inputs_of, replayed
from tests.simulate.streams_groups import CAPTURED_AFTER_MS, StreamsWalk

SEEDS = range(24)


@pytest.fixture(scope="module", params=SEEDS)
def both(request):
    """A walk, and the rows of its log."""
    walk = StreamsWalk(request.param)
    walk.run(300)
    return walk, replayed(walk.records, inputs_of({0: 0}, walk.now + CAPTURED_AFTER_MS))


def same(found, true):
    found, true = Counter(found), Counter(true)
    assert (sorted((true - found).elements(), key=repr)[:3], sorted((found - true).elements(), key=repr)[:3]) == (
        [],
        [],
    )
    assert found.total() > 10


def test_states(both):
    walk, rows = both
    same([(row.state, row.from_at, row.to_at) for row in rows["GroupStateInterval"]], walk.states)


def test_handovers_of_active_tasks(both):
    walk, rows = both
    found = [
        (row.task, row.from_member, row.to_member, row.status, row.ended_at, row.unowned_ms, row.was_warm)
        for row in rows["TaskHandover"]
    ]
    same(found, walk.handovers)


def test_intervals_of_tasks_in_every_role(both):
    walk, rows = both
    found = [(row.member_id, row.role, row.partition, row.from_at, row.to_at) for row in rows["OwnershipInterval"]]
    same(found, walk.owned)


def test_epochs(both):
    walk, rows = both
    names = ("epoch", "cause", "bumped_at", "assigned_at", "converged_at", "moved", "status", "superseded_by")
    found = [
        (
            *(row.group_epoch, row.cause, row.bumped_at, row.assigned_at, row.converged_at),
            *(row.partitions_moved, row.status, row.superseded_by),
        )
        for row in rows["Epoch"]
    ]
    same(found, [tuple(row[name] for name in names) for row in walk.epochs])


def test_nothing_contradicts_the_protocol(both):
    _, rows = both
    assert rows["Anomaly"] == []
    assert {row.history for of_table in rows.values() for row in of_table if hasattr(row, "history")} <= {
        *("observed", "right_censored")
    }


def test_every_moment_of_a_rebalance_has_a_reason(both):
    _, rows = both
    for row in rows["Rebalance"]:
        assert row.assigning_ms + row.late_ms + row.not_ready_ms == row.duration_ms


def test_walks_have_all_that_matters():
    seen = Counter()
    for seed in SEEDS:
        walk = StreamsWalk(seed)
        walk.run(300)
        seen.update(f"{row[3]} warm {row[6]}" if row[3] == "acquired" else row[3] for row in walk.handovers)
        seen.update(state for state, *_ in walk.states)
        seen.update(role for _, role, *_ in walk.owned)
        seen.update(row["cause"] for row in walk.epochs)
        seen.update(row["status"] for row in walk.epochs)
        seen.update("direct" for row in walk.handovers if row[5] == 0)
    expected = {"acquired warm True", "acquired warm False", "removed", "active", "standby", "superseded", "emptied"}
    expected |= {"Empty", "NotReady", "Assigning", "Reconciling", "Stable", "member_joined", "member_left"}
    expected |= {"topology_initialized", "topology_validated", "topology_invalidated", "converged"}
    assert {name: seen[name] for name in expected if seen[name] < 20} == {}
