"""Rows of `rebalance` and `partition_handover` as the simulator knows them, against stories worked out by hand.

Times are in ms since the story began. A member heartbeats every 5 s from when it joined.
"""

from kip848_records.simulate.spec import START_MS
from tests.simulate.scenario import Scenario
from tests.simulate.stories import rows, story_of_two

SPAN = ("began_at", "ended_at", "outcome", "first_epoch", "last_epoch", "causes")
TIMES = ("duration_ms", "assigning_ms", "late_ms", "unowned_ms", "longest_unowned_ms")
MEMBERS = ("started_empty", "members_before", "members", "members_waited", "partitions_moved")
GAP = ("released_at", "acquired_at", "partition", "from_member", "to_member", "unowned_ms", "wanted", "wanted_ms")


def blockers(capture, nth):
    """The blockers of the nth rebalance, the worst first."""
    row = sorted(capture.truth["rebalance"], key=lambda row: row["began_offset"])[nth]
    assert row["blockers_count"] == len(row["blockers"])
    names = ("member_id", "late_ms", "blocked_ms", "held_up", "revoke_ms", "away_ms", "last_state")
    return [tuple(blocker[name] for name in names) for blocker in row["blockers"]]


def test_a_member_that_revokes_holds_another_up():
    story, *_ = story_of_two(revoke_ms=2_000)
    story.advance(15_000)  # 10 s: ann is to revoke; 12 s: she has; 15 s: bob takes them
    capture = story.capture()
    assert rows(capture, "rebalance", *SPAN) == [
        (0, 0, "converged", 2, 2, ("member_joined",)),
        (5_000, 15_000, "converged", 3, 3, ("member_joined",)),
    ]
    assert rows(capture, "rebalance", *TIMES) == [(0, 0, 0, 0, 0), (10_000, 0, 10_000, 6_000, 3_000)]
    assert rows(capture, "rebalance", *MEMBERS) == [(False, 1, 2, 1, 2), (True, 0, 1, 0, None)]
    assert rows(capture, "rebalance", "trigger_member_ids", "began_offset", "ended_offset") == [
        (("ann",), 1, 4),
        (("bob",), 6, 14),
    ]
    assert blockers(capture, 0) == []
    # Ann is silent for 5 s and revokes for 2; what bob waits for is free for 3 until he takes it.
    assert blockers(capture, 1) == [
        ("ann", 7_000, 7_000, 1, 2_000, 0, "revoking"),
        ("bob", 3_000, 0, 0, 0, 0, "waiting"),
    ]


def test_a_fenced_member_is_a_blocker_though_it_left():
    story, *_ = story_of_two(revoke_ms=None, rebalance_timeout_ms=61_000)
    story.advance(80_000)  # 10 s: ann is to revoke; 71 s: fenced; 75 s: bob takes all
    capture = story.capture()
    assert rows(capture, "rebalance", *SPAN)[1:] == [
        (5_000, 75_000, "converged", 3, 4, ("member_joined", "member_left"))
    ]
    assert rows(capture, "rebalance", "trigger_member_ids")[1:] == [(("bob", "ann"),)]
    assert rows(capture, "rebalance", *TIMES)[1:] == [(70_000, 4_000, 66_000, 16_000, 4_000)]
    assert rows(capture, "rebalance", *MEMBERS)[:1] == [(False, 1, 1, 1, 4)]
    assert blockers(capture, 1) == [("ann", 66_000, 66_000, 1, 61_000, 0, "revoking")]
    # What was still ann's is in nobody's target until bob's heartbeat, but it was in hers up to her tombstone.
    assert rows(capture, "partition_handover", *GAP)[4:] == [
        *((71_000, 75_000, partition, "ann", "bob", 4_000, True, 0) for partition in (0, 1)),
        *((71_000, 75_000, partition, "ann", "bob", 4_000, True, 4_000) for partition in (2, 3)),
    ]


def test_what_is_open_counts_to_the_capture():
    story, *_ = story_of_two(revoke_ms=None)
    story.advance(25_000)
    capture = story.capture(captured_at=START_MS + 31_000)
    assert rows(capture, "rebalance", *SPAN, "ended_offset", "history")[1:] == [
        (5_000, None, "open", 3, 3, ("member_joined",), None, "right_censored")
    ]
    assert rows(capture, "rebalance", *TIMES)[1:] == [(26_000, 0, 26_000, 0, 0)]
    assert blockers(capture, 1) == [("ann", 26_000, 26_000, 1, 21_000, 0, "revoking")]


