"""Real brokers' logs: what the replay makes of them. `tests/pipeline` compares it with Kafka's own tools."""

import itertools
from collections import Counter

import pytest

from kip848_records.replay.rows import AwaitedPartition
from tests.replay.captures import CAPTURED_AT, NAMES, capture_rows

CAPTURE = "kafka-4.3.1"


@pytest.mark.parametrize("name", NAMES)
def test_at_every_moment_of_a_rebalance_the_group_is_assigning_or_some_member_is_late(name: str) -> None:
    rebalances = [row for row in capture_rows(name)["Rebalance"] if row.group_type != "classic"]
    assert len(rebalances) > 40
    for row in rebalances:
        assert row.clock_skew or row.assigning_ms + row.late_ms + row.not_ready_ms == row.duration_ms


@pytest.mark.parametrize("name", NAMES)
def test_every_epoch_is_in_one_rebalance(name: str) -> None:
    rows = capture_rows(name)
    rebalances = [row for row in rows["Rebalance"] if row.group_type != "classic"]
    assert sum(row.epochs for row in rebalances) == len(rows["Epoch"])
    for row in rebalances:
        longest = max(each.late_ms for each in row.blockers) if row.blockers else 0
        assert longest <= row.late_ms <= sum(each.late_ms for each in row.blockers)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_contradicts_the_protocol(name: str) -> None:
    assert capture_rows(name)["Anomaly"] == []


@pytest.mark.parametrize("name", NAMES)
def test_states_follow_one_another(name: str) -> None:
    """Neither of a group nor of a member's stay is a moment without a state, or with two."""
    rows = capture_rows(name)
    groups: dict[object, list[object]] = {}
    for row in sorted(rows["GroupStateInterval"], key=lambda row: row.from_offset):
        before = groups.setdefault((row.partition, row.group_id, row.incarnation), [])
        assert not before or before[-1] == row.from_at
        before.append(row.to_at)
    assert len(groups) >= 9
    members: dict[object, list[object]] = {}
    for row in sorted(rows["MemberStateInterval"], key=lambda row: row.from_offset):
        members.setdefault((row.group_id, row.incarnation, row.member_id), []).append(row)
    stays = {(row.group_id, row.incarnation, row.member_id): row for row in rows["Membership"]}
    for key, states in members.items():
        stay = stays[key]
        assert (states[0].from_at, states[-1].to_at) == (stay.joined_at, stay.left_at) or stay.returned
        for before, now in itertools.pairwise(states):
            assert before.to_at == now.from_at


def test_stuck_is_open_and_not_stable_since_the_bump_before() -> None:
    rows = capture_rows(CAPTURE)
    epochs = sorted((row for row in rows["Epoch"] if row.group_id == "stuck"), key=lambda row: row.group_epoch)
    assert [(row.group_epoch, row.status, row.superseded_by) for row in epochs] == [
        (2, "converged", None),
        (3, "superseded", 4),
        (4, "open", None),
    ]
    (stuck,) = (row for row in rows["GroupState"] if row.group_id == "stuck")
    assert stuck.since == epochs[1].bumped_at
    (rebalance,) = (row for row in rows["Rebalance"] if row.group_id == "stuck" and row.outcome == "open")
    assert (rebalance.began_at, rebalance.epochs, rebalance.history) == (epochs[1].bumped_at, 2, "right_censored")
    worst = rebalance.blockers[0]
    assert (worst.last_state, worst.held_up) == ("revoking", 1)
    assert worst.late_ms == rebalance.late_ms > 10 * rebalance.assigning_ms


def test_the_member_of_stuck_that_waits_is_blocked_by_the_one_that_does_not_revoke() -> None:
    lags = [row for row in capture_rows(CAPTURE)["RebalanceLag"] if row.group_id == "stuck"]
    still = [row for row in lags if row.status == "open" and not row.superseded]
    (waiting,) = [row for row in still if row.wait_ms]
    (revoking,) = [row for row in still if row.revoke_ms]
    assert (waiting.group_epoch, revoking.group_epoch) == (4, 4)
    assert waiting.blocked_by == (revoking.member_id,)
    assert waiting.awaited is not None
    assert [(each.partition, each.owner) for each in itertools.starmap(AwaitedPartition, waiting.awaited)] == [
        (number, revoking.member_id) for number in range(12, 24)
    ]
    assert waiting.lag_ms == CAPTURED_AT - waiting.first_bumped_at
    assert revoking.behind_since < revoking.first_bumped_at


def test_members_of_slow_revoke_waited_for_the_slow_one() -> None:
    lags = [row for row in capture_rows(CAPTURE)["RebalanceLag"] if row.group_id == "slow-revoke"]
    slow = {row.member_id for row in lags if row.revoke_ms > 1000}
    waits = {row.wait_ms: row for row in lags if row.wait_ms}
    assert waits.keys() == {6006, 7008}
    assert len(slow) == 1
    assert all(slow <= set(row.blocked_by) for row in waits.values())
    assert all(row.status == "reconciled" and row.history == "observed" for row in waits.values())


def test_what_the_captures_have() -> None:
    rows = [row for name in NAMES for row in capture_rows(name)["Epoch"]]
    assert {row.cause for row in rows} >= {"member_joined", "member_left", "upgraded", "regex_resolved"}
    changed = Counter((row.cause, row.metadata_changed) for row in rows)
    # Who looks for a topic that changed is sent nowhere by a member that came or left.
    assert changed["member_joined", True] + changed["member_left", True] == 0
    assert sum(count for (_, is_changed), count in changed.items() if is_changed) > 0
    stays = [row for name in NAMES for row in capture_rows(name)["Membership"]]
    assert {row.joined_how for row in stays} >= {"joined", "replaced", "upgraded"}
    assert {row.left_how for row in stays} >= {"left", "replaced", "upgraded", "expired", None}
    assert any(row.away_ms for row in stays)
