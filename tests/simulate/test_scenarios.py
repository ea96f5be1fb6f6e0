"""What the simulator says is true, against short stories whose rows were worked out by hand.

Times are in ms since the story began. A member heartbeats every 5 s from when it joined.
"""

import pytest

from kip848_records.simulate.broker.releases import KAFKA_4_0, KAFKA_4_3
from kip848_records.simulate.spec import START_MS
from tests.simulate.scenario import Scenario
from tests.simulate.stories import rows, story_of_two


def test_a_member_joins_and_waits_for_the_partitions_of_another():
    story, *_ = story_of_two(revoke_ms=2_000)
    story.advance(15_000)  # 10 s: ann is to revoke; 12 s: she has; 15 s: bob takes them
    capture = story.capture()
    columns = (
        "group_epoch",
        "cause",
        "bumped_at",
        "assigned_at",
        "converged_at",
        "status",
        "members",
        "partitions_moved",
    )
    assert rows(capture, "epoch_timeline", *columns) == [
        (2, "member_joined", 0, 0, 0, "converged", 1, None),
        (3, "member_joined", 5_000, 5_000, 15_000, "converged", 2, 2),
    ]
    columns = ("group_epoch", "member_id", "target_at", "reconciled_at", "lag_ms", "revoke_ms", "wait_ms", "blocked_by")
    assert rows(capture, "rebalance_lag", *columns) == [
        (2, "ann", 0, 0, 0, 0, 0, []),
        (3, "ann", 5_000, 12_000, 7_000, 2_000, 0, []),
        (3, "bob", 5_000, 15_000, 10_000, 0, 10_000, ["ann"]),
    ]
    columns = (
        "acquired_at",
        "partition",
        "from_member",
        "released_at",
        "to_member",
        "unowned_ms",
        "wanted",
        "group_epoch",
    )
    assert rows(capture, "partition_handover", *columns) == [
        *((0, partition, None, None, "ann", None, None, 2) for partition in range(4)),
        *((15_000, partition, "ann", 12_000, "bob", 3_000, True, 3) for partition in (2, 3)),
    ]
    assert rows(capture, "group_state_timeline", "from_at", "to_at", "state", "from_offset", "history") == [
        (0, 5_000, "Stable", 4, "observed"),
        (5_000, 15_000, "Reconciling", 10, "observed"),
        # Before, ann wrote twice, and bob once more: its previous member epoch became 3.
        (15_000, None, "Stable", 14, "right_censored"),
    ]


def test_a_member_that_does_not_revoke_is_fenced():
    story, *_ = story_of_two(revoke_ms=None, rebalance_timeout_ms=61_000)
    story.advance(80_000)  # 10 s: ann is to revoke; 71 s: fenced; 75 s: bob takes all
    capture = story.capture()
    columns = ("group_epoch", "cause", "bumped_at", "assigned_at", "converged_at", "status", "superseded_by")
    assert rows(capture, "epoch_timeline", *columns)[1:] == [
        (3, "member_joined", 5_000, 5_000, 75_000, "superseded", 4),
        (4, "member_left", 71_000, 75_000, 75_000, "converged", None),
    ]
    columns = ("group_epoch", "member_id", "status", "superseded", "lag_ms", "revoke_ms", "wait_ms", "blocked_by")
    assert rows(capture, "rebalance_lag", *columns)[1:] == [
        (3, "ann", "left", False, None, 61_000, 0, []),
        (3, "bob", "reconciled", True, 70_000, 0, 70_000, ["ann"]),
        (4, "bob", "reconciled", False, 4_000, 0, 0, []),
    ]
    # Bob has not been reconciled since his first epoch was bumped.
    assert rows(capture, "rebalance_lag", "group_epoch", "member_id", "first_bumped_at", "behind_since")[2:] == [
        (3, "bob", 5_000, 5_000),
        (4, "bob", 71_000, 5_000),
    ]


def test_what_is_open_at_the_end_counts_to_the_end():
    story, *_ = story_of_two(revoke_ms=None)
    story.advance(25_000)
    capture = story.capture(captured_at=START_MS + 30_000)
    columns = ("group_epoch", "member_id", "status", "lag_ms", "revoke_ms", "wait_ms", "blocked_by", "history")
    assert rows(capture, "rebalance_lag", *columns)[1:] == [
        (3, "ann", "open", 25_000, 20_000, 0, [], "right_censored"),
        (3, "bob", "open", 25_000, 0, 25_000, ["ann"], "right_censored"),
    ]
    awaited = next(row["awaited"] for row in capture.truth["rebalance_lag"] if row["member_id"] == "bob")
    assert [(part["partition"], part["owner"]) for part in awaited] == [(2, "ann"), (3, "ann")]
    columns = ("group_epoch", "status", "converged_at", "rebalance_lag_ms", "history")
    assert rows(capture, "epoch_timeline", *columns)[1] == (3, "open", None, None, "right_censored")