def test_a_gap_that_is_open_is_a_row():
    story, _, ann, _ = story_of_two()
    story.advance(20_000)
    ann.leave()  # 25 s; bob's next heartbeat is at 30 s
    capture = story.capture(captured_at=START_MS + 28_000)
    assert [row for row in rows(capture, "partition_handover", *GAP, "history") if row[0] == 25_000] == [
        (25_000, None, partition, "ann", None, 3_000, True, 0, "right_censored") for partition in (0, 1)
    ]
    assert rows(capture, "rebalance", "began_at", *TIMES)[2:] == [(25_000, 3_000, 3_000, 0, 6_000, 3_000)]


def test_a_group_that_is_stopped_ends_its_gaps_and_bumps():
    story, group, ann, bob = story_of_two()
    story.advance(20_000)
    ann.leave()  # 25 s
    story.advance(2_000)
    bob.leave()  # 27 s
    story.advance(60_000)
    group.join("carl", ["orders"])  # 87 s
    capture = story.capture()
    assert rows(capture, "rebalance", *SPAN)[2:] == [
        (25_000, 27_000, "emptied", 4, 5, ("member_left",)),
        (87_000, 87_000, "converged", 6, 6, ("member_joined",)),
    ]
    assert rows(capture, "rebalance", "began_at", *MEMBERS)[2:] == [
        (25_000, False, 2, 1, 0, 0),
        (87_000, True, 0, 1, 0, None),
    ]
    assert rows(capture, "rebalance", "began_at", *TIMES)[2:] == [
        (25_000, 2_000, 2_000, 0, 4_000, 2_000),
        (87_000, 0, 0, 0, 0, 0),
    ]
    gaps = [row for row in rows(capture, "partition_handover", *GAP) if (row[0] or row[1]) >= 25_000]
    assert gaps == [
        *((None, 87_000, partition, None, "carl", None, None, None) for partition in range(4)),
        *((25_000, None, partition, "ann", None, 2_000, True, 0) for partition in (0, 1)),
        *((27_000, None, partition, "bob", None, 0, True, 0) for partition in (2, 3)),
    ]
    assert rows(capture, "rebalance_lag", "group_epoch", "member_id", "first_bumped_at", "lag_ms")[-1] == (
        6,
        "carl",
        87_000,
        0,
    )
    assert rows(capture, "epoch_timeline", "group_epoch", "target_partitions", "target_duplicates", "partitions_moved")[
        2:
    ] == [(4, None, None, None), (5, None, None, None), (6, 4, 0, None)]


def test_a_partition_that_nobody_wants_any_more_has_no_gap():
    story = Scenario()
    story.topic("orders", partitions=1)
    story.topic("payments", partitions=1)
    ann = story.group("checkout").join("ann", ["orders", "payments"])
    story.advance(7_000)
    ann.subscribe(["orders"])  # she revokes at once
    story.advance(7_000)
    ann.subscribe(["orders", "payments"])
    capture = story.capture()
    payments = next(id_ for id_, name in capture.topics.items() if name == "payments")
    gaps = [row for row in rows(capture, "partition_handover", "topic_id", *GAP) if row[0] == payments]
    assert [row[1:] for row in gaps] == [
        (None, 0, 0, None, "ann", None, None, None),
        (None, 14_000, 0, None, "ann", None, None, None),
        (7_010, None, 0, "ann", None, 0, False, 0),
    ]


def test_a_static_member_that_is_away_is_no_rebalance_but_may_hold_one_up():
    story, group, ann, _ = story_of_two(instance_id="a")
    story.advance(21_000)
    ann.go_away()  # 26 s
    story.advance(10_000)
    group.join("cid", ["orders"])  # 36 s: one of bob's partitions is to be cid's; bob gives it up at 40 s
    story.advance(10_000)
    ann.come_back("ann-again")  # 46 s
    capture = story.capture()
    assert rows(capture, "rebalance", *SPAN)[2:] == [(36_000, 46_000, "converged", 4, 4, ("member_joined",))]
    assert rows(capture, "rebalance", "began_at", *TIMES)[2:] == [(36_000, 10_000, 0, 10_000, 20_990, 10_000)]
    assert blockers(capture, 2) == [
        ("ann", 10_000, 0, 0, 0, 10_000, "away"),
        ("bob", 4_010, 4_010, 1, 10, 0, "revoking"),
        ("cid", 990, 0, 0, 0, 0, "waiting"),
    ]
    gaps = rows(capture, "partition_handover", *GAP)
    assert [row for row in gaps if row[3] == "ann" and row[0] == 26_000] == [
        (26_000, 46_000, partition, "ann", "ann-again", 20_000, True, 20_000) for partition in (0, 1)
    ]


