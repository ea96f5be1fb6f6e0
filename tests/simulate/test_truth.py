"""What holds of the simulator's truth for any seed, shape and release."""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise

import pytest

from kip848_records.simulate import Simulation
from tests.replay.simulated_records import TABLES
from tests.seeds import daily_seeds, nightly
from tests.simulator.in_memory import captured

pytestmark = pytest.mark.slow
SMALL = Simulation(groups=24, members=3, hours=0.2, happening_s=10, partitions=3, recreations_per_hour=0.5)
MEDIUM = replace(SMALL, groups=6, members=12, happening_s=6)
LARGE = replace(SMALL, groups=2, members=40, hours=0.1, happening_s=3)
OTHERS = {
    "partition_handover": {"generation", "topic", "unowned_max_ms"},
    "rebalance": {"rounds", "delay_ms", "expected_at", "revoked", "partitions_stopped"},
    "membership": {"process_id", "topology_epoch", "topology_lag_ms"},
}
"""The columns that only groups of other kinds have."""


def specs(seed):
    return [replace(spec, seed=seed, release=release) for spec in (SMALL, MEDIUM, LARGE) for release in ("4.0", "4.3")]


SPECS = [*specs(10), *nightly(specs(*daily_seeds(1, "truth")))]


@pytest.fixture(scope="module", params=SPECS, ids=lambda spec: f"{spec.members}-{spec.seed}-{spec.release}")
def truth(request):
    return captured(request.param)[1]


@pytest.fixture(scope="module")
def common():
    return captured(replace(SMALL, groups=40, hours=0.3, seed=1))[1]


@pytest.mark.nightly
def test_rows_have_the_columns_of_their_tables(common):
    missing = {
        table: set(row_class._fields) - set().union(*common[table])
        for row_class, table in TABLES.items()
        if table != "anomaly"
    }
    assert {table: columns for table, columns in missing.items() if columns} == OTHERS
    assert common["anomaly"] == []


@pytest.mark.nightly
def test_somebody_is_late_or_the_group_assigns_at_every_moment_of_a_rebalance(truth):
    steady = [row for row in truth["rebalance"] if not row["clock_skew"]]
    assert len(steady) > 30
    for row in steady:
        assert row["assigning_ms"] + row["late_ms"] == row["duration_ms"], row
    assert sum(row["late_ms"] for row in steady) > sum(row["assigning_ms"] for row in steady) > 0 or {
        row["assigning_ms"] for row in steady
    } == {0}


def test_blockers_account_for_the_time_that_somebody_was_late(truth):
    for row in truth["rebalance"]:
        late = [blocker["late_ms"] for blocker in row["blockers"]]
        assert max(late, default=0) <= row["late_ms"]
        assert sum(late) >= row["late_ms"] or row["blockers_count"] > len(row["blockers"])
        assert len(late) == min(row["blockers_count"], 20)
        for blocker in row["blockers"]:
            lasted = row["assigning_ms"] + row["late_ms"]
            assert max(blocker["blocked_ms"], blocker["revoke_ms"], blocker["away_ms"]) <= lasted
            assert bool(blocker["held_up"]) >= bool(blocker["blocked_ms"])
            assert blocker["last_state"] is not None


def test_every_epoch_is_in_one_rebalance_and_ends_with_it(truth):
    epochs = defaultdict(list)
    for row in truth["epoch_timeline"]:
        epochs[row["group_id"], row["incarnation"]].append(row)
    found = Counter()
    for rebalance in truth["rebalance"]:
        group = rebalance["group_id"], rebalance["incarnation"]
        within = [
            row for row in epochs[group] if rebalance["first_epoch"] <= row["group_epoch"] <= rebalance["last_epoch"]
        ]
        opens_again = within[0]["bump_offset"] < rebalance["began_offset"]
        found.update((*group, row["group_epoch"]) for row in within[opens_again:])
        assert len(within) == rebalance["epochs"]
        assert rebalance["causes"] == tuple(dict.fromkeys(row["cause"] for row in within))
        outcome = {"converged": {"converged", "superseded"}, "open": {"open", "superseded"}}
        statuses = {row["status"] for row in within[opens_again:]}
        assert statuses <= outcome.get(rebalance["outcome"], {rebalance["outcome"]})
        if not opens_again:
            assert rebalance["began_offset"] == within[0]["bump_offset"]
    assert set(found.values()) == {1}
    assert len(found) == len(truth["epoch_timeline"])


