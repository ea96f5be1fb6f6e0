"""Stays and states of members as the simulator knows them, against stories worked out by hand.

Times are in ms since the story began. A member heartbeats every 5 s from when it joined.
"""

from kip848_records.simulate.broker.releases import KAFKA_4_0
from tests.simulate.scenario import Scenario
from tests.simulate.stories import rows, story_of_two

STAY = ("member_id", "joined_at", "joined_how", "joined_epoch", "left_at", "left_how", "left_epoch", "history")
STATE = ("member_id", "from_at", "to_at", "state", "member_epoch", "duration_ms", "history")


def test_members_join_leave_and_come_back_under_the_same_id():
    story, group, ann, bob = story_of_two()
    story.advance(20_000)
    ann.leave()
    story.advance(10_000)
    group.join("ann", ["orders"], rack_id="r1", assignor="uniform")
    story.advance(5_000)
    bob.subscribe(["payments", "orders"])
    story.advance(5_000)
    capture = story.capture()
    assert rows(capture, "membership", *STAY) == [
        ("ann", 0, "joined", 2, 25_000, "left", 4, "observed"),
        ("ann", 35_000, "joined", 5, None, None, None, "right_censored"),
        ("bob", 5_000, "joined", 3, None, None, None, "right_censored"),
    ]
    assert rows(capture, "membership", "member_id", "joined_at", "returned", "away_ms", "joined_offset") == [
        ("ann", 0, True, None, 0),
        ("ann", 35_000, False, None, 22),
        ("bob", 5_000, False, None, 5),
    ]
    columns = ("member_id", "rack_id", "server_assignor", "rebalance_timeout_ms", "topics", "regex", "client_id")
    assert rows(capture, "membership", *columns) == [
        ("ann", None, None, 300_000, ("orders",), None, "client"),
        ("ann", "r1", "uniform", 300_000, ("orders",), None, "client"),
        ("bob", None, None, 300_000, ("orders", "payments"), None, "client"),
    ]


def test_static_members_are_replaced_or_expire():
    story = Scenario()
    story.topic("orders", partitions=4)
    group = story.group("checkout")
    ann = group.join("ann", ["orders"], instance_id="a")
    bob = group.join("bob", ["orders"], instance_id="b")
    story.advance(20_000)
    ann.go_away()
    bob.go_away()
    story.advance(10_000)
    ann.come_back("ann-again")
    story.advance(60_000)  # bob's session is over 45 s after he went
    capture = story.capture()
    assert rows(capture, "membership", *STAY, "away_ms") == [
        ("ann", 0, "joined", 2, 30_000, "replaced", 3, "right_censored", 10_000),
        ("ann-again", 30_000, "replaced", 3, None, None, None, "right_censored", 0),
        ("bob", 1, "joined", 3, 65_000, "expired", 4, "right_censored", 44_999),
    ]
    assert rows(capture, "member_state_timeline", "member_id", "from_at", "to_at", "state", "member_epoch") == [
        ("ann", 0, 5_000, "reconciled", 2),
        ("ann", 5_000, 5_010, "revoking", 2),
        ("ann", 5_010, 20_000, "reconciled", 3),
        ("ann", 20_000, 30_000, "away", -2),
        ("ann-again", 30_000, 65_001, "reconciled", 3),
        ("ann-again", 65_001, None, "reconciled", 4),
        ("bob", 1, 5_000, "reconciled", 2),
        ("bob", 5_000, 5_001, "behind", 2),
        ("bob", 5_001, 10_000, "waiting", 3),
        ("bob", 10_000, 20_001, "reconciled", 3),
        ("bob", 20_001, 65_000, "away", -2),
    ]


def test_the_states_of_two_members_that_share():
    story, *_ = story_of_two(revoke_ms=2_000)
    story.advance(15_000)
    capture = story.capture()
    assert rows(capture, "member_state_timeline", *STATE) == [
        ("ann", 0, 5_000, "reconciled", 2, 5_000, "observed"),
        ("ann", 5_000, 10_000, "behind", 2, 5_000, "observed"),
        ("ann", 10_000, 12_000, "revoking", 2, 2_000, "observed"),
        ("ann", 12_000, None, "reconciled", 3, 3_000, "right_censored"),
        ("bob", 5_000, 15_000, "waiting", 3, 10_000, "observed"),
        ("bob", 15_000, None, "reconciled", 3, 0, "right_censored"),
    ]


def test_a_group_changes_its_protocol_and_back():
    story = Scenario(KAFKA_4_0)
    story.topic("orders", partitions=4)
    group = story.group("checkout")
    group.rebalance_classic({"old": ["orders"], "older": ["orders"]})
    story.advance(500)
    group.rebalance_classic({"old": ["orders"]})
    story.advance(500)
    new = group.join("new", ["orders"])
    story.advance(30_000)
    new.leave()
    capture = story.capture()
    assert rows(capture, "membership", "group_type", "incarnation", *STAY) == [
        ("classic", 0, "old", 0, "joined", 1, 1_000, "upgraded", 3, "observed"),
        ("classic", 0, "older", 0, "joined", 1, 500, "left", 2, "observed"),
        ("classic", 1, "old", 31_000, "downgraded", 3, None, None, None, "right_censored"),
        ("consumer", 0, "new", 1_000, "joined", 3, 31_000, "left", 3, "observed"),
        ("consumer", 0, "old", 1_000, "upgraded", 3, 31_000, "downgraded", 3, "observed"),
    ]
    states = rows(capture, "member_state_timeline", "member_id", "state", "is_classic", "from_at", "to_at")
    assert ("old", "reconciled", True, 6_010, 31_000) in states
    assert {row[:1] + row[2:3] for row in states} == {("old", True), ("new", False)}


def test_what_a_regular_expression_matched():
    story = Scenario()
    story.topic("orders", partitions=1)
    group = story.group("checkout")
    group.join("ann", regex="ord.*")
    story.advance(500)
    group.resolve("ord.*", ["orders"])
    story.advance(500)
    group.resolve("ord.*", ["orders", "orders-2"])
    capture = story.capture()
    assert rows(capture, "regex_resolution", "resolved_at", "regex", "topics", "offset", "incarnation") == [
        (500, "ord.*", ("orders",), 2, 0),
        (1_000, "ord.*", ("orders", "orders-2"), 4, 0),
    ]
    assert rows(capture, "membership", "regex", "topics") == [("ord.*", ())]
    assert capture.truth["anomaly"] == []