def test_members_that_wait_for_each_other_are_late():
    """A new assignment swaps what they hold while both wait for a third: each has to give up its partition first."""
    story = Scenario()
    for name in ("p", "q", "r", "s"):
        story.topic(name, partitions=1)
    group = story.group("checkout")
    zoe = group.join("zoe", ["r", "s"], revoke_ms=None)
    story.advance(2_000)
    ann = group.join("ann", ["p"])
    story.advance(2_000)
    bob = group.join("bob", ["q"])
    wim = group.join("wim")
    story.advance(2_000)
    zoe.subscribe([])
    story.advance(3_000)
    ann.subscribe(["p", "r"])
    story.advance(1_500)
    bob.subscribe(["q", "s"])  # 10.5 s: the next assignment comes after 11.5 s
    story.advance(100)
    ann.subscribe(["q", "r"])
    bob.subscribe(["p", "s"])
    story.advance(700)
    zoe.leave()  # 11.3 s
    story.advance(300)
    wim.heartbeat()  # 11.6 s: assigns; nobody but ann and bob is behind now
    story.advance(8_400)
    capture = story.capture()
    (row,) = [row for row in capture.truth["rebalance"] if row["began_at"] == START_MS + 2_000]
    assert (row["duration_ms"], row["assigning_ms"], row["late_ms"]) == (15_000, 1_000, 14_000)
    late = {blocker["member_id"]: blocker["late_ms"] for blocker in row["blockers"]}
    # Ann is behind from 4 to 7 s. She gives p up at 12.01 s, and what she waits for is free from 14.01 to 17 s.
    assert late["ann"] == 3_000 + 410 + 2_990
    # Bob is behind from 6 to 9.001 s. He takes p at 14.01 s as he gives q up; s has been free since 11.3 s.
    assert late["bob"] == 3_001 + 2_410


def test_a_group_that_is_assigned_late_opens_its_last_epoch_again():
    story = Scenario()
    story.topic("orders", partitions=2)
    group = story.group("checkout")
    ann = group.join("ann", regex="ord.*")
    story.advance(500)
    group.resolve("ord.*", ["orders"])
    story.advance(7_000)
    bob = group.join("bob", regex="ord.*")  # 7.5 s: assigned at once
    story.advance(100)
    ann.leave()
    story.advance(100)
    bob.leave()  # 7.7 s: Empty, and its epoch has no assignment
    story.advance(300)
    group.join("cid", regex="ord.*")  # 8 s: no bump, for nobody knows what matches
    story.advance(1_000)
    group.resolve("ord.*", ["orders"])  # 9 s
    story.advance(10_000)
    capture = story.capture()
    assert rows(capture, "rebalance", *SPAN)[1:] == [
        (7_500, 7_700, "emptied", 3, 5, ("member_joined", "member_left")),
        (8_000, 13_000, "converged", 5, 6, ("member_left", "regex_resolved")),
    ]
    assert rows(capture, "rebalance", "trigger_member_ids", "epochs", "began_offset") == [
        (("ann",), 1, 3),
        (("bob", "ann"), 3, 8),
        (("bob", "cid"), 2, 22),
    ]
    assert rows(capture, "epoch_timeline", "group_epoch", "status", "assigned_at") == [
        (2, "converged", 5_000),
        (3, "emptied", 7_500),
        (4, "emptied", None),
        (5, "emptied", None),
        (6, "converged", 13_000),
    ]
    lags = rows(capture, "rebalance_lag", "group_epoch", "member_id", "first_bumped_at", "lag_ms")
    assert lags[-1] == (6, "cid", 9_000, 4_000)


