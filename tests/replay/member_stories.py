"""Each rule of causes, lags and handovers in a story of a few lines."""

from tests.replay.stories import COMPACTED, PARTIAL, Story

STORIES = (
    Story(
        "a slow member holds up the one that gets its partition",
        """
        10: 5 a, 3 1, 7 a +0+1, 6 1, 8 a 1 +0+1
        20: 5 b, 3 2, 7 a +0, 7 b +1, 6 2, 8 b 2 2
        30: 8 a 1 1 +0 !1
        50: 8 a 2 +0
        60: 8 b 2 +1
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 member_joined by b, 1 moved",
        ),
        lags=(
            "1 a reconciled in 0",
            "2 a reconciled in 30, revoked 20",
            "2 b reconciled in 40, waited 40 for a",
        ),
        handovers=(
            "0 - to a at 10",
            "1 - to a at 10",
            "1 a to b at 60 after 10 (10 wanted)",
        ),
    ),
    Story(
        "what is pending revocation is owned",
        """
        10: 5 a, 3 1, 7 a +0+1, 6 1, 8 a 1 +0+1
        20: 5 b, 3 2, 7 a +0, 7 b +1, 6 2
        30: 8 a 1 1 +0 !1
        40: 8 b 2 2
        50: 8 a 2 +0
        60: 8 b 2 +1
        """,
        lags=(
            "1 a reconciled in 0",
            "2 a reconciled in 30, revoked 20",
            "2 b reconciled in 40, waited 20 for a",
        ),
        handovers=(
            "0 - to a at 10",
            "1 - to a at 10",
            "1 a to b at 60 after 10 (10 wanted)",
        ),
    ),
    Story(
        "what is open at the end names those who hold something still",
        """
        10: 5 a, 3 1, 7 a +0+1, 6 1, 8 a 1 +0+1
        20: 5 b, 3 2, 7 a +0, 7 b +1+2, 6 2, 8 b 2 2
        30: 8 a 1 1 +0 !1
        """,
        lags=(
            "1 a reconciled in 0",
            "2 a open in 980, revoked 970, right_censored",
            "2 b open in 980, waited 980 for a, awaits 1 of a, awaits 2 of -, right_censored",
        ),
    ),
    Story(
        "nobody blocks a member whose blocker has left",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 +0
        20: 5 b, 3 2, 7 a, 7 b +0, 6 2, 8 b 2 2
        30: 8 a x, 7 a x, 5 a x, 3 3
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 member_joined by b, 1 moved",
            "3 member_left by a, - moved",
        ),
        lags=(
            "1 a reconciled in 0",
            "2 a left in -",
            "2 b open in 980, waited 980, awaits 0 of - since 30, right_censored",
        ),
        handovers=(
            "0 - to a at 10",
            "0 a to - from 30 after 970 (970 wanted), right_censored",
        ),
    ),
    Story(
        "a member waits for one after the other",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b +1, 6 1, 8 a 1 +0, 8 b 1 +1
        20: 5 c, 3 2, 7 a, 7 b, 7 c +0+1, 6 2, 8 c 2 2
        30: 8 a 2
        40: 8 c 2 2 +0
        50: 8 b 2
        60: 8 c 2 +0+1
        """,
        lags=(
            "1 a reconciled in 0",
            "1 b reconciled in 0",
            "2 a reconciled in 10",
            "2 b reconciled in 30",
            "2 c reconciled in 40, waited 40 for a b",
        ),
        handovers=(
            "0 - to a at 10",
            "0 a to c at 40 after 10 (10 wanted)",
            "1 - to b at 10",
            "1 b to c at 60 after 10 (10 wanted)",
        ),
    ),
    Story(
        "one assignment answers several bumps, and one record may settle several assignments",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 5 b, 3 2
        30: 5 c, 3 3, 7 b, 7 c, 6 3, 8 c 3
        40: 5 d, 3 4, 7 d, 6 4, 8 d 4
        50: 8 a 4
        """,
        lags=(
            "1 a reconciled in 0",
            "3 a reconciled in 30 superseded",
            "3 b open in 980 superseded, right_censored",
            "3 c reconciled in 10",
            "4 a reconciled in 10, behind since 20",
            "4 b open in 960, behind since 20, right_censored",
            "4 c open in 960, right_censored",
            "4 d reconciled in 0",
        ),
    ),
    Story(
        "a member that left and comes back under its id is another one",
        """
        10: 5 a, 5 b, 3 1, 7 a, 7 b, 6 1, 8 b 1
        20: 5 a x, 3 2
        30: 5 a, 3 3, 7 a, 7 b, 6 3, 8 a 3
        40: 8 b 3
        """,
        lags=(
            "1 a left in -",
            "1 b reconciled in 0",
            "3 a reconciled in 10",
            "3 b reconciled in 20",
        ),
    ),
    Story(
        "an upgrade: each assignment of an operation has its rows, for the members at its end",
        """
        10: 2 6/a
        20: 2 x, 5 a *, 3 6, 7 a +0, 6 6, 8 a 6 +0, 5 b, 3 7, 7 a, 7 b +0, 6 7, 8 b 7 2
        30: 8 a 7
        40: 8 b 7 +0
        """,
        causes=(
            "6 upgraded by a, - moved",
            "7 member_joined by b, 1 moved",
        ),
        lags=(
            "6 a reconciled in 0 superseded",
            "6 b reconciled in 20 superseded, waited 20 for a",
            "7 a reconciled in 10",
            "7 b reconciled in 20, waited 20 for a",
        ),
    ),
    Story(
        "a static member that went away released its partitions then, and is one owner under two ids",
        """
        10: 5 a @i, 3 1, 7 a +0, 6 1, 8 a 1 +0
        20: 8 a -2 +0
        50: 8 a x, 7 a x, 5 a x, 5 b @i, 3 2, 7 b +0, 6 2, 8 b 0 +0, 8 b 2 +0
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 static_member_replaced by b, 0 moved",
        ),
        lags=(
            "1 a reconciled in 0",
            "2 b reconciled in 0",
        ),
        handovers=(
            "0 - to a at 10",
            "0 a to b at 50 after 30 (30 wanted)",
        ),
    ),
    Story(
        "a static member of a classic group that comes back with the consumer protocol upgrades the group",
        """
        10: 2 1/a@i
        20: 2 x, 5 a @i *, 3 1, 7 a +0, 6 1, 8 a 1 +0, 8 a x, 7 a x, 5 a x, 5 b @i, 3 2, 7 b +0, 6 2, 8 b 2 +0
        """,
        causes=(
            "1 upgraded by a, - moved",
            "2 static_member_replaced by b, 0 moved",
        ),
        stays=(
            "0 classic a @i joined at 10 (1), upgraded at 20 (2), may return",
            "0 consumer a @i upgraded at 20 (2), replaced at 20 (2), may return",
            "0 consumer b @i replaced at 20 (2), right_censored",
        ),
    ),
    Story(
        "a static member that was away may come back under its member id",
        """
        10: 5 a @i ~t, 3 1, 7 a +0, 6 1, 8 a 1 +0
        20: 8 a -2 +0
        50: 8 a x, 7 a x, 5 a x, 5 a @i ~t, 7 a +0, 8 a 0 +0, 8 a 1 +0
        60: 8 a -2 +0
        80: 8 a x, 7 a x, 5 a x, 5 a @i ~u, 7 a +0, 8 a 0 +0, 3 2, 7 a +1, 6 2, 8 a 2 +1
        90: 8 a -2 +1
        95: 8 a x, 7 a x, 5 a x, 3 3
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 subscription_changed by a, 0 moved",
            "3 member_left by a, - moved",
        ),
        stays=(
            "0 consumer a @i joined at 10 (1), replaced at 50 (1), returned, 30 away",
            "0 consumer a @i replaced at 50 (1), replaced at 80 (2), returned, 20 away",
            "0 consumer a @i replaced at 80 (2), expired at 95 (3), may return, 5 away",
        ),
        handovers=(
            "0 - to a at 10",
            "0 a to a at 50 after 30 (30 wanted)",
            "0 a to - from 60 after 20 (20 wanted)",
            "1 - to a at 80",
            "1 a to - from 90 after 5 (5 wanted)",
        ),
    ),
    Story(
        "a static member may come back with another subscription",
        """
        10: 5 a @i ~t, 3 1
        20: 8 a x, 7 a x, 5 a x, 5 b @i ~u, 3 2
        30: 5 b @i ~t, 3 3
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 subscription_changed by b, - moved",
            "3 subscription_changed by b, - moved",
        ),
    ),
    Story(
        "one that is away blocks whoever waits for what it had",
        """
        10: 5 a @i, 5 b, 3 1, 7 a +0, 7 b, 6 1, 8 a 1 +0, 8 b 1
        20: 8 a -2 +0
        30: 3 2, 7 a, 7 b +0, 6 2
        40: 8 b 2 2
        """,
        causes=(
            "1 member_joined by a b, - moved",
            "2 unknown, 1 moved",
        ),
        lags=(
            "1 a reconciled in 0",
            "1 b reconciled in 0",
            "2 a open in 970, right_censored",
            "2 b open in 970, waited 960 for a, awaits 0 of a, right_censored",
        ),
    ),
    Story(
        "nothing is pending of a static member that is away, though its record keeps the state",
        """
        10: 5 a @i, 3 1, 7 a +0+1, 6 1, 8 a 1 +0+1
        20: 5 b, 3 2, 7 a +0, 7 b +1, 6 2, 8 b 2 2
        30: 8 a 1 1 +0 !1
        200: 8 a -2 1 +0
        500: 8 b 2 +1
        700: 8 a x, 7 a x, 5 a x, 3 3
        """,
        lags=(
            "1 a reconciled in 0",
            "2 a left in -, revoked 170",
            "2 b reconciled in 480, waited 480 for a",
        ),
    ),
    Story(
        "nor does it wait for anybody, until it is back",
        """
        10: 5 a @i, 5 b, 3 1, 7 a, 7 b +0, 6 1, 8 a 1, 8 b 1 +0
        20: 3 2, 7 a +0, 7 b, 6 2, 8 a 2 2
        50: 8 a -2 2
        """,
        lags=(
            "1 a reconciled in 0",
            "1 b reconciled in 0",
            "2 a open in 980, waited 30, right_censored",
            "2 b open in 980, right_censored",
        ),
    ),
    Story(
        "two owners at once: the newer counts, and what the other one does then counts no more",
        """
        10: 5 a, 5 b, 3 1, 7 a +0, 7 b, 6 1, 8 a 1 +0, 8 b 1
        20: 8 b 1 +0
        30: 8 a 1
        40: 8 a 1 +0
        """,
        handovers=(
            "0 - to a at 10",
            "0 a to b at 20 after -, left_censored",
            "0 b to a at 40 after -, left_censored",
        ),
    ),
    Story(
        "from a member to nobody and back",
        """
        10: 5 a, 3 1, 7 a +0, 6 1, 8 a 1 +0
        20: 7 a, 8 a 1
        30: 7 a +0
        40: 8 a 1 +0
        50: 7 a, 8 a 1
        60: 7 a +0, 8 a 1 +0
        """,
        handovers=(
            "0 - to a at 10",
            "0 a to - from 20 after 0",
            "0 - to a at 40",
            "0 a to - from 50 after 0",
            "0 - to a at 60",
        ),
    ),
    Story(
        "handed over within one operation, and by a clock that goes back",
        """
        50: 5 a, 5 b, 3 1, 7 a +0, 7 b, 6 1, 8 a 1 +0, 8 b 1
        60: 8 b 1 +0, 8 a 1
        70: 8 b 1
        30: 8 a 1 +0
        """,
        handovers=(
            "0 - to a at 50",
            "0 a to b at 60 after 0 (0 wanted)",
            "0 b to a at 30 after -40 (0 wanted), clock skew",
        ),
    ),
    Story(
        "what an operation wrote before the epoch tells its cause, and no hash is no change",
        """
        10: 5 a, 3 1 #5, 7 a, 6 1, 8 a 1
        20: 16
        30: 16, 3 2 #5
        40: 5 b, 3 3 #6
        50: 4, 3 4 #6
        60: 5 a, 3 5 #6
        70: 5 b x, 3 6 #0
        80: 5 c, 3 7 #6
        90: 3 8 #6
        """,
        causes=(
            "1 member_joined by a, metadata changed - moved",
            "2 regex_resolved, - moved",
            "3 member_joined by b, metadata changed - moved",
            "4 topic_metadata_changed, metadata changed - moved",
            "5 unknown, - moved",
            "6 member_left by b, metadata changed - moved",
            "7 member_joined by c, metadata changed - moved",
            "8 unknown, - moved",
        ),
    ),
    Story(
        "a hash of 0 says that no topic is there: with nothing else to tell why, one came, or the last one went",
        """
        10: 5 a, 3 1 #0, 7 a, 6 1, 8 a 1
        20: 3 2 #5
        30: 3 3 #0
        40: 3 4 #0
        50: 5 b, 3 5 #5
        60: 5 b x, 5 a x, 3 6 #0
        70: 16, 3 7 #5
        80: 5 a, 3 8 #0
        """,
        causes=(
            "1 member_joined by a, - moved",
            "2 topic_metadata_changed, metadata changed - moved",
            "3 topic_metadata_changed, metadata changed - moved",
            "4 unknown, - moved",
            "5 member_joined by b, metadata changed - moved",
            "6 member_left by b a, metadata changed - moved",
            "7 regex_resolved, metadata changed - moved",
            "8 member_joined by a, metadata changed - moved",
        ),
    ),
    Story(
        "the first hash behind a type 4 says that the coordinator was upgraded, which deletes the type 4",
        """
        10: 5 a, 4, 3 1 #0, 7 a, 6 1, 8 a 1
        20: 3 2 #5, 4 x
        30: 3 3 #0
        40: 3 4 #5
        50: 4
        60: 4 x, 3 5 #0
        """,
        causes=(
            "1 member_joined by a, metadata changed - moved",
            "2 unknown, metadata ? - moved",
            "3 topic_metadata_changed, metadata changed - moved",
            "4 topic_metadata_changed, metadata changed - moved",
            "5 topic_metadata_changed, metadata changed - moved",
        ),
    ),
    Story(
        "another life of the group says nothing of the topics of this one",
        """
        10: 5 a, 4, 3 1 #0
        20: 5 a x, 3 x
        30: 5 a, 3 1 #0
        40: 3 2 #5
        50: 5 a x, 4 x, 3 x
        60: 3 1 #0
        """,
        causes=(
            "1 member_joined by a, metadata changed - moved",
            "1 member_joined by a, - moved",
            "2 topic_metadata_changed, metadata changed - moved",
            "1 unknown, - moved",
        ),
    ),
    Story(
        "whether a hash came first nobody can tell where records may be missing",
        """
        10: 5 a, 3 4 #0
        20: 3 5 #7
        30: 3 6 #8
        """,
        causes=(
            "4 unknown, metadata ? - moved",
            "5 unknown, metadata ? - moved",
            "6 unknown, metadata ? - moved",
        ),
        history=PARTIAL,
    ),
    Story(
        "nor where epochs jump",
        """
        10: 5 a, 3 1 #0
        20: 3 3 #7
        30: 3 4 #0
        """,
        causes=(
            "1 unknown, metadata ? - moved",
            "3 unknown, metadata ? - moved",
            "4 topic_metadata_changed, metadata changed - moved",
        ),
    ),
    Story(
        "where history is partial only a first epoch proves that a member is new",
        """
        10: 5 a, 3 4, 7 a +0, 6 4, 8 a 4 <3 +0
        20: 5 b, 3 5, 7 b, 6 5, 8 b 5 <0
        30: 8 a 5 <4 +0
        """,
        causes=(
            "4 unknown, metadata ? - moved",
            "5 member_joined by b, metadata ? - moved",
        ),
        lags=(
            "5 a - in -, left_censored",
            "5 b - in -, left_censored",
        ),
        handovers=(),
        history=PARTIAL,
    ),
    Story(
        "an assignment whose epoch was compacted away",
        "10: 5 a, 7 a, 6 4, 8 a 3 2",
        lags=("4 a open in -, waited 990, censored",),
        history=COMPACTED,
    ),
    Story(
        "what an away member held is free once its session has expired",
        """
        10: 5 a @i, 5 b, 3 1, 7 a +0, 7 b +1, 6 1, 8 a 1 +0, 8 b 1 +1
        20: 8 a -2 +0
        40: 5 c, 3 2, 7 a, 7 c +0, 6 2, 8 c 2 2, 8 b 2 +1
        70: 8 a x, 7 a x, 5 a x, 3 3
        """,
        lags=(
            "1 a reconciled in 0",
            "1 b reconciled in 0",
            "2 a left in -",
            "2 b reconciled in 0",
            "2 c open in 960, waited 960, awaits 0 of - since 70, right_censored",
        ),
    ),
    Story(
        "an operation that ends a row and writes the next assignment supersedes it",
        """
        10: 5 a @i ~t, 3 1, 7 a +0, 6 1, 8 a 0 2
        20: 8 a x, 7 a x, 5 a x, 5 c @i ~u, 7 c +0, 8 c 0 +0, 3 2, 7 c +1, 6 2, 8 c 2 +1
        """,
        lags=(
            "1 a left in - superseded, waited 10",
            "2 c reconciled in 0",
        ),
    ),
    Story(
        "a member is behind since the oldest assignment that it has not reconciled, whatever the clock says",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        50: 5 b, 3 2, 7 b, 6 2, 8 b 2
        40: 3 3, 6 3
        60: 3 4, 6 4
        70: 8 a 4
        """,
        lags=(
            "1 a reconciled in 0",
            "2 a reconciled in 20 superseded, clock skew",
            "2 b reconciled in 0",
            "3 a reconciled in 30 superseded, behind since 50",
            "3 b open in 960 superseded, right_censored",
            "4 a reconciled in 10, behind since 50",
            "4 b open in 940, behind since 40, right_censored",
        ),
    ),
    Story(
        "before the first group epoch a member joins at the start value that its type 8 shows",
        """
        10: 5 a %r, 8 a 1
        20: 16 r ~t, 3 2, 7 a, 6 2, 8 a 2
        """,
        stays=("0 consumer a joined at 10 (1), right_censored",),
    ),
)