def test_a_static_member_that_is_away_neither_revokes_nor_waits():
    story, group, ann, _ = story_of_two(revoke_ms=None, instance_id="a")
    story.advance(6_000)  # 10 s: ann is to revoke
    cid = group.join("cid", ["orders"], instance_id="c")
    story.advance(2_000)
    cid.go_away()  # 13 s
    story.advance(1_000)
    ann.go_away()  # 14 s: what was pending is free; bob takes it with his next heartbeat
    story.advance(6_000)
    capture = story.capture(captured_at=START_MS + 30_000)
    columns = ("group_epoch", "member_id", "status", "revoke_ms", "wait_ms", "blocked_by")
    assert rows(capture, "rebalance_lag", *columns)[1:] == [
        (3, "ann", "open", 4_000, 0, []),
        (3, "bob", "reconciled", 0, 10_000, ["ann"]),
        (4, "ann", "open", 3_000, 0, []),
        (4, "bob", "reconciled", 0, 4_000, ["ann"]),
        (4, "cid", "open", 0, 2_000, []),
    ]
    assert {row["awaited"] for row in capture.truth["rebalance_lag"]} == {None}


def test_an_assignment_that_waits_answers_several_bumps():
    story, group, *_ = story_of_two()
    story.advance(400)
    group.join("carl", ["orders"])  # less than 1 s after the last assignment: the next comes at 10 s
    story.advance(200)
    group.join("dora", ["orders"])
    story.advance(30_000)
    capture = story.capture()
    columns = ("group_epoch", "bumped_at", "assigned_at", "assign_lag_ms")
    assert rows(capture, "epoch_timeline", *columns)[2:] == [(4, 5_400, 10_000, 4_600), (5, 5_600, 10_000, 4_400)]
    lags = rows(capture, "rebalance_lag", "group_epoch", "member_id", "first_bumped_at")
    assert [row for row in lags if row[0] > 3] == [(5, name, 5_400) for name in ("ann", "bob", "carl", "dora")]


def test_a_static_member_comes_back_without_a_bump():
    story = Scenario()
    story.topic("orders", partitions=2)
    ann = story.group("checkout").join("ann", ["orders"], instance_id="a")
    story.advance(6_000)
    ann.go_away()
    story.advance(10_000)
    ann.come_back("ann-again")
    capture = story.capture()
    assert rows(capture, "epoch_timeline", "group_epoch", "status") == [(2, "converged")]
    assert rows(capture, "rebalance_lag", "member_id", "status") == [("ann", "reconciled")]
    columns = ("acquired_at", "from_member", "released_at", "to_member", "unowned_ms", "wanted")
    assert rows(capture, "partition_handover", *columns)[2:] == [(16_000, "ann", 6_000, "ann-again", 10_000, True)] * 2
    assert rows(capture, "group_state_timeline", "from_at", "to_at", "state") == [
        (0, 6_000, "Stable"),
        (6_000, 16_000, "Reconciling"),
        (16_000, None, "Stable"),
    ]


def test_a_group_id_that_is_used_again_starts_over():
    story, group, ann, bob = story_of_two()
    story.advance(20_000)
    ann.leave()
    story.advance(2_000)
    bob.leave()
    story.advance(10_000)
    group.delete()
    story.advance(10_000)
    group.join("carl", ["orders"])
    capture = story.capture()
    columns = ("incarnation", "group_epoch", "status", "bumped_at", "assigned_at", "members")
    assert rows(capture, "epoch_timeline", *columns)[2:] == [
        (0, 4, "emptied", 25_000, None, 1),
        (0, 5, "emptied", 27_000, None, 0),
        (1, 2, "converged", 47_000, 47_000, 1),
    ]
    assert rows(capture, "group_state_timeline", "incarnation", "from_at", "to_at", "state")[3:] == [
        (0, 25_000, 27_000, "Assigning"),
        (0, 27_000, 37_000, "Empty"),
        (1, 47_000, None, "Stable"),
    ]


