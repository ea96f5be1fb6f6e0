"""Each rule of share groups in a story of a few lines; `share_words` has the words."""

from tests.replay.stories import Story

STORIES = (
    Story(
        "a share group reads Stable, and converges when every member is at the assignment epoch",
        """
        10: 10 a ~t, 11 2, 13 a, 12 2, 14 a 2, 15 ?0?1
        20: 15 +0+1
        30: 11 3, 13 a +0+1, 12 3, 14 a 3 +0+1
        40: 10 b ~t, 11 4
        50: 13 a +0, 13 b +1, 12 4, 14 b 4 +1
        70: 14 a 4 +0
        """,
        epochs=(
            "0/2 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/3 bumped 30 assigned 30 converged 30 converged, 1 members",
            "0/4 bumped 40 assigned 50 converged 70 converged, 2 members",
        ),
        causes=(
            "2 member_joined by a, - moved",
            "3 partitions_initialized, - moved",
            "4 member_joined by b, - moved",
        ),
        states=("0 share Stable 10 to -, right_censored",),
        rebalances=(
            "2 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            "3 partitions_initialized, 30 to 30 converged, 1 to 1 members, - moved",
            (
                "4 member_joined by b, 40 to 70 converged, 1 to 2 members, 10 assigning + 20 late = 30, - moved, "
                "a behind: 20 late"
            ),
        ),
        lags=(
            "2 a reconciled in 0",
            "3 a reconciled in 0",
            "4 a reconciled in 30",
            "4 b reconciled in 10",
        ),
        owned=(
            "0 a 0 30 to -, right_censored",
            "0 a 1 30 to 70",
            "0 b 1 50 to -, right_censored",
        ),
        members=(
            "a reconciled 2 10 to 30",
            "a reconciled 3 30 to 50",
            "a behind 3 50 to 70",
            "a reconciled 4 70 to -, right_censored",
            "b unknown - 40 to 50",
            "b reconciled 4 50 to -, right_censored",
        ),
        shared=(
            "0 t initializing 0+1 10 to 20",
            "0 t initialized 0+1 20 to -, right_censored",
        ),
        handovers=(),
        anomalies=(),
        last="share Stable 4/4, 2 members since 10",
    ),
    Story(
        "causes of share groups: members come first",
        """
        10: 10 a ~t, 11 2 #1, 13 a, 12 2, 14 a 2, 15 ?0
        20: 15 +0
        30: 11 3 #1, 13 a +0, 12 3, 14 a 3 +0
        40: 10 a ~t ~u, 11 4 #2, 12 4, 14 a 4 +0
        50: 11 5 #3, 12 5, 14 a 5 +0
        60: 10 b ~t ~u, 10 a ~t, 11 6 #4, 12 6, 14 b 6
        70: 14 b x, 13 b x, 10 b x, 11 7 #5
        80: 11 8 #5
        """,
        causes=(
            "2 member_joined by a, - moved",
            "3 partitions_initialized, - moved",
            "4 subscription_changed by a, - moved",
            "5 topic_metadata_changed, metadata changed - moved",
            "6 subscription_changed by a, metadata changed - moved",
            "7 member_left by b, - moved",
            "8 unknown, - moved",
        ),
    ),
    Story(
        "a wanted partition that no member has is a loss: initialized, and of a topic to which a member subscribes",
        """
        10: 10 a ~t, 10 b ~t, 11 2, 13 a +0, 13 b +1+2, 12 2, 14 a 2 +0, 14 b 2 +1+2, 15 +0+1+2
        20: 14 b x, 13 b x, 10 b x, 11 3
        50: 13 a +0+1+2, 12 3, 14 a 3 +0
        60: 15 +0+1
        90: 14 a 3 +0+1
        """,
        rebalances=(
            "2 member_joined by a b, 10 to 10 converged, 0 to 2 members, - moved",
            (
                "3 member_left by b, 20 to 50 converged, 2 to 1 members, 30 assigning + 0 late = 30, - moved, "
                "60 unowned, longest 30"
            ),
        ),
        owned=(
            "0 a 0 10 to -, right_censored",
            "0 b 1 10 to 20",
            "0 b 2 10 to 20",
            "0 a 1 90 to -, right_censored",
        ),
        shared=(
            "0 t initialized 0+1+2 10 to 60",
            "0 t initialized 0+1 60 to -, right_censored",
        ),
    ),
    Story(
        "with more members than partitions several have one, and nobody owns it",
        """
        10: 10 a ~t, 11 2, 13 a +0, 12 2, 14 a 2 +0, 15 +0
        20: 10 b ~t, 11 3, 13 b +0, 12 3, 14 b 3 +0
        30: 14 a 3 +0
        """,
        owned=(
            "0 a 0 10 to -, right_censored",
            "0 b 0 20 to -, right_censored",
        ),
        handovers=(),
        anomalies=(),
        epochs=(
            "0/2 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/3 bumped 20 assigned 20 converged 30 converged, 2 members",
        ),
        rebalances=(
            "2 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            (
                "3 member_joined by b, 20 to 30 converged, 1 to 2 members, 0 assigning + 10 late = 10, - moved, "
                "a behind: 10 late"
            ),
        ),
    ),
    Story(
        "an emptied share group keeps its partitions, and loses them with its deletion",
        """
        10: 10 a ~t, 11 2, 13 a +0, 12 2, 14 a 2 +0, 15 +0
        20: 14 a x, 13 a x, 10 a x, 11 3
        40: 15 -
        50: 12 x, 15 x, 11 x
        70: 10 b ~t, 11 2, 13 b, 12 2, 14 b 2, 15 ?0
        """,
        epochs=(
            "0/2 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/3 bumped 20 assigned - converged - emptied, 0 members",
            "1/2 bumped 70 assigned 70 converged 70 converged, 1 members",
        ),
        states=(
            "0 share Stable 10 to 20",
            "0 share Empty 20 to 50",
            "1 share Stable 70 to -, right_censored",
        ),
        shared=(
            "0 t initialized 0 10 to 40",
            "0 t deleting 40 to 50",
            "1 t initializing 0 70 to -, right_censored",
        ),
        owned=("0 a 0 10 to 20",),
        stays=(
            "0 share a joined at 10 (2), left at 20 (3)",
            "1 share b joined at 70 (2), right_censored",
        ),
        anomalies=(),
    ),
    Story(
        "survivors of a share group are evaluated where the history is complete",
        """
        10: 10 a ~t, 14 a 3 +0+1, 15 +0+1
        20: 11 3, 13 a +0+1, 12 3
        .....
        30: 10 b ~t, 11 4, 13 a +0, 13 b +1, 12 4, 14 b 4 +1
        50: 14 a 4 +0
        60: 15 +0+1+2
        """,
        history=(11, None),
        epochs=(
            "0/3 bumped 20 assigned 20 converged - -, 1 members, left_censored",
            "0/4 bumped 30 assigned 30 converged 50 converged, 2 members",
        ),
        causes=(
            "3 unknown, metadata ? - moved",
            "4 member_joined by b, metadata ? - moved",
        ),
        states=("0 share Stable 20 to -, censored",),
        owned=(
            "0 a 0 10 to -, censored",
            "0 a 1 10 to 50, left_censored",
            "0 b 1 30 to -, right_censored",
        ),
        shared=(
            "0 t initialized 0+1 10 to 60, left_censored",
            "0 t initialized 0+1+2 60 to -, right_censored",
        ),
        lags=(
            "3 a - in -, left_censored",
            "4 a reconciled in 20",
            "4 b reconciled in 0",
        ),
        rebalances=(
            "3 unknown, 20 to - -, - to - members, - moved, left_censored",
            (
                "4 member_joined by b, 30 to 50 converged, 1 to 2 members, 0 assigning + 20 late = 20, - moved, "
                "a behind: 20 late"
            ),
        ),
    ),
    Story(
        "a share group of which a record was lost",
        """
        10: 10 a ~t, 11 2, 13 a +0, 12 2, 14 a 2 +0, 15 +0
        20: 13 a lost
        30: 11 3, 12 3
        50: 12 x, 15 x, 11 x
        """,
        states=(
            "0 share Stable 10 to 20, censored",
            "0 share unknown 20 to 50, censored",
        ),
        owned=("0 a 0 10 to 20, censored",),
        shared=("0 t initialized 0 10 to 50, left_censored",),
    ),
    Story(
        "a consumer group behind a share group whose tombstone is missing ends the states of its partitions",
        """
        10: 10 a ~t, 11 2, 13 a +0, 12 2, 14 a 2 +0, 15 ?1 +0
        20: 15 +0+1
        40: 5 b, 3 2, 7 b +0, 6 2, 8 b 2 +0
        """,
        states=(
            "0 share Stable 10 to 40, right_censored",
            "0 consumer Stable 40 to -, right_censored",
        ),
        owned=("0 a 0 10 to 40",),
        shared=(
            "0 t initialized 0 10 to 20",
            "0 t initializing 1 10 to 20",
            "0 t initialized 0+1 20 to 40",
        ),
        last="consumer Stable 2/2, 1 members since 40",
    ),
)