def test_an_assignment_without_a_bump_counts_from_the_first_member():
    story = Scenario()
    story.topic("orders", partitions=2)
    group = story.group("checkout")
    ann = group.join("ann", regex="ord.*")
    story.advance(500)
    group.resolve("ord.*", ["orders"])
    story.advance(7_000)
    ann.leave()  # 7.5 s: Empty
    story.advance(20_000)
    group.join("bob", regex="ord.*")  # 27.5 s: assigned at the epoch that emptied the group
    capture = story.capture()
    assert rows(capture, "rebalance_lag", "group_epoch", "member_id", "first_bumped_at", "lag_ms")[1:] == [
        (3, "bob", 27_500, 0)
    ]
    assert rows(capture, "rebalance", *SPAN)[1:] == [(7_500, 7_500, "emptied", 3, 3, ("member_left",))]


def test_a_downgrade_ends_what_is_open():
    story = Scenario()
    story.topic("orders", partitions=4)
    group = story.group("checkout")
    group.rebalance_classic({"old": ["orders"]})
    story.advance(1_000)
    new = group.join("new", ["orders"])
    story.advance(2_000)
    new.leave()
    capture = story.capture()
    assert rows(capture, "epoch_timeline", "group_epoch", "cause", "status", "trigger_member_ids") == [
        (1, "upgraded", "downgraded", ("old",)),
        (2, "member_joined", "downgraded", ("new",)),
    ]
    assert rows(capture, "rebalance", *SPAN) == [(1_000, 3_000, "downgraded", 1, 2, ("upgraded", "member_joined"))]
    assert rows(capture, "rebalance", *MEMBERS) == [(False, 1, 2, 1, 2)]
    assert rows(capture, "rebalance", *TIMES) == [(2_000, 0, 2_000, 0, 0)]
    # The member of the classic group keeps its partitions through both conversions.
    assert rows(capture, "partition_handover", *GAP, "incarnation") == []


def test_a_step_back_of_the_clock_counts_as_nothing_in_sums():
    story = Scenario(clock=lambda time: time - 60_000 if time > START_MS + 11_000 else time)
    story.topic("orders", partitions=4)
    group = story.group("checkout")
    group.join("ann", ["orders"], revoke_ms=2_000)
    story.advance(5_000)
    group.join("bob", ["orders"])
    story.advance(30_000)  # 10 s: ann is to revoke; 12 s: she has, and the clock shows -48 s; 15 s: bob takes them
    capture = story.capture()
    # The step from 10.001 s, when bob's previous epoch is written, to -48 s counts as 0.
    columns = ("duration_ms", "late_ms", "unowned_ms", "clock_skew")
    assert rows(capture, "rebalance", *columns) == [(-50_000, 8_001, 6_000, True), (0, 0, 0, False)]
    columns = ("group_epoch", "member_id", "lag_ms", "revoke_ms", "wait_ms", "clock_skew")
    assert rows(capture, "rebalance_lag", *columns)[1:] == [
        (3, "ann", -53_000, 1, 0, True),
        (3, "bob", -50_000, 0, 8_001, True),
    ]
    states = rows(capture, "group_state_timeline", "state", "from_at", "duration_ms", "clock_skew")
    assert states == [
        ("Reconciling", 5_000, -50_000, True),
        ("Stable", -45_000, 55_001, False),
        ("Stable", 0, 5_000, False),
    ]
    assert {row["clock_skew"] for row in capture.truth["partition_handover"]} == {False}


def test_a_small_step_back_is_told_though_all_times_are_positive():
    story = Scenario(clock=lambda time: time - 2_500 if time > START_MS + 11_000 else time)
    story.topic("orders", partitions=4)
    group = story.group("checkout")
    group.join("ann", ["orders"], revoke_ms=2_000)
    story.advance(5_000)
    group.join("bob", ["orders"])
    story.advance(30_000)  # 10 s: ann is to revoke; 12 s: she has, and the clock shows 9.5 s; 15 s: bob takes them
    capture = story.capture()
    columns = ("began_at", "duration_ms", "late_ms", "clock_skew")
    assert rows(capture, "rebalance", *columns)[1:] == [(5_000, 7_500, 8_001, True)]
    assert rows(capture, "epoch_timeline", "group_epoch", "rebalance_lag_ms", "clock_skew") == [
        (2, 0, False),
        (3, 7_500, True),
    ]
    lags = rows(capture, "rebalance_lag", "group_epoch", "member_id", "lag_ms", "clock_skew")
    assert lags[1:] == [(3, "ann", 4_500, True), (3, "bob", 7_500, True)]
    states = rows(capture, "group_state_timeline", "from_at", "state", "clock_skew")
    assert states == [(0, "Stable", False), (5_000, "Reconciling", True), (12_500, "Stable", False)]