def test_a_classic_group_is_upgraded_and_goes_back():
    story = Scenario()
    story.topic("orders", partitions=4)
    group = story.group("checkout")
    group.rebalance_classic({"old": ["orders"]})
    story.advance(1_000)
    new = group.join("new", ["orders"])
    story.advance(30_000)
    new.leave()
    capture = story.capture()
    assert rows(
        capture, "epoch_timeline", "group_epoch", "cause", "assigned_at", "status", "superseded_by", "members"
    ) == [
        (1, "upgraded", 1_000, "superseded", 2, 1),
        (2, "member_joined", 1_000, "converged", None, 2),
    ]
    states = rows(capture, "group_state_timeline", "incarnation", "group_type", "state", "from_at")
    assert states == [
        (0, "classic", "Stable", 0),
        (0, "consumer", "Reconciling", 1_000),
        (0, "consumer", "Stable", 11_000),
        (1, "classic", "Stable", 31_000),
    ]


def test_causes():
    story = Scenario(KAFKA_4_0)
    story.topic("orders", partitions=2)
    story.topic("payments", partitions=2)
    group = story.group("checkout")
    ann = group.join("ann", ["orders"])
    story.advance(10_000)
    group.join("bob", ["orders"])
    story.advance(10_000)
    group.join("reg", regex="pay.*")
    story.advance(10_000)
    group.resolve("pay.*", ["payments"])
    story.advance(10_000)
    ann.subscribe(["payments"])
    story.advance(10_000)
    story.grow("orders", 4)
    story.advance(10_000)
    ann.leave()
    columns = ("group_epoch", "cause", "metadata_changed", "trigger_member_ids")
    assert rows(story.capture(), "epoch_timeline", *columns) == [
        (1, "member_joined", False, ("ann",)),
        (2, "member_joined", False, ("bob",)),
        (3, "member_joined", False, ("reg",)),
        # Type 4 comes with it, for the group had no such topic; the topic itself did not change.
        (4, "regex_resolved", False, ()),
        (5, "subscription_changed", False, ("ann",)),
        (6, "topic_metadata_changed", True, ()),
        (7, "member_left", False, ("ann",)),
    ]


def test_the_trigger_is_told_apart_from_a_topic_that_changed_as_well():
    story = Scenario()
    story.topic("orders", partitions=2)
    group = story.group("checkout")
    ann = group.join("ann", ["orders"], instance_id="a")
    story.advance(4_000)
    story.grow("orders", 4)
    group.join("bob", ["orders"])  # before ann's next heartbeat
    story.advance(30_000)
    ann.go_away()
    story.advance(1_000)
    story.grow("orders", 6)
    ann.come_back("ann-again")  # before bob's next heartbeat
    story.advance(10_000)
    columns = ("group_epoch", "cause", "metadata_changed", "trigger_member_ids")
    assert rows(story.capture(), "epoch_timeline", *columns) == [
        (2, "member_joined", False, ("ann",)),
        (3, "member_joined", True, ("bob",)),
        (4, "topic_metadata_changed", True, ()),
    ]


def test_subscriptions_change_by_names_and_by_regular_expressions_and_for_successors():
    story = Scenario()
    story.topic("orders", partitions=2)
    story.topic("payments", partitions=2)
    group = story.group("checkout")
    ann = group.join("ann", ["orders"], instance_id="a")
    bob = group.join("bob", ["orders"])
    story.advance(20_000)
    bob.subscribe(["orders"])  # no change: nothing is written
    story.advance(10_000)
    bob.subscribe([], regex="pay.*")
    story.advance(10_000)
    ann.go_away()
    story.advance(1_000)
    ann.come_back("ann-again", ["payments"])
    story.advance(10_000)
    columns = ("group_epoch", "cause", "trigger_member_ids")
    assert rows(story.capture(), "epoch_timeline", *columns)[2:] == [
        (4, "subscription_changed", ("bob",)),
        (5, "subscription_changed", ("ann-again",)),
    ]


@pytest.mark.parametrize("release", [KAFKA_4_0, KAFKA_4_3], ids=lambda release: release.name)
def test_the_only_topic_comes_and_goes(release):
    story = Scenario(release)
    ann = story.group("checkout").join("ann", ["orders"])
    story.advance(10_000)
    story.topic("orders", partitions=2)
    story.advance(10_000)
    story.delete_topic("orders")
    story.advance(10_000)
    ann.leave()
    causes = [cause for _, cause in rows(story.capture(), "epoch_timeline", "group_epoch", "cause")]
    assert causes == ["member_joined", "topic_metadata_changed", "topic_metadata_changed", "member_left"]


def test_a_clock_that_runs_behind_makes_lags_negative():
    story = Scenario(clock=lambda time: time - 60_000 if time > START_MS + 9_000 else time)
    story.topic("orders", partitions=4)
    group = story.group("checkout")
    group.join("ann", ["orders"])
    story.advance(5_000)
    group.join("bob", ["orders"])
    story.advance(20_000)
    capture = story.capture()
    assert rows(capture, "epoch_timeline", "rebalance_lag_ms", "clock_skew") == [(-50_000, True), (0, False)]
