"""What is known where records are missing: each rule in a story of a few lines."""

from tests.replay.stories import PARTIAL, Story, complete_between

STORIES = (
    Story(
        "what compaction left is one operation, and is judged once: nothing ends in it",
        """
        10: 5 a, 5 b, 3 4 #1
        20: 7 a +0, 7 b +1, 6 4
        30: 8 a 4 +0
        40: 8 b 4 +1
        ......
        100: 5 c, 3 5 #2, 7 b, 7 c +1, 6 5, 8 c 5 2
        120: 8 b 5
        130: 8 c 5 +1, 8 a 5 +0
        """,
        epochs=(
            "0/4 bumped 10 assigned 20 converged - -, 2 members, left_censored",
            "0/5 bumped 100 assigned 100 converged 130 converged, 3 members",
        ),
        causes=(
            "4 unknown, metadata ? - moved",
            "5 member_joined by c, metadata ? - moved",
        ),
        lags=(
            "4 a - in -, left_censored",
            "4 b - in -, left_censored",
            "5 a reconciled in 30",
            "5 b reconciled in 20",
            "5 c reconciled in 30, waited 30 for b",
        ),
        handovers=("1 b to c at 130 after 10 (10 wanted)",),
        states=(
            "0 consumer Stable 40 to 100, left_censored",
            "0 consumer Reconciling 100 to 130",
            "0 consumer Stable 130 to -, right_censored",
        ),
        rebalances=(
            "4 unknown, 10 to - -, - to - members, - moved, left_censored",
            (
                "5 member_joined by c, 100 to 130 converged, 2 to 3 members, 0 assigning + 30 late = 30, "
                "1 waited, - moved, 10 unowned, longest 10, a behind: 30 late, "
                "b behind: 20 late 20 blocking 1, c waiting: 10 late"
            ),
        ),
        stays=(
            "0 consumer a - at 10 (-), censored",
            "0 consumer b - at 10 (-), censored",
            "0 consumer c joined at 100 (5), right_censored",
        ),
        members=(
            "a reconciled 4 40 to 100, left_censored",
            "a behind 4 100 to 130",
            "a reconciled 5 130 to -, right_censored",
            "b reconciled 4 40 to 100, left_censored",
            "b behind 4 100 to 120",
            "b reconciled 5 120 to -, right_censored",
            "c waiting 5 100 to 130",
            "c reconciled 5 130 to -, right_censored",
        ),
        last="consumer Stable 5/5, 3 members since 130",
        coverage=complete_between((12, 1000)),
    ),
    Story(
        "what is open there began before",
        """
        10: 5 a, 5 b, 3 4
        20: 7 a +0, 7 b +1, 6 4
        30: 8 a 4 +0
        40: 8 b 4 2
        ......
        100: 8 b 4 +1
        110: 3 5
        120: 7 a +0, 7 b +1, 6 5, 8 a 5 +0, 8 b 5 +1
        """,
        epochs=(
            "0/4 bumped 10 assigned 20 converged 100 converged, 2 members, left_censored",
            "0/5 bumped 110 assigned 120 converged 120 converged, 2 members",
        ),
        lags=(
            "4 a - in -, left_censored",
            "4 b reconciled in 90, waited 60, left_censored",
            "5 a reconciled in 10",
            "5 b reconciled in 10",
        ),
        handovers=("1 - to b at 100, left_censored",),
        states=(
            "0 consumer Reconciling 40 to 100, left_censored",
            "0 consumer Stable 100 to 110",
            "0 consumer Assigning 110 to 120",
            "0 consumer Stable 120 to -, right_censored",
        ),
        rebalances=(
            (
                "4 unknown, 10 to 100 converged, - to 2 members, 0 assigning + 60 late = 90, 1 waited, "
                "- moved, 60 unowned, longest 60, b waiting: 60 late, left_censored"
            ),
            "5 unknown, 110 to 120 converged, 2 to 2 members, 10 assigning + 0 late = 10, - moved",
        ),
        stays=(
            "0 consumer a - at 10 (-), censored",
            "0 consumer b - at 10 (-), censored",
        ),
        members=(
            "a reconciled 4 40 to 120, left_censored",
            "a reconciled 5 120 to -, right_censored",
            "b waiting 4 40 to 100, left_censored",
            "b reconciled 4 100 to 120",
            "b reconciled 5 120 to -, right_censored",
        ),
        last="consumer Stable 5/5, 2 members since 120",
        coverage=complete_between((12, 1000)),
    ),
    Story(
        "an assignment that is not written yet is open there too",
        """
        10: 5 a, 3 4
        ......
        100: 7 a, 6 4, 8 a 4
        """,
        epochs=("0/4 bumped 10 assigned 100 converged 100 converged, 1 members, left_censored",),
        lags=("4 a reconciled in 90, left_censored",),
        states=(
            "0 consumer Assigning 10 to 100, left_censored",
            "0 consumer Stable 100 to -, right_censored",
        ),
        rebalances=(
            "4 unknown, 10 to 100 converged, - to 1 members, 90 assigning + 0 late = 90, - moved, left_censored",
        ),
        coverage=complete_between((5, 1000)),
    ),
    Story(
        "a member that is away is not what an epoch waits for",
        """
        10: 5 a @i, 3 4, 7 a +0, 6 4, 8 a -2 +0
        ......
        100: 8 a x, 7 a x, 5 a x, 5 b @i, 7 b +0, 8 b 0 +0, 8 b 4 +0
        """,
        epochs=("0/4 bumped 10 assigned 10 converged - -, 1 members, left_censored",),
        lags=("4 a left in -, left_censored",),
        handovers=("0 a to b at 100 after 90 (90 wanted), left_censored",),
        states=(
            "0 consumer Reconciling 10 to 100, left_censored",
            "0 consumer Stable 100 to -, right_censored",
        ),
        rebalances=("4 unknown, 10 to - -, - to - members, - moved, left_censored",),
        stays=(
            "0 consumer a @i - at 10 (-), replaced at 100 (4), may return, 90 away, left_censored",
            "0 consumer b @i replaced at 100 (4), right_censored",
        ),
        coverage=complete_between((8, 1000)),
    ),
    Story(
        "an operation that begins before lies before as a whole",
        """
        10: 5 a, 3 4, 7 a +0, 6 4, 8 a 4 +0
        20: 3 5, 7 a +0, 6 5, 8 a 5 +0
        30: 3 6, 7 a +0, 6 6, 8 a 6 +0
        """,
        epochs=(
            "0/4 bumped 10 assigned 10 converged - -, 1 members, left_censored",
            "0/5 bumped 20 assigned 20 converged - -, 1 members, left_censored",
            "0/6 bumped 30 assigned 30 converged 30 converged, 1 members",
        ),
        lags=(
            "5 a - in -, left_censored",
            "6 a reconciled in 0",
        ),
        states=("0 consumer Stable 20 to -, censored",),
        rebalances=(
            "4-5 unknown, 10 to - -, - to - members, - moved, left_censored",
            "6 unknown, 30 to 30 converged, 1 to 1 members, - moved",
        ),
        coverage=complete_between((6, 1000)),
    ),
    Story(
        "where the log is not known to be complete before its end, it is judged there",
        """
        10: 5 a, 3 4, 7 a +0, 6 4, 8 a 4 +0
        20: 5 b, 3 5, 7 b, 6 5
        30: 8 b 5
        """,
        epochs=(
            "0/4 bumped 10 assigned 10 converged - superseded by 5, 1 members, censored",
            "0/5 bumped 20 assigned 20 converged - open, 2 members, censored",
        ),
        lags=(
            "5 a open in 980, censored",
            "5 b - in -, left_censored",
        ),
        states=("0 consumer Reconciling 30 to -, censored",),
        rebalances=(
            (
                "4-5 unknown, 10 to - open, - to 2 members, 0 assigning + 970 late = 990, - moved, "
                "a behind: 970 late, censored"
            ),
        ),
        members=(
            "a behind 4 30 to -, censored",
            "b reconciled 5 30 to -, censored",
        ),
        last="consumer Reconciling 5/5, 2 members since 30, censored",
        history=PARTIAL,
    ),
    Story(
        "a member that left before has no end, and a lone tombstone is no stay",
        """
        10: 5 a, 3 4
        20: 5 a x, 5 b x, 5 c
        ......
        100: 5 d x, 3 5
        """,
        causes=(
            "4 unknown, metadata ? - moved",
            "5 member_left by d, metadata ? - moved",
        ),
        states=("0 consumer Assigning 20 to -, censored",),
        stays=(
            "0 consumer a - at 10 (-), - at - (-), may return, left_censored",
            "0 consumer d - at - (-), left at 100 (5), may return, left_censored",
            "0 consumer c - at 20 (-), censored",
        ),
        coverage=complete_between((6, 1000)),
    ),
    Story(
        "a group that has no record before is complete",
        """
        ......
        100: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 +0
        """,
        epochs=("0/1 bumped 100 assigned 100 converged 100 converged, 1 members",),
        lags=("1 a reconciled in 0",),
        handovers=("0 - to a at 100",),
        states=("0 consumer Stable 100 to -, right_censored",),
        stays=("0 consumer a joined at 100 (1), right_censored",),
        last="consumer Stable 1/1, 1 members since 100",
        coverage=complete_between((5, 1000)),
    ),
    Story(
        "what is compared with an assignment before has no number",
        """
        10: 5 a ~t, 3 4 #1, 7 a +0+1, 6 4, 8 a 4 +0+1
        ......
        100: 3 5 #2, 7 a +0, 6 5, 8 a 5 +0
        110: 3 6 #3, 7 a +0, 6 6, 8 a 6 +0
        """,
        epochs=(
            "0/4 bumped 10 assigned 10 converged - -, 1 members, left_censored",
            "0/5 bumped 100 assigned 100 converged 100 converged, 1 members",
            "0/6 bumped 110 assigned 110 converged 110 converged, 1 members",
        ),
        causes=(
            "4 unknown, metadata ? - moved",
            "5 unknown, metadata ? - moved",
            "6 topic_metadata_changed, metadata changed 0 moved",
        ),
        rebalances=(
            "4 unknown, 10 to - -, - to - members, - moved, left_censored",
            "5 unknown, 100 to 100 converged, 1 to 1 members, - moved",
            "6 topic_metadata_changed, 110 to 110 converged, 1 to 1 members, 0 moved",
        ),
        coverage=complete_between((8, 1000)),
    ),
    Story(
        "before, a member is known to be new by its first epoch only",
        """
        10: 5 a, 3 4, 8 a 4 <0
        20: 5 b, 3 5, 8 b 4 <3
        ......
        100: 5 c, 3 6, 8 c 5 <3
        """,
        causes=(
            "4 member_joined by a, metadata ? - moved",
            "5 unknown, metadata ? - moved",
            "6 member_joined by c, metadata ? - moved",
        ),
        coverage=complete_between((8, 1000)),
    ),
    Story(
        "a jump of epochs: what came before is not complete, and what was judged there is taken back",
        """
        10: 5 a ~t, 3 1, 7 a +0, 6 1, 8 a 1 +0
        20: 3 2 #1, 7 a +0+1, 6 2, 8 a 2 +0+1
        30: 5 b, 3 3
        40: 3 7, 7 b +1, 7 a +0, 6 7, 8 b 7 2
        50: 8 a 7 +0
        60: 8 b 7 +1
        70: 5 c, 3 8
        80: 7 c, 6 8, 8 c 8, 8 a 8 +0, 8 b 8 +1
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged - -, 1 members, left_censored",
            "0/2 bumped 20 assigned 20 converged - -, 1 members, left_censored",
            "0/3 bumped 30 assigned 40 converged 60 superseded by 7, 2 members, left_censored",
            "0/7 bumped 40 assigned 40 converged 60 converged, 2 members",
            "0/8 bumped 70 assigned 80 converged 80 converged, 3 members",
        ),
        causes=(
            "1 unknown, metadata ? - moved",
            "2 unknown, metadata ? - moved",
            "3 unknown, metadata ? - moved",
            "7 unknown, metadata ? - moved",
            "8 member_joined by c, 0 moved",
        ),
        lags=(
            "1 a - in -, left_censored",
            "2 a - in -, left_censored",
            "7 a reconciled in 20, left_censored",
            "7 b reconciled in 30, waited 20 for a, left_censored",
            "8 a reconciled in 10",
            "8 b reconciled in 10",
            "8 c reconciled in 10",
        ),
        handovers=("1 a to b at 60 after 10 (10 wanted)",),
        states=(
            "0 consumer Assigning 30 to 40, left_censored",
            "0 consumer Reconciling 40 to 60",
            "0 consumer Stable 60 to 70",
            "0 consumer Assigning 70 to 80",
            "0 consumer Stable 80 to -, right_censored",
        ),
        rebalances=(
            "1 unknown, 10 to - -, - to - members, - moved, left_censored",
            "2 unknown, 20 to - -, - to - members, - moved, left_censored",
            (
                "3-7 unknown, 30 to 60 converged, - to 2 members, 10 assigning + 20 late = 30, 1 waited, "
                "- moved, 10 unowned, longest 10, a behind: 10 late 10 blocking 1, b waiting: 10 late, "
                "left_censored"
            ),
            "8 member_joined by c, 70 to 80 converged, 2 to 3 members, 10 assigning + 0 late = 10, 0 moved",
        ),
        stays=(
            "0 consumer a - at 10 (-), censored",
            "0 consumer b - at 30 (-), censored",
            "0 consumer c joined at 70 (8), right_censored",
        ),
        members=(
            "a reconciled 2 30 to 40, left_censored",
            "a behind 2 40 to 50",
            "a reconciled 7 50 to 80",
            "a reconciled 8 80 to -, right_censored",
            "b unknown - 30 to 40, left_censored",
            "b waiting 7 40 to 60",
            "b reconciled 7 60 to 80",
            "b reconciled 8 80 to -, right_censored",
            "c unknown - 70 to 80",
            "c reconciled 8 80 to -, right_censored",
        ),
        last="consumer Stable 8/8, 3 members since 80",
    ),
    Story(
        "an operation in which epochs jump lies before, unless it begins with the type 3",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 5 b, 3 5, 7 b, 6 5, 8 b 5, 8 a 5
        30: 3 6, 6 6, 8 a 6, 8 b 6
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged - -, 1 members, left_censored",
            "0/5 bumped 20 assigned 20 converged - -, 2 members, left_censored",
            "0/6 bumped 30 assigned 30 converged 30 converged, 2 members",
        ),
        lags=(
            "1 a - in -, left_censored",
            "5 a - in -, left_censored",
            "5 b - in -, left_censored",
            "6 a reconciled in 0",
            "6 b reconciled in 0",
        ),
        states=("0 consumer Stable 20 to -, censored",),
        rebalances=(
            "1 unknown, 10 to - -, - to - members, - moved, left_censored",
            "5 unknown, 20 to - -, - to - members, - moved, left_censored",
            "6 unknown, 30 to 30 converged, 2 to 2 members, - moved",
        ),
        stays=(
            "0 consumer a - at 10 (-), censored",
            "0 consumer b - at 20 (-), censored",
        ),
    ),
    Story(
        "a log that was compacted between two reads is judged behind each of them",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 +0
        .....
        50: 5 b, 3 2, 7 a, 7 b +0, 6 2
        ......
        100: 8 b 2 2
        110: 8 a 2
        120: 8 b 2 +0
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 50 assigned 50 converged 120 converged, 2 members, left_censored",
        ),
        lags=(
            "1 a reconciled in 0",
            "2 a reconciled in 60, left_censored",
            "2 b reconciled in 70, waited 20 for a, left_censored",
        ),
        handovers=(
            "0 - to a at 10",
            "0 a to b at 120 after 10 (10 wanted)",
        ),
        states=(
            "0 consumer Stable 10 to 50, left_censored",
            "0 consumer Reconciling 50 to 120, left_censored",
            "0 consumer Stable 120 to -, right_censored",
        ),
        rebalances=(
            "1 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            (
                "2 unknown, 50 to 120 converged, - to 2 members, 0 assigning + 70 late = 70, 1 waited, "
                "- moved, 10 unowned, longest 10, a behind: 60 late 10 blocking 1, b waiting: 60 late, "
                "left_censored"
            ),
        ),
        stays=(
            "0 consumer a joined at 10 (1), censored",
            "0 consumer b - at 50 (-), censored",
        ),
        last="consumer Stable 2/2, 2 members since 120",
        coverage=complete_between((0, 8), (18, 1000)),
    ),
    Story(
        "a group without a record in between is complete all the while",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 2
        ...............
        100: 8 a 1 +0
        """,
        epochs=("0/1 bumped 10 assigned 10 converged 100 converged, 1 members",),
        states=(
            "0 consumer Reconciling 10 to 100",
            "0 consumer Stable 100 to -, right_censored",
        ),
        rebalances=(
            (
                "1 member_joined by a, 10 to 100 converged, 0 to 1 members, 0 assigning + 90 late = 90, "
                "1 waited, - moved, 90 unowned, longest 90, a waiting: 90 late"
            ),
        ),
        last="consumer Stable 1/1, 1 members since 100",
        coverage=complete_between((0, 8), (18, 1000)),
    ),
    Story(
        "but not where tombstones may have been removed unseen",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 2
        ...............
        100: 8 a 1 +0
        """,
        epochs=("0/1 bumped 10 assigned 10 converged 100 converged, 1 members, left_censored",),
        states=(
            "0 consumer Reconciling 10 to 100, left_censored",
            "0 consumer Stable 100 to -, right_censored",
        ),
        rebalances=(
            (
                "1 member_joined by a, 10 to 100 converged, 0 to 1 members, 0 assigning + 90 late = 90, "
                "1 waited, - moved, 90 unowned, longest 90, a waiting: 90 late, left_censored"
            ),
        ),
        last="consumer Stable 1/1, 1 members since 100",
        coverage=complete_between((0, 8), (18, 1000), tombstone_gaps=(15,)),
    ),
    Story(
        "where the start of the log is missing nothing is known until the group is deleted",
        """
        10: 5 a, 3 4, 7 a +0, 6 4, 8 a 4 +0
        20: 5 b, 3 5, 7 b, 6 5, 8 a 5 +0
        30: 8 a x, 7 a x, 8 b x, 7 b x, 6 x, 5 a x, 5 b x, 3 x
        40: 5 c, 3 1, 7 c, 6 1, 8 c 1
        """,
        epochs=(
            "0/4 bumped 10 assigned 10 converged - -, 1 members, left_censored",
            "0/5 bumped 20 assigned 20 converged - -, 2 members, left_censored",
            "1/1 bumped 40 assigned 40 converged 40 converged, 1 members",
        ),
        lags=("1 c reconciled in 0",),
        handovers=(),
        states=(
            "0 consumer unknown 10 to 30, censored",
            "1 consumer Stable 40 to -, right_censored",
        ),
        rebalances=(
            "4-5 unknown, 10 to - -, - to - members, - moved, left_censored",
            "1 member_joined by c, 40 to 40 converged, 0 to 1 members, - moved",
        ),
        stays=(
            "0 consumer a - at 10 (-), - at - (-), may return, left_censored",
            "0 consumer b - at 20 (-), - at - (-), may return, left_censored",
            "1 consumer c joined at 40 (1), right_censored",
        ),
        members=("c reconciled 1 40 to -, right_censored",),
        last="consumer Stable 1/1, 1 members since 40",
        coverage=complete_between((0, 1000), log_start_missing=True),
    ),
    Story(
        "but all is known of a classic group",
        """
        10: 2 5/a+b
        20: 2 6/a
        """,
        states=("0 classic Stable 10 to -, censored",),
        stays=(
            "0 classic a joined at 10 (5), censored",
            "0 classic b joined at 10 (5), left at 20 (6), may return, left_censored",
        ),
        last="classic Stable generation 6, 1 members since 10, censored",
        coverage=complete_between((0, 1000), log_start_missing=True),
    ),
    Story(
        "a record that was lost: the state is not known from there on",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 2
        20: 8 a lost
        30: 3 2, 8 a 1 +0
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged - unknown, 1 members, censored",
            "0/2 bumped 30 assigned - converged - unknown, 1 members, censored",
        ),
        lags=("1 a unknown in -, waited 10, censored",),
        states=(
            "0 consumer Reconciling 10 to 20, censored",
            "0 consumer unknown 20 to -, censored",
        ),
        rebalances=(
            (
                "1-2 member_joined+unknown by a, 10 to - unknown, 0 to - members, 0 assigning + 10 late = 10, "
                "1 waited, - moved, 10 unowned, longest 10, a waiting: 10 late, censored"
            ),
        ),
        members=("a waiting 1 10 to 20, censored",),
        last="consumer unknown -/-, - members since 20, censored",
    ),
    Story(
        "until the group is deleted",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 2
        20: 8 a lost
        30: 8 a x, 7 a x, 6 x, 5 a x, 3 x
        40: 5 b, 3 1, 7 b, 6 1, 8 b 1
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged - -, 1 members, left_censored",
            "1/1 bumped 40 assigned 40 converged 40 converged, 1 members",
        ),
        lags=(
            "1 a unknown in -, waited 10, censored",
            "1 b reconciled in 0",
        ),
        states=(
            "0 consumer Reconciling 10 to 20, censored",
            "0 consumer unknown 20 to 30, censored",
            "1 consumer Stable 40 to -, right_censored",
        ),
        rebalances=(
            ("1 member_joined by a, 10 to - -, 0 to - members, 1 waited, - moved, a waiting: 10 late, left_censored"),
            "1 member_joined by b, 40 to 40 converged, 0 to 1 members, - moved",
        ),
        stays=(
            "0 consumer a joined at 10 (1), - at - (-), may return, left_censored",
            "1 consumer b joined at 40 (1), right_censored",
        ),
        last="consumer Stable 1/1, 1 members since 40",
    ),
    Story(
        "a type 2 that was lost was of a classic group, and the next one tells all",
        """
        10: 2 5/a
        20: 2 lost
        30: 2 6/a
        40: 2 7/0
        """,
        states=(
            "0 classic Stable 10 to 20, censored",
            "0 classic unknown 20 to 30, left_censored",
            "0 classic Stable 30 to 40, left_censored",
            "0 classic Empty 40 to -, censored",
        ),
        last="classic Empty generation 7, 0 members since 40, censored",
    ),
    Story(
        "bytes that were lost may be generations: when a member left or joined is unknown",
        """
        10: 2 5/a+b
        ......
        30: 2 6/a+c
        40: 2 7/a
        """,
        stays=(
            "0 classic a joined at 10 (5), censored",
            "0 classic b joined at 10 (5), - at - (-), may return, left_censored",
            "0 classic c - at 30 (-), left at 40 (7), may return, left_censored",
        ),
        last="classic Stable generation 7, 1 members since 30, censored",
        coverage=complete_between((0, 1000), first_loss=3, last_loss=4),
    ),
    Story(
        "unless records of a consumer group follow: it was the tombstone of an upgrade then",
        """
        10: 2 lost
        20: 5 a, 3 6, 7 a, 6 6, 8 a 6
        """,
        states=(
            "0 classic unknown 10 to 20, censored",
            "0 consumer unknown 20 to -, censored",
        ),
        last="consumer unknown -/-, - members since 20, censored",
    ),
    Story(
        "bytes that were lost may be of any group that is there",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 +0
        ......
        30: 3 2, 7 a +0, 6 2, 8 a 2 +0
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members, left_censored",
            "0/2 bumped 30 assigned 30 converged - unknown, 1 members, censored",
        ),
        states=(
            "0 consumer Stable 10 to 10, censored",
            "0 consumer unknown 10 to -, censored",
        ),
        last="consumer unknown -/-, - members since 10, censored",
        coverage=complete_between((0, 1000), first_loss=7, last_loss=8),
    ),
    Story(
        "also of one whose last record came before",
        "10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 +0",
        epochs=("0/1 bumped 10 assigned 10 converged 10 converged, 1 members, left_censored",),
        states=(
            "0 consumer Stable 10 to 10, censored",
            "0 consumer unknown 10 to -, censored",
        ),
        last="consumer unknown -/-, - members since 10, censored",
        coverage=complete_between((0, 1000), first_loss=7, last_loss=8),
    ),
    Story(
        "nor is all known of one that begins behind them",
        """
        ..........
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 +0
        """,
        epochs=("0/1 bumped 10 assigned 10 converged - unknown, 1 members, censored",),
        states=("0 consumer unknown 10 to -, censored",),
        last="consumer unknown -/-, - members since 10, censored",
        coverage=complete_between((0, 1000), first_loss=7, last_loss=8),
    ),
    Story(
        "what was lost before a deletion does not matter",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 +0
        ......
        30: 8 a x, 7 a x, 6 x, 5 a x, 3 x
        40: 5 b, 3 1, 7 b, 6 1, 8 b 1
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members, left_censored",
            "1/1 bumped 40 assigned 40 converged 40 converged, 1 members",
        ),
        states=(
            "0 consumer Stable 10 to 10, censored",
            "0 consumer unknown 10 to 30, censored",
            "1 consumer Stable 40 to -, right_censored",
        ),
        stays=(
            "0 consumer a joined at 10 (1), - at - (-), may return, left_censored",
            "1 consumer b joined at 40 (1), right_censored",
        ),
        last="consumer Stable 1/1, 1 members since 40",
        coverage=complete_between((0, 1000), first_loss=7, last_loss=8),
    ),
    Story(
        "where only a member that is away is not converged, nobody knows whether an epoch is open",
        """
        10: 5 a @i, 5 b, 3 4, 7 a +0, 7 b, 6 4, 8 a -2 +0, 8 b 4
        ......
        100: 3 5, 7 b +0, 7 a, 6 5, 8 b 5 +0
        120: 8 a x, 7 a x, 5 a x, 3 6
        130: 6 6, 8 b 6 +0
        140: 3 7, 6 7, 8 b 7 +0
        """,
        states=(
            "0 consumer Reconciling 10 to 120, left_censored",
            "0 consumer Assigning 120 to 130",
            "0 consumer Stable 130 to -, right_censored",
        ),
        rebalances=(
            "4 unknown, 10 to - -, - to - members, - moved, left_censored",
            (
                "5-6 unknown+member_left by a, 100 to 130 converged, 2 to 1 members, "
                "10 assigning + 20 late = 30, - moved, a away: 20 late 20 away, left_censored"
            ),
            "7 unknown, 140 to 140 converged, 1 to 1 members, 0 moved",
        ),
        coverage=complete_between((9, 1000)),
    ),
    Story(
        "what was open before a gap in the log and is not behind it has no end",
        """
        10: 5 a, 5 b, 5 c, 3 1, 7 a, 7 b, 7 c +0, 6 1, 8 a 1, 8 b 1 1, 8 c 1 2
        .....
        50: 8 b 1
        60: 5 d, 5 d x
        ......
        100: 8 c 1 +0
        """,
        epochs=("0/1 bumped 10 assigned 10 converged 100 converged, 3 members, left_censored",),
        lags=(
            "1 a reconciled in 0",
            "1 b - in -, left_censored",
            "1 c reconciled in 90, waited 90, left_censored",
        ),
        states=(
            "0 consumer Reconciling 60 to 100, left_censored",
            "0 consumer Stable 100 to -, right_censored",
        ),
        rebalances=(
            (
                "1 member_joined by a b c, 10 to 100 converged, 0 to 3 members, 0 assigning + 90 late = 90, "
                "1 waited, - moved, 90 unowned, longest 90, c waiting: 90 late, "
                "b revoking: 50 late 50 revoking, left_censored"
            ),
        ),
        stays=(
            "0 consumer a joined at 10 (1), censored",
            "0 consumer b joined at 10 (1), censored",
            "0 consumer c joined at 10 (1), censored",
            "0 consumer d - at 60 (-), - at - (-), may return, left_censored",
        ),
        members=(
            "a reconciled 1 60 to -, censored",
            "b revoking 1 10 to 60, left_censored",
            "b reconciled 1 60 to -, censored",
            "c waiting 1 60 to 100, left_censored",
            "c reconciled 1 100 to -, right_censored",
        ),
        coverage=complete_between((0, 12), (20, 1000)),
    ),
    Story(
        "nothing is found to contradict the protocol before",
        """
        10: 5 a, 5 b, 3 4, 7 a +0, 7 b +0, 6 4, 8 a 4 +0, 8 b 4 +0
        20: 8 a 3 +0
        ......
        100: 8 a 2
        """,
        anomalies=("epoch_went_back of a at 15: an epoch of at least 3, seen 2",),
        coverage=complete_between((10, 1000)),
    ),
    Story(
        "nor is it proven where records were lost later",
        """
        10: 5 a, 3 4, 7 a, 6 4, 8 a 4
        20: 8 a 3
        30: 8 a lost
        """,
        anomalies=("epoch_went_back of a at 5: an epoch of at least 4, seen 3, not proven",),
    ),
    Story(
        "the drafts take names or a regular expression, and versions of assignors",
        """
        10: 5 a ~t, 3 1
        20: 5 b %r, 3 2
        30: 5 c ~t %r, 3 3
        """,
        anomalies=("names_and_regex of c at 4: names or a regular expression, seen ('t',) and r",),
        dialect="kip-848",
    ),
    Story(
        "Kafka takes both",
        "10: 5 c ~t %r, 3 3",
        anomalies=(),
    ),
    Story(
        "what wrote no member states: nobody knows whether a member has reconciled",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1 -
        20: 5 b, 3 2, 7 b, 6 2, 8 b 2 -
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged - superseded by 2, 1 members, right_censored",
            "0/2 bumped 20 assigned 20 converged - open, 2 members, right_censored",
        ),
        lags=(
            "1 a unknown in - superseded, right_censored",
            "2 a unknown in -, behind since 10, right_censored",
            "2 b unknown in -, right_censored",
        ),
        states=("0 consumer unknown 10 to -, right_censored",),
        rebalances=(
            (
                "1-2 member_joined by a b, 10 to - open, 0 to 2 members, 0 assigning + 980 late = 990, "
                "0 moved, a unknown: 980 late, right_censored"
            ),
        ),
        members=(
            "a unknown 1 10 to -, right_censored",
            "b unknown 2 20 to -, right_censored",
        ),
        last="consumer unknown 2/2, 2 members since 10",
    ),
)
