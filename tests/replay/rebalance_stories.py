"""Each rule of rebalances, stays, members' states, gaps and anomalies in a story of a few lines."""

from tests.replay.stories import Story

STORIES = (
    Story(
        "a member that revokes late holds up the one that waits for its partition",
        """
        10: 5 a, 3 1, 7 a +0+1, 6 1, 8 a 1 +0+1
        20: 5 b, 3 2, 7 a +0, 7 b +1, 6 2, 8 b 2 2
        30: 8 a 1 1 +0 !1
        50: 8 a 2 +0
        60: 8 b 2 +1
        """,
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            (
                "2 member_joined by b, 20 to 60 converged, 1 to 2 members, 0 assigning + 40 late = 40, "
                "1 waited, 1 moved, 10 unowned, longest 10, a revoking: 30 late 30 blocking 1 20 revoking, "
                "b waiting: 10 late"
            ),
        ),
        members=(
            "a reconciled 1 10 to 20",
            "a behind 1 20 to 30",
            "a revoking 1 30 to 50",
            "a reconciled 2 50 to -, right_censored",
            "b waiting 2 20 to 60",
            "b reconciled 2 60 to -, right_censored",
        ),
    ),
    Story(
        "time without an assignment is nobody's fault",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 +0
        20: 5 b, 3 2, 8 b 1
        50: 7 a, 7 b +0, 6 2, 8 a 2
        90: 8 b 2 +0
        """,
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            (
                "2 member_joined by b, 20 to 90 converged, 1 to 2 members, 30 assigning + 40 late = 70, "
                "1 moved, 40 unowned, longest 40, b behind: 40 late"
            ),
        ),
    ),
    Story(
        "the epochs that end together are one rebalance, and its triggers are those of all",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 5 b, 3 2, 8 b 1
        30: 5 c, 3 3, 8 c 1
        40: 7 a, 7 b, 7 c, 6 3, 8 a 3
        50: 8 b 3
        60: 8 c 3
        """,
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            (
                "2-3 member_joined by b c, 20 to 60 converged, 1 to 3 members, 20 assigning + 20 late = 40, "
                "0 moved, c behind: 20 late, b behind: 10 late"
            ),
        ),
    ),
    Story(
        "the last member that leaves empties the group, and a group that was empty starts",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 +0
        20: 8 a x, 7 a x, 5 a x, 3 2
        500: 5 b, 3 3, 7 b +0, 6 3, 8 b 3 +0
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 member_left by a, - moved",
            "3 member_joined by b, - moved",
        ),
        lags=(
            "1 a reconciled in 0",
            "3 b reconciled in 0",
        ),
        handovers=(
            "0 - to a at 10",
            "0 a to - from 20 after 0 (0 wanted)",
            "0 - to b at 500",
        ),
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            "2 member_left by a, 20 to 20 emptied, 1 to 1 members, 0 moved",
            "3 member_joined by b, 500 to 500 converged, 0 to 1 members, - moved",
        ),
        stays=(
            "0 consumer a joined at 10 (1), left at 20 (2), may return",
            "0 consumer b joined at 500 (3), right_censored",
        ),
    ),
    Story(
        "emptying a group ends its open bumps: who joins it next answers for its own only",
        """
        10: 5 a, 3 1
        20: 8 a x, 7 a x, 5 a x, 3 2
        500: 5 b, 3 3
        520: 7 b, 6 3, 8 b 3
        """,
        lags=("3 b reconciled in 20",),
        rebalances=(
            (
                "1-2 member_joined+member_left by a, 10 to 20 emptied, 0 to 1 members, "
                "10 assigning + 0 late = 10, 0 moved"
            ),
            "3 member_joined by b, 500 to 520 converged, 0 to 1 members, 20 assigning + 0 late = 20, - moved",
        ),
    ),
    Story(
        "a group of regular expressions that was empty is assigned at the epoch that emptied it",
        """
        10: 5 a %r, 3 1, 7 a +0, 6 1, 8 a 1 +0
        20: 8 a x, 7 a x, 5 a x, 3 2
        500: 5 b %r
        510: 5 b %r
        530: 7 b +0, 6 2, 8 b 0 2
        560: 8 b 2 +0
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 20 assigned - converged - emptied, 0 members",
        ),
        lags=(
            "1 a reconciled in 0",
            "2 b reconciled in 60, waited 30",
        ),
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            "2 member_left by a, 20 to 20 emptied, 1 to 1 members, 0 moved",
            (
                "2 member_left by a, 500 to 560 converged, 0 to 1 members, 30 assigning + 30 late = 60, "
                "1 waited, - moved, 30 unowned, longest 30, b waiting: 30 late"
            ),
        ),
    ),
    Story(
        "a regular expression that is resolved answers the members that subscribed to it without a bump",
        """
        10: 5 a ~t, 3 1, 7 a, 6 1, 8 a 1
        20: 5 b %r, 8 b 1
        40: 16 r ~t, 3 2, 7 b, 6 2, 8 b 2
        50: 8 a 2
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 regex_resolved, 0 moved",
        ),
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            (
                "2 regex_resolved by b, 40 to 50 converged, 2 to 2 members, 0 assigning + 10 late = 10, "
                "0 moved, a behind: 10 late"
            ),
        ),
    ),
    Story(
        "an epoch that is written again is none: what was written before it is a cause of the next one",
        """
        10: 5 a ~t, 3 1 #5, 7 a, 6 1, 8 a 1
        20: 5 b %r, 8 b 1
        30: 3 1 #6
        40: 16 r ~t, 3 2 #6, 7 b, 6 2, 8 a 2, 8 b 2
        """,
        causes=("1 member_joined by a, - moved", "2 regex_resolved, metadata changed 0 moved"),
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            "2 regex_resolved by b, 40 to 40 converged, 2 to 2 members, 0 moved",
        ),
    ),
    Story(
        "a static member that is away is no rebalance, and its partitions have no owner",
        """
        10: 5 a @i, 5 b, 3 1, 7 a +0, 7 b +1, 6 1, 8 a 1 +0, 8 b 1 +1
        20: 8 a -2 +0
        90: 8 a x, 7 a x, 5 a x, 5 c @i, 7 c +0, 8 c 0 +0, 8 c 1 +0
        """,
        handovers=(
            "0 - to a at 10",
            "0 a to c at 90 after 70 (70 wanted)",
            "1 - to b at 10",
        ),
        states=(
            "0 consumer Stable 10 to 20",
            "0 consumer Reconciling 20 to 90",
            "0 consumer Stable 90 to -, right_censored",
        ),
        rebalances=("1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",),
        stays=(
            "0 consumer a @i joined at 10 (1), replaced at 90 (1), may return, 70 away",
            "0 consumer b joined at 10 (1), right_censored",
            "0 consumer c @i replaced at 90 (1), right_censored",
        ),
        members=(
            "a reconciled 1 10 to 20",
            "a away -2 20 to 90",
            "b reconciled 1 10 to -, right_censored",
            "c reconciled 1 90 to -, right_censored",
        ),
    ),
    Story(
        "it comes back under its own id",
        """
        10: 5 a @i, 3 1, 7 a +0, 6 1, 8 a 1 +0
        20: 8 a -2 +0
        50: 8 a 1 +0
        """,
        handovers=(
            "0 - to a at 10",
            "0 a to a at 50 after 30 (30 wanted)",
        ),
        rebalances=("1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",),
        stays=("0 consumer a @i joined at 10 (1), 30 away, right_censored",),
        members=(
            "a reconciled 1 10 to 20",
            "a away -2 20 to 50",
            "a reconciled 1 50 to -, right_censored",
        ),
    ),
    Story(
        "one that is away holds a rebalance up",
        """
        10: 5 a @i, 5 b, 3 1, 7 a +0, 7 b, 6 1, 8 a 1 +0, 8 b 1
        20: 8 a -2 +0
        30: 3 2, 7 a, 7 b +0, 6 2
        40: 8 b 2 2
        70: 8 a x, 7 a x, 5 a x, 3 3
        80: 7 b +0, 6 3, 8 b 3 +0
        """,
        handovers=(
            "0 - to a at 10",
            "0 a to b at 80 after 60 (60 wanted)",
        ),
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2-3 unknown+member_left by a, 30 to 80 converged, 2 to 1 members, "
                "10 assigning + 40 late = 50, 1 waited, 1 moved, 50 unowned, longest 50, "
                "a away: 40 late 30 blocking 1 40 away, b behind: 10 late"
            ),
        ),
    ),
    Story(
        "all times away of a blocker count, those before it blocks and those after it",
        """
        10: 5 a @i, 5 b, 3 1, 7 a +0, 7 b +1, 6 1, 8 a 1 +0, 8 b 1 +1
        20: 3 2
        21: 8 a -2 +0
        25: 8 a x, 7 a x, 5 a x, 5 a @i, 7 a +0, 8 a 1 +0
        26: 6 2, 8 b 2 +1
        30: 8 a -2 +0
        50: 8 a x, 7 a x, 5 a x, 5 a @i, 7 a +0, 8 a 2 +0, 3 3
        60: 8 a -2 +0
        80: 8 a x, 7 a x, 5 a x, 5 a @i, 7 a +0, 8 a 2 +0
        90: 6 3, 8 a 3 +0, 8 b 3 +1
        """,
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2-3 unknown+static_member_replaced by a, 20 to 90 converged, 2 to 2 members, "
                "46 assigning + 24 late = 70, 0 moved, 44 unowned, longest 20, a away: 24 late 44 away"
            ),
        ),
    ),
    Story(
        "a blocker may have left since, and is the same one when it returns",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b, 6 1, 8 a 1 +0, 8 b 1
        20: 3 2, 7 a, 7 b +0, 6 2, 8 b 2 2
        50: 8 a x, 7 a x, 5 a x, 3 3
        60: 5 a, 3 4, 7 a, 7 b +0, 6 4, 8 a 4
        80: 8 b 4 2
        90: 8 b 4 +0
        """,
        lags=(
            "1 a reconciled in 0",
            "1 b reconciled in 0",
            "2 a left in -",
            "2 b reconciled in 70 superseded, waited 70 for a",
            "4 a reconciled in 10",
            "4 b reconciled in 40, behind since 20, waited 30",
        ),
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2-4 unknown+member_left+member_joined by a, 20 to 90 converged, 2 to 2 members, "
                "10 assigning + 60 late = 70, 1 waited, 1 moved, 40 unowned, longest 40, "
                "a behind: 30 late 30 blocking 1, b waiting: 30 late"
            ),
        ),
        stays=(
            "0 consumer a joined at 10 (1), left at 50 (3), returned",
            "0 consumer b joined at 10 (1), right_censored",
            "0 consumer a joined at 60 (4), right_censored",
        ),
        members=(
            "a reconciled 1 10 to 20",
            "a behind 1 20 to 50",
            "a reconciled 4 60 to -, right_censored",
            "b reconciled 1 10 to 20",
            "b waiting 2 20 to 80",
            "b waiting 4 80 to 90",
            "b reconciled 4 90 to -, right_censored",
        ),
    ),
    Story(
        "members may wait for each other: at an older epoch each has something to give up",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b +1, 6 1, 8 a 1 +0, 8 b 1 +1
        20: 3 2, 7 a +0+2, 7 b +1+3, 6 2, 8 a 2 2 +0, 8 b 2 2 +1
        30: 3 3, 7 a +1, 7 b +0, 6 3
        70: 8 a 2 1 !0
        80: 8 b 2 1 !1
        85: 8 a 3 2
        90: 8 b 3 +0
        95: 8 a 3 +1
        """,
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2-3 unknown, 20 to 95 converged, 2 to 2 members, 0 assigning + 75 late = 75, 2 waited, "
                "2 moved, 30 unowned, longest 10, a waiting: 70 late 50 blocking 1 15 revoking, "
                "b revoking: 70 late 45 blocking 1 10 revoking"
            ),
        ),
    ),
    Story(
        "who waits already is seen to be blocked when an assignment is written, for that one",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b, 6 1, 8 a 1 +0, 8 b 1
        20: 3 2, 7 a, 7 b +0, 6 2, 8 b 2 2
        30: 5 c, 3 3, 7 c, 6 3, 8 c 3
        40: 8 a 3
        50: 8 b 3 +0
        """,
        lags=(
            "1 a reconciled in 0",
            "1 b reconciled in 0",
            "2 a reconciled in 20 superseded",
            "2 b reconciled in 30 superseded, waited 30 for a",
            "3 a reconciled in 10, behind since 20",
            "3 b reconciled in 20, behind since 20, waited 20 for a",
            "3 c reconciled in 0",
        ),
    ),
    Story(
        "who waits for two holders is blocked by both, and a holder of two is one blocker",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b +1, 6 1, 8 a 1 +0, 8 b 1 +1
        20: 5 c, 5 d, 3 2, 7 a, 7 b, 7 c +0+1, 7 d, 6 2, 8 c 2 2, 8 d 2
        40: 8 a 2
        50: 8 b 2
        55: 8 c 2 +0+1
        """,
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2 member_joined by c d, 20 to 55 converged, 2 to 4 members, 0 assigning + 35 late = 35, "
                "1 waited, 2 moved, 20 unowned, longest 15, b behind: 30 late 30 blocking 1, "
                "a behind: 20 late 20 blocking 1, c waiting: 5 late"
            ),
        ),
    ),
    Story(
        "a consumer that crashes: its target counts up to its tombstone",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b +1, 6 1, 8 a 1 +0, 8 b 1 +1
        20: 8 a x, 7 a x, 5 a x, 3 2
        50: 7 b +0+1, 6 2
        60: 8 b 2 +0+1
        """,
        handovers=(
            "0 - to a at 10",
            "0 a to b at 60 after 40 (10 wanted)",
            "1 - to b at 10",
        ),
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2 member_left by a, 20 to 60 converged, 2 to 1 members, 30 assigning + 10 late = 40, "
                "1 moved, 40 unowned, longest 40, b behind: 10 late"
            ),
        ),
    ),
    Story(
        "a partition that never had an owner counts from the moment it is in a target",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 +0
        20: 3 2
        50: 7 a +0+1, 6 2
        90: 8 a 2 +0+1
        """,
        handovers=(
            "0 - to a at 10",
            "1 - to a at 90",
        ),
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            (
                "2 unknown, 20 to 90 converged, 1 to 1 members, 30 assigning + 40 late = 70, 0 moved, "
                "40 unowned, longest 40, a behind: 40 late"
            ),
        ),
    ),
    Story(
        "a partition that is in nobody's target any more is nobody's loss",
        """
        10: 5 a, 3 1, 7 a +0+1, 6 1, 8 a 1 +0+1
        20: 3 2, 7 a +0, 6 2, 8 a 1 1 +0 !1
        40: 8 a 2 +0
        90: 3 3, 7 a +0+1, 6 3, 8 a 3 +0+1
        """,
        handovers=(
            "0 - to a at 10",
            "1 - to a at 10",
            "1 a to - from 40 after 0",
            "1 - to a at 90",
        ),
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            (
                "2 unknown, 20 to 40 converged, 1 to 1 members, 0 assigning + 20 late = 20, 0 moved, "
                "a revoking: 20 late 20 revoking"
            ),
            "3 unknown, 90 to 90 converged, 1 to 1 members, 0 moved",
        ),
    ),
    Story(
        "a gap that is open at the end",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b +1, 6 1, 8 a 1 +0, 8 b 1 +1
        20: 8 a x, 7 a x, 5 a x, 3 2
        50: 7 b +0+1, 6 2
        """,
        handovers=(
            "0 - to a at 10",
            "0 a to - from 20 after 980 (950 wanted), right_censored",
            "1 - to b at 10",
        ),
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2 member_left by a, 20 to - open, 2 to 1 members, 30 assigning + 950 late = 980, 1 moved, "
                "980 unowned, longest 980, b behind: 950 late, right_censored"
            ),
        ),
    ),
    Story(
        "a gap ends with its incarnation",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b +1, 6 1, 8 a 1 +0, 8 b 1 +1
        20: 8 a x, 7 a x, 5 a x, 3 2
        50: 8 b x, 7 b x, 6 x, 5 b x, 3 x
        60: 5 c, 3 1, 7 c +0+1, 6 1, 8 c 1 +0+1
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 2 members",
            "0/2 bumped 20 assigned - converged - deleted, 1 members",
            "1/1 bumped 60 assigned 60 converged 60 converged, 1 members",
        ),
        handovers=(
            "0 - to a at 10",
            "0 a to - from 20 after 30 (0 wanted)",
            "0 - to c at 60",
            "1 - to b at 10",
            "1 b to - from 50 after 0 (0 wanted)",
            "1 - to c at 60",
        ),
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2 member_left by a, 20 to 50 deleted, 2 to 1 members, 30 assigning + 0 late = 30, 0 moved, "
                "30 unowned, longest 30"
            ),
            "1 member_joined by c, 60 to 60 converged, 0 to 1 members, - moved",
        ),
        stays=(
            "0 consumer a joined at 10 (1), left at 20 (2)",
            "0 consumer b joined at 10 (1), group_deleted at 50 (2)",
            "1 consumer c joined at 60 (1), right_censored",
        ),
    ),
    Story(
        "what moves is summed over the assignments that can be compared",
        """
        10: 5 a, 3 1, 7 a +0+1, 6 1
        20: 5 b, 3 2, 7 a +0, 7 b +1, 6 2
        30: 3 3, 7 a, 7 b +0+1, 6 3, 8 a 3, 8 b 3 +0+1
        40: 3 4
        50: 8 a x, 7 a x, 5 a x, 8 b x, 7 b x, 5 b x, 3 5
        60: 5 c, 3 6, 7 c +0, 6 6, 8 c 6 +0
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 member_joined by b, 1 moved",
            "3 unknown, 1 moved",
            "4 unknown, - moved",
            "5 member_left by a b, - moved",
            "6 member_joined by c, - moved",
        ),
        rebalances=(
            (
                "1-3 member_joined+unknown by a b, 10 to 30 converged, 0 to 2 members, "
                "0 assigning + 20 late = 20, 2 moved, 40 unowned, longest 20, a unknown: 20 late, "
                "b unknown: 10 late"
            ),
            ("4-5 unknown+member_left by a b, 40 to 50 emptied, 2 to 2 members, 10 assigning + 0 late = 10, 0 moved"),
            "6 member_joined by c, 60 to 60 converged, 0 to 1 members, - moved",
        ),
    ),
    Story(
        "members that waited count, those that left too",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b, 6 1, 8 a 1 +0, 8 b 1
        20: 3 2, 7 a, 7 b +0, 6 2, 8 b 2 2
        30: 8 b x, 7 b x, 5 b x, 3 3
        40: 5 c, 3 4, 7 a +0, 7 c, 6 4, 8 c 4, 8 a 4 +0
        """,
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2-4 unknown+member_left+member_joined by b c, 20 to 40 converged, 2 to 2 members, "
                "10 assigning + 10 late = 20, 1 waited, 2 moved, a behind: 10 late 10 blocking 1"
            ),
        ),
    ),
    Story(
        "an upgrade goes on with the members of the classic group",
        """
        10: 2 6/a+b
        20: 2 x, 5 a *, 5 b *, 3 6, 7 a +0, 7 b +1, 6 6, 8 a 6 +0, 8 b 6 +1, 5 c, 3 7, 7 a, 7 c +0, 6 7, 8 c 7 2
        30: 8 a 7
        40: 8 b 7 +1
        50: 8 c 7 +0
        """,
        causes=(
            "6 upgraded by a b, - moved",
            "7 member_joined by c, 1 moved",
        ),
        rebalances=(
            "classic 6 unknown, - to 10 converged, - to 2 members, - moved",
            (
                "6-7 upgraded+member_joined by a b c, 20 to 50 converged, 2 to 3 members, "
                "0 assigning + 30 late = 30, 1 waited, 1 moved, 20 unowned, longest 20, b behind: 20 late, "
                "c waiting: 20 late, a behind: 10 late 10 blocking 1"
            ),
        ),
        stays=(
            "0 classic a joined at 10 (6), upgraded at 20 (7), may return",
            "0 classic b joined at 10 (6), upgraded at 20 (7), may return",
            "0 consumer a upgraded at 20 (7), right_censored",
            "0 consumer b upgraded at 20 (7), right_censored",
            "0 consumer c joined at 20 (7), right_censored",
        ),
        members=(
            "a behind 6 20 to 30 classic",
            "a reconciled 7 30 to - classic, right_censored",
            "b behind 6 20 to 40 classic",
            "b reconciled 7 40 to - classic, right_censored",
            "c waiting 7 20 to 50",
            "c reconciled 7 50 to -, right_censored",
        ),
    ),
    Story(
        "a downgrade ends the rebalance, and with members only",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 5 b, 3 2
        30: 8 a x, 7 a x, 8 b x, 6 x, 5 b x, 5 a x, 3 x, 2 2/a
        40: 2 3/a+c
        50: 2 4/0
        60: 2 x
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 20 assigned - converged - downgraded, 2 members",
        ),
        states=(
            "0 consumer Stable 10 to 20",
            "0 consumer Assigning 20 to 30",
            "1 classic Stable 30 to 50",
            "1 classic Empty 50 to 60",
        ),
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            "2 member_joined by b, 20 to 30 downgraded, 1 to 2 members, 10 assigning + 0 late = 10, 0 moved",
            "classic 2-3 downgraded+member_joined by c, - to 40 converged, - to 2 members, - moved",
            "classic 4 emptied, - to 50 emptied, 2 to 2 members, - moved",
        ),
        stays=(
            "0 consumer a joined at 10 (1), downgraded at 30 (2)",
            "0 consumer b joined at 20 (2), left at 30 (2)",
            "1 classic a downgraded at 30 (2), left at 50 (4)",
            "1 classic c joined at 40 (3), left at 50 (4)",
        ),
    ),
    Story(
        "an empty group that becomes a classic one was deleted",
        """
        10: 5 a, 3 1
        20: 8 a x, 7 a x, 6 x, 5 a x, 3 x, 2 0/0
        """,
        epochs=("0/1 bumped 10 assigned - converged - deleted, 1 members",),
        rebalances=("1 member_joined by a, 10 to 20 deleted, 0 to 1 members, 10 assigning + 0 late = 10, 0 moved",),
        stays=("0 consumer a joined at 10 (1), group_deleted at 20 (1)",),
    ),
    Story(
        "a static member of a classic group is replaced",
        """
        10: 2 1/a@i+b
        20: 2 1/c@i+b
        30: 2 2/b
        40: 2 3/b+c@i
        """,
        states=("0 classic Stable 10 to -, right_censored",),
        stays=(
            "0 classic a @i joined at 10 (1), replaced at 20 (1), may return",
            "0 classic b joined at 10 (1), right_censored",
            "0 classic c @i replaced at 20 (1), left at 30 (2), returned",
            "0 classic c @i joined at 40 (3), right_censored",
        ),
    ),
    Story(
        "a gap outlasts the rebalance: from Kafka 4.3 on, a converged member may own less than its target",
        """
        10: 5 a, 5 b, 3 2, 7 a +0+1, 7 b +2, 6 2, 8 a 2 +0+1, 8 b 2 +2
        20: 5 a, 3 3, 7 a +0+2, 7 b +1+3, 6 3
        24: 8 a 3 +0
        30: 8 b 3
        40: 3 4
        45: 7 a +0, 7 b +1+2+3, 6 4, 8 a 4 +0
        50: 8 b 4 +1+2
        60: 3 5, 7 b +1+2, 6 5, 8 a 5 +0
        65: 8 b 5 +1+2
        """,
        rebalances=(
            "2 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "3 unknown, 20 to 30 converged, 2 to 2 members, 0 assigning + 10 late = 10, 2 moved, "
                "16 unowned, longest 10, b behind: 10 late, a behind: 4 late"
            ),
            (
                "4 unknown, 40 to 50 converged, 2 to 2 members, 5 assigning + 5 late = 10, 1 moved, "
                "30 unowned, longest 10, b behind: 5 late"
            ),
            "5 unknown, 60 to 65 converged, 2 to 2 members, 0 assigning + 5 late = 5, 0 moved, b behind: 5 late",
        ),
        handovers=(
            "0 - to a at 10",
            "1 - to a at 10",
            "1 a to b at 50 after 26 (26 wanted)",
            "2 - to b at 10",
            "2 b to b at 50 after 20 (20 wanted)",
        ),
    ),
    Story(
        "another broker leads the partition after the rebalance",
        """
        10: 5 a ^3, 3 1 ^3, 7 a ^3, 6 1 ^3, 8 a 1 ^3
        30: 3 2 ^4, 7 a ^4, 6 2 ^4, 8 a 2 ^4
        40: 5 a x ^5, 3 3 ^5
        """,
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            "2 unknown, 30 to 30 converged, 1 to 1 members, 0 moved",
            "3 member_left by a, 40 to 40 emptied, 1 to 1 members, 0 moved",
        ),
    ),
    Story(
        "another broker writes a type 2 with the timestamp of the downgrade before it",
        """
        10: 5 a ^3, 3 1 ^3, 7 a ^3, 6 1 ^3
        20: 5 a x ^3, 6 x ^3, 3 x ^3, 2 1/b ^3, 2 2/b ^4
        """,
        rebalances=(
            (
                "1 member_joined by a, 10 to 20 downgraded, 0 to 1 members, 0 assigning + 10 late = 10, - moved, "
                "a unknown: 10 late"
            ),
            "classic 1-2 downgraded+follow_up, - to 20 converged, 0 to 1 members, - moved, leader changed",
        ),
    ),
    Story(
        "another broker leads the partition in between",
        """
        10: 5 a ^3, 3 1 ^3, 7 a ^3, 6 1 ^3, 8 a 1 2 ^3
        30: 8 a 1 ^4
        40: 3 2 ^4, 7 a ^4, 6 2 ^4, 8 a 2 ^4
        """,
        rebalances=(
            (
                "1 member_joined by a, 10 to 30 converged, 0 to 1 members, 0 assigning + 20 late = 20, "
                "1 waited, - moved, a waiting: 20 late, leader changed"
            ),
            "2 unknown, 40 to 40 converged, 1 to 1 members, 0 moved",
        ),
    ),
    Story(
        "a clock that goes back inside a rebalance counts as no time",
        """
        100: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 2
        150: 8 a 1 2
        120: 8 a 1 2
        160: 8 a 1 +0
        170: 3 2, 7 a +0, 6 2, 8 a 2 +0
        """,
        epochs=(
            "0/1 bumped 100 assigned 100 converged 160 converged, 1 members, clock skew",
            "0/2 bumped 170 assigned 170 converged 170 converged, 1 members",
        ),
        lags=(
            "1 a reconciled in 60, waited 90, clock skew",
            "2 a reconciled in 0",
        ),
        states=(
            "0 consumer Reconciling 100 to 160, clock skew",
            "0 consumer Stable 160 to -, right_censored",
        ),
        rebalances=(
            (
                "1 member_joined by a, 100 to 160 converged, 0 to 1 members, 0 assigning + 90 late = 60, "
                "1 waited, - moved, 90 unowned, longest 90, a waiting: 90 late, clock skew"
            ),
            "2 unknown, 170 to 170 converged, 1 to 1 members, 0 moved",
        ),
        members=(
            "a waiting 1 100 to 160",
            "a reconciled 1 160 to 170",
            "a reconciled 2 170 to -, right_censored",
        ),
    ),
    Story(
        "static members are replaced, expire, or leave; others are fenced and return",
        """
        10: 5 a @i, 5 b @j, 5 c, 3 1, 7 a +0, 7 b +1, 7 c +2, 6 1, 8 a 1 +0, 8 b 1 +1, 8 c 1 +2
        20: 8 a -2 +0
        30: 8 b -2 +1
        60: 8 a x, 7 a x, 5 a x, 5 d @i, 7 d +0, 8 d 0 +0, 8 d 1 +0
        80: 8 b x, 7 b x, 5 b x, 3 2
        90: 8 c x, 7 c x, 5 c x, 3 3
        95: 5 c, 3 4, 7 c, 7 d, 6 4, 8 c 4
        99: 8 d 4
        """,
        handovers=(
            "0 - to a at 10",
            "0 a to d at 60 after 40 (40 wanted)",
            "0 d to - from 99 after 0",
            "1 - to b at 10",
            "1 b to - from 30 after 65 (50 wanted)",
            "2 - to c at 10",
            "2 c to - from 90 after 5 (0 wanted)",
        ),
        stays=(
            "0 consumer a @i joined at 10 (1), replaced at 60 (1), may return, 40 away",
            "0 consumer b @j joined at 10 (1), expired at 80 (2), may return, 50 away",
            "0 consumer c joined at 10 (1), left at 90 (3), returned",
            "0 consumer d @i replaced at 60 (1), right_censored",
            "0 consumer c joined at 95 (4), right_censored",
        ),
    ),
    Story(
        "a tombstone ends a stay at once, also where the same id follows in its operation",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 8 a x, 7 a x, 5 a x, 5 a, 3 2, 7 a, 6 2, 8 a 2
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 member_joined by a, 0 moved",
        ),
        lags=(
            "1 a reconciled in 0",
            "2 a reconciled in 0",
        ),
        stays=(
            "0 consumer a joined at 10 (1), left at 20 (2), returned",
            "0 consumer a joined at 20 (2), right_censored",
        ),
        members=(
            "a reconciled 1 10 to 20",
            "a reconciled 2 20 to -, right_censored",
        ),
    ),
    Story(
        "a member that writes its type 5 again stays, and is what it wrote last",
        """
        10: 5 a ~t, 3 1, 7 a, 6 1, 8 a 1
        20: 5 a ~t
        30: 5 a ~u, 3 2, 7 a, 6 2, 8 a 2
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 subscription_changed by a, 0 moved",
        ),
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            "2 subscription_changed by a, 30 to 30 converged, 1 to 1 members, 0 moved",
        ),
        stays=("0 consumer a joined at 10 (1), right_censored",),
    ),
    Story(
        "another regular expression is another subscription",
        """
        10: 5 a %r, 3 1, 7 a, 6 1, 8 a 1
        30: 5 a %s, 3 2, 7 a, 6 2, 8 a 2
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 subscription_changed by a, 0 moved",
        ),
    ),
    Story(
        "a member without a type 8 is in no state, and one that is silent is behind",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 5 b, 3 2
        30: 7 a, 7 b, 6 2
        40: 8 b 2
        70: 8 a 2
        """,
        states=(
            "0 consumer Stable 10 to 20",
            "0 consumer Assigning 20 to 30",
            "0 consumer Reconciling 30 to 70",
            "0 consumer Stable 70 to -, right_censored",
        ),
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            (
                "2 member_joined by b, 20 to 70 converged, 1 to 2 members, 10 assigning + 40 late = 50, "
                "0 moved, a behind: 40 late, b unknown: 10 late"
            ),
        ),
        members=(
            "a reconciled 1 10 to 30",
            "a behind 1 30 to 70",
            "a reconciled 2 70 to -, right_censored",
            "b unknown - 20 to 40",
            "b reconciled 2 40 to -, right_censored",
        ),
    ),
    Story(
        "a partition that two members own, until one gives it up",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b +1, 6 1, 8 a 1 +0, 8 b 1 +1
        20: 8 b 1 +0+1
        30: 8 a 1 +0
        40: 8 a 1
        50: 8 b 1 +1
        """,
        handovers=(
            "0 - to a at 10",
            "0 a to b at 20 after -, left_censored",
            "0 b to - from 50 after 950 (950 wanted), right_censored",
            "1 - to b at 10",
        ),
        anomalies=(
            (
                "record_not_loadable of b at 8: a record that can be replayed, "
                "seen another member has the partition at the same epoch or a later one"
            ),
            "two_owners of b at 8: one owner of each partition, seen t0-0 also of a",
            "two_owners of a at 9: one owner of each partition, seen t0-0 also of b",
        ),
    ),
    Story(
        "member epochs and assignment epochs that go back",
        """
        10: 5 a, 3 5, 7 a, 6 5, 8 a 5
        20: 8 a 4
        30: 7 a, 6 4
        40: 8 a -2
        50: 8 a 4
        60: 3 5
        """,
        anomalies=(
            "epoch_went_back of a at 5: an epoch of at least 5, seen 4",
            "epoch_went_back at 7: an epoch of at least 5, seen 4",
        ),
    ),
    Story(
        "a group epoch that goes back: nothing is proven of what came before",
        """
        10: 5 a, 3 5, 7 a, 6 5, 8 a 5
        20: 8 a 4
        30: 3 4
        40: 3 4
        50: 8 a 3
        """,
        epochs=(
            "0/5 bumped 10 assigned 10 converged - -, 1 members, left_censored",
            "0/4 bumped 30 assigned - converged - open, 1 members, right_censored",
        ),
        anomalies=(
            "epoch_went_back of a at 5: an epoch of at least 5, seen 4, not proven",
            "epoch_went_back at 6: an epoch of at least 5, seen 4",
            "epoch_went_back of a at 8: an epoch of at least 4, seen 3",
        ),
    ),
    Story(
        "epochs that are ahead",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 2
        20: 7 a, 6 3
        """,
        anomalies=(
            "member_epoch_ahead of a at 4: a member epoch of at most 1, seen 2",
            "assignment_ahead at 6: an assignment epoch of at most 1, seen 3",
        ),
    ),
    Story(
        "a partition in two targets",
        """
        10: 5 a, 5 b, 3 1, 7 a +0+1+2, 7 b +1+2, 6 1
        20: 7 b +2
        30: 3 2, 7 b +2, 6 2
        """,
        causes=(
            "1 member_joined by a b, - moved",
            "2 unknown, 1 moved",
        ),
        anomalies=(
            "target_overlap at 5: each partition in one target, seen t0-1 in the targets of a, b, and 1 more",
            "target_overlap at 9: each partition in one target, seen t0-2 in the targets of a, b",
        ),
    ),
    Story(
        "what a coordinator does not load",
        """
        10: 5 a, 5 b, 3 1, 7 a, 7 b, 6 1, 8 a 1, 8 b 1
        20: 5 a x
        30: 8 b x, 5 b x
        40: 6 x
        50: 5 c, 3 2
        60: 3 x
        70: 2 1/a
        80: 5 d
        """,
        anomalies=(  # the load ends there
            (
                "record_not_loadable of a at 8: a record that can be replayed, "
                "seen the member is deleted before its current assignment"
            ),
        ),
    ),
    Story(
        "normal, and no anomaly",
        """
        10: 5 a @i, 3 2, 7 a, 6 2, 8 a 0, 8 a 2
        20: 5 a @i
        30: 16 r ~t
        40: 16 r ~t
        50: 3 3
        60: 3 4
        70: 7 a, 6 4, 8 a 4
        80: 8 a -2
        90: 8 a x, 7 a x, 5 a x, 5 b @i, 7 b, 8 b 0, 8 b 4
        95: 8 b x, 7 b x, 5 b x, 3 5
        """,
        anomalies=(),
    ),
    Story(
        "a partition whose member left before it took it is unowned until another takes it",
        """
        10: 5 a, 5 b, 3 1, 7 a, 7 b, 6 1, 8 a 1, 8 b 1
        20: 5 b, 3 2, 7 b +0, 6 2
        40: 7 b x, 8 b x, 5 b x, 3 3
        70: 7 a +0, 6 3, 8 a 3 +0
        """,
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2-3 unknown+member_left by b, 20 to 70 converged, 2 to 1 members, 30 assigning + 20 late = 50, "
                "1 moved, 50 unowned, longest 50, a behind: 20 late, b behind: 20 late"
            ),
        ),
    ),
    Story(
        "or until an assignment gives it to no member",
        """
        10: 5 a, 5 b, 3 1, 7 a, 7 b, 6 1, 8 a 1, 8 b 1
        20: 5 b, 3 2, 7 b +0, 6 2
        40: 7 b x, 8 b x, 5 b x, 3 3
        70: 6 3
        80: 8 a 3
        """,
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2-3 unknown+member_left by b, 20 to 80 converged, 2 to 1 members, 30 assigning + 30 late = 60, "
                "0 moved, 50 unowned, longest 50, a behind: 30 late, b behind: 20 late"
            ),
        ),
    ),
    Story(
        "in a downgrade the targets of all members count",
        """
        10: 5 a *, 5 b, 3 1, 7 a +0, 7 b, 6 1, 8 a 1 +0, 8 b 1
        20: 3 2, 7 b +0, 7 a, 6 2
        30: 8 a x, 8 b x, 7 a x, 7 b x, 6 x, 5 a x, 5 b x, 3 x, 2 7/a
        """,
        handovers=("0 - to a at 10",),
    ),
    Story(
        "the state of a blocker is its last one, also while the group is Assigning",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b, 6 1, 8 a 1 +0, 8 b 1
        20: 3 2, 7 a, 7 b +0, 6 2, 8 b 2 2
        30: 3 3
        40: 8 a 1 1 !0
        50: 8 a 2
        60: 6 3, 8 a 3, 8 b 3 +0
        """,
        rebalances=(
            "1 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "2-3 unknown, 20 to 60 converged, 2 to 2 members, 30 assigning + 10 late = 40, 1 waited, 1 moved, "
                "10 unowned, longest 10, a revoking: 10 late 30 blocking 1 10 revoking"
            ),
        ),
    ),
    Story(
        "a member that takes what another awaited until the same operation did not hold that one up",
        """
        10: 5 a, 5 b, 5 c, 5 d, 3 1, 7 a +0, 7 b, 7 c +1, 7 d, 6 1, 8 a 1 +0, 8 b 1, 8 c 1 +1, 8 d 1
        20: 3 2, 7 a, 7 b +0, 7 c, 7 d +1, 6 2, 8 b 2 2
        25: 8 d 2 2
        30: 8 a 2
        35: 8 c 2
        45: 3 3, 7 b, 7 c +0, 6 3, 8 c 3 +0
        50: 8 a 3
        55: 8 b 3
        60: 8 d 2 +1
        70: 8 d 3 +1
        """,
        rebalances=(
            "1 member_joined by a b c d, 10 to 10 converged, 0 to 4 members, - moved",
            (
                "2-3 unknown, 20 to 70 converged, 4 to 4 members, 0 assigning + 50 late = 50, 2 waited, 3 moved, "
                "40 unowned, longest 25, d behind: 40 late, b waiting: 25 late, a behind: 15 late 10 blocking 1, "
                "c behind: 15 late 10 blocking 1"
            ),
        ),
    ),
)