def test_intervals_of_states_follow_each_other(truth):
    stays = Counter((row["group_id"], row["member_id"], row["joined_at"]) for row in truth["membership"])
    assert set(stays.values()) == {1}
    by_member = defaultdict(list)
    for row in truth["member_state_timeline"]:
        by_member[row["group_id"], row["incarnation"], row["member_id"]].append(row)
    for intervals in by_member.values():
        for before, after in pairwise(sorted(intervals, key=lambda row: row["from_offset"])):
            follows = before["to_at"] == after["from_at"]
            assert not follows or (before["state"], before["member_epoch"]) != (after["state"], after["member_epoch"])
    joined = {
        (row["group_id"], row["member_id"], row["joined_at"])
        for row in truth["membership"]
        if row["group_type"] == "consumer"
    }
    begun = {(row["group_id"], row["member_id"], row["from_at"]) for row in truth["member_state_timeline"]}
    assert joined <= begun


def test_owners_of_a_partition_follow_each_other(truth):
    by_partition = defaultdict(list)
    for row in truth["partition_handover"]:
        by_partition[row["group_id"], row["incarnation"], row["topic_id"], row["partition"]].append(row)
    for handovers in by_partition.values():
        in_order = sorted(
            handovers, key=lambda row: (row.get("acquired_offset") or 1e18, row.get("released_offset") or 0)
        )
        acquired = sum(row.get("to_member") is not None for row in in_order)
        released = sum(row.get("from_member") is not None for row in in_order)
        # A member that comes from a classic group has its partitions without an acquisition.
        assert released - 1 <= acquired <= released + 1
        for row in in_order:
            if row.get("from_member") is not None and not row["clock_skew"]:
                assert 0 <= row["wanted_ms"] <= row["unowned_ms"]


def test_the_truth_has_what_there_is_to_find(common):
    values = defaultdict(set)
    for table, found in common.items():
        for row in found:
            for column, value in row.items():
                if not isinstance(value, list | tuple):
                    values[table, column].add(value)
    assert values["epoch_timeline", "status"] >= {"converged", "superseded", "emptied", "downgraded", "open"}
    assert values["epoch_timeline", "cause"] >= {
        "upgraded",
        "member_joined",
        "subscription_changed",
        "member_left",
        "regex_resolved",
        "topic_metadata_changed",
    }
    assert values["rebalance", "outcome"] >= {"converged", "emptied", "downgraded", "open"}
    assert values["rebalance_lag", "status"] == {"reconciled", "left", "open"}
    assert values["partition_handover", "wanted"] == {True, False}
    assert values["member_state_timeline", "state"] == {"reconciled", "behind", "revoking", "waiting", "away"}
    assert values["membership", "joined_how"] == {"joined", "replaced", "upgraded", "downgraded"}
    assert values["membership", "left_how"] == {None, "left", "expired", "replaced", "upgraded", "downgraded"}
    assert values["membership", "returned"] == {True, False, None}
    assert {state for row in common["rebalance"] for b in row["blockers"] if (state := b["last_state"])} == {
        "behind",
        "revoking",
        "waiting",
        "away",
    }
    opened_again = [row for row in common["rebalance"] if row["started_empty"] and row["causes"][0] == "member_left"]
    assert opened_again
    assert any(row["awaited"] for row in common["rebalance_lag"])
    assert any(row["behind_since"] < row["first_bumped_at"] for row in common["rebalance_lag"])
    assert values["rebalance", "clock_skew"] == {True, False}
