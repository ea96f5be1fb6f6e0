"""Each rule of streams groups in a story of a few lines; `streams_words` has the words."""

from tests.replay.stories import Story

STORIES = (
    Story(
        "a streams group is not ready until its topology is validated, and an empty assignment converges nothing",
        """
        10: 19 a, 23 0, 17 2, 22 a 1
        40: 21 a, 20 2
        50: 22 a 2
        90: 17 3 ?0 #5, 21 a +0, 20 3, 22 a 3 +0
        """,
        epochs=(
            "0/2 bumped 10 assigned 40 converged 90 superseded by 3, 1 members",
            "0/3 bumped 90 assigned 90 converged 90 converged, 1 members",
        ),
        causes=(
            "2 topology_initialized, - moved",
            "3 topology_validated, metadata changed 0 moved",
        ),
        states=(
            "0 streams NotReady 10 to 90",
            "0 streams Stable 90 to -, right_censored",
        ),
        rebalances=(
            (
                "2-3 topology_initialized+topology_validated, 10 to 90 converged, 0 to 1 members, "
                "30 assigning + 10 late + 40 not ready = 80, 0 moved, a behind: 10 late"
            ),
        ),
        lags=(
            "2 a reconciled in 40",
            "3 a reconciled in 0",
        ),
        last="streams Stable 3/3, 1 members since 90",
    ),
    Story(
        "a topic of the topology goes: the group is not ready again",
        """
        10: 19 a, 23 0, 17 2 ?0, 21 a +0, 20 2, 22 a 2 +0
        30: 17 3 #5
        40: 21 a, 20 3
        60: 22 a 3
        95: 17 4 ?0, 21 a +0, 20 4, 22 a 4 +0
        """,
        causes=(
            "2 topology_initialized, - moved",
            "3 topology_invalidated, metadata changed 0 moved",
            "4 topology_validated, metadata changed 0 moved",
        ),
        states=(
            "0 streams Stable 10 to 30",
            "0 streams NotReady 30 to 95",
            "0 streams Stable 95 to -, right_censored",
        ),
        rebalances=(
            "2 topology_initialized, 10 to 10 converged, 0 to 1 members, - moved",
            (
                "3-4 topology_invalidated+topology_validated, 30 to 95 converged, 1 to 1 members, "
                "10 assigning + 20 late + 35 not ready = 65, 0 moved, a behind: 20 late"
            ),
        ),
        tasks=(
            "s0_0 - to a acquired at 10, cold",
            "s0_0 a to - removed at 60 after 0",
            "s0_0 - to a acquired at 95, cold",
        ),
    ),
    Story(
        "Kafka before 4.2 does not write whether a topology is validated",
        """
        10: 19 a, 23 0, 17 1 ?-, 21 a +0, 20 1, 22 a 1 +0
        30: 19 b, 17 2 ?-, 21 a +0, 21 b +1, 20 2, 22 b 2 +1
        40: 22 a 2 +0
        60: 22 a x, 21 a x, 19 a x, 22 b x, 21 b x, 19 b x, 17 3 ?-
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged - unknown, 1 members, right_censored",
            "0/2 bumped 30 assigned 30 converged - unknown, 2 members, right_censored",
            "0/3 bumped 60 assigned - converged - emptied, 0 members",
        ),
        states=(
            "0 streams unknown 10 to 60",
            "0 streams Empty 60 to -, right_censored",
        ),
        rebalances=(
            "1 topology_initialized, 10 to - unknown, 0 to 1 members, - moved, right_censored",
            (
                "2 member_joined by b, 30 to - unknown, 1 to 2 members, 0 assigning + 10 late = 10, 0 moved, "
                "a behind: 10 late, censored"
            ),
            "3 member_left by a b, 60 to 60 emptied, 2 to 2 members, 0 moved, left_censored",
        ),
        lags=(
            "1 a reconciled in 0",
            "2 a reconciled in 10",
            "2 b reconciled in 0",
        ),
        last="streams Empty 3/2, 0 members since 60",
    ),
    Story(
        "a thread waits for any role of its task in its own process, and for the active task in any process",
        """
        10: 19 a $p, 23 0, 17 2 ?0, 21 a +0 &1, 20 2, 22 a 2 +0 &1
        20: 19 c, 17 3 ?0, 21 c +1, 20 3, 22 a 3 +0 &1, 22 c 3 +1
        40: 19 b $p, 17 4 ?0, 21 a +0, 21 b &1, 21 c +1 &0, 20 4, 22 b 4 2
        50: 22 c 4 +1 &0
        60: 22 a 4 +0
        80: 22 b 4 &1
        """,
        lags=(
            "2 a reconciled in 0",
            "3 a reconciled in 0",
            "3 c reconciled in 0",
            "4 a reconciled in 20",
            "4 b reconciled in 40, waited 40 for a",
            "4 c reconciled in 10",
        ),
        owned=(
            "0 a active s0_0 10 to -, right_censored",
            "0 a standby s0_1 10 to 60",
            "0 c active s0_1 20 to -, right_censored",
            "0 c standby s0_0 50 to -, right_censored",
            "0 b standby s0_1 80 to -, right_censored",
        ),
        members=(
            "a reconciled 2 10 to 20",
            "a reconciled 3 20 to 40",
            "a behind 3 40 to 60",
            "a reconciled 4 60 to -, right_censored",
            "b waiting 4 40 to 80",
            "b reconciled 4 80 to -, right_censored",
            "c reconciled 3 20 to 40",
            "c behind 3 40 to 50",
            "c reconciled 4 50 to -, right_censored",
        ),
        rebalances=(
            "2 topology_initialized, 10 to 10 converged, 0 to 1 members, - moved",
            "3 member_joined by c, 20 to 20 converged, 1 to 2 members, 0 moved",
            (
                "4 member_joined by b, 40 to 80 converged, 2 to 3 members, 0 assigning + 40 late = 40, 1 waited, "
                "0 moved, a behind: 20 late 20 blocking 1, b waiting: 20 late, c behind: 10 late"
            ),
        ),
        anomalies=(),
    ),
    Story(
        "a member that gives a task up as active, and gets it as standby, waits for nobody but itself",
        """
        10: 19 a, 23 0, 17 2 ?0, 21 a +0, 20 2, 22 a 2 +0
        20: 19 b, 17 3 ?0, 21 a &0, 21 b +0, 20 3, 22 b 3 2
        30: 22 a 2 1 !0
        40: 22 a 3 2
        50: 22 b 3 +0
        60: 22 a 3 &0
        """,
        lags=(
            "2 a reconciled in 0",
            "3 a reconciled in 40, revoked 10, waited 20",
            "3 b reconciled in 30, waited 30 for a",
        ),
        tasks=(
            "s0_0 - to a acquired at 10, cold",
            "s0_0 a to b acquired at 50 after 10, cold",
        ),
        owned=(
            "0 a active s0_0 10 to 40",
            "0 b active s0_0 50 to -, right_censored",
            "0 a standby s0_0 60 to -, right_censored",
        ),
    ),
    Story(
        "a task is free when the last member that excludes the waiter gives it up, in any role",
        """
        10: 19 a $p, 19 c, 23 0, 17 2 ?0, 21 a +0 &1, 21 c +1, 20 2, 22 a 2 +0 &1, 22 c 2 +1
        20: 19 b $p, 17 3 ?0, 21 a +0, 21 b +1, 21 c, 20 3, 22 b 3 2
        30: 22 c 3
        50: 22 a 3 +0
        """,
        lags=(
            "2 a reconciled in 0",
            "2 c reconciled in 0",
            "3 a reconciled in 30",
            "3 b open in 980, waited 980, awaits active s0_1 of - since 50, right_censored",
            "3 c reconciled in 10",
        ),
    ),
    Story(
        "a member runs an older topology than its group, until it is restarted or leaves",
        """
        10: 19 a, 19 b, 19 c, 23 0, 17 2 ?0, 21 a +0, 20 2, 22 a 2 +0, 22 b 2, 22 c 2
        20: 19 d ~1, 23 1, 17 3 ?1, 20 3
        50: 19 a ~1, 17 4 ?1, 20 4
        70: 22 b x, 21 b x, 19 b x, 17 5 ?1, 20 5
        """,
        stays=(
            "0 streams a joined at 10 (2), 30 behind the topology, right_censored",
            "0 streams b joined at 10 (2), left at 70 (5), may return, 50 behind the topology",
            "0 streams c joined at 10 (2), 980 behind the topology, right_censored",
            "0 streams d joined at 20 (3), right_censored",
        ),
    ),
    Story(
        "another process's standby excludes nobody from a task",
        """
        10: 19 a, 19 c, 23 0, 17 2 ?0, 21 a +0 &1, 21 c +1, 20 2, 22 a 2 +0 &1, 22 c 2 +1
        20: 19 b $p, 17 3 ?0, 21 a +0, 21 b +1, 21 c, 20 3, 22 b 3 2
        30: 22 c 3
        50: 22 a 3 +0
        """,
        lags=(
            "2 a reconciled in 0",
            "2 c reconciled in 0",
            "3 a reconciled in 30",
            "3 b open in 980, waited 980, awaits active s0_1 of - since 30, right_censored",
            "3 c reconciled in 10",
        ),
    ),
    Story(
        "what a member still waits for when the log ends",
        """
        10: 19 a, 23 0, 17 2 ?0, 21 a +0+1, 20 2, 22 a 2 +0+1
        20: 19 b, 17 3 ?0, 21 a +0 &1, 21 b +1 &0, 20 3, 22 b 3 2 &0
        """,
        lags=(
            "2 a reconciled in 0",
            "3 a open in 980, right_censored",
            "3 b open in 980, waited 980 for a, awaits active s0_1 of a, right_censored",
        ),
    ),
    Story(
        "a task is warm if the process of its new owner had it when the assignment was written",
        """
        10: 19 a, 23 0, 17 2 ?0, 21 a +0+1, 20 2, 22 a 2 +0+1
        20: 19 b, 17 3 ?0, 21 a +0+1, 21 b &1, 20 3, 22 a 3 +0+1, 22 b 3 &1
        50: 22 a x, 21 a x, 19 a x, 17 4 ?0
        60: 21 b +0+1, 20 4, 22 b 4 +0+1
        """,
        tasks=(
            "s0_0 - to a acquired at 10, cold",
            "s0_0 a to b acquired at 60 after 10, cold",
            "s0_1 - to a acquired at 10, cold",
            "s0_1 a to b acquired at 60 after 10, warm",
        ),
        causes=(
            "2 topology_initialized, - moved",
            "3 member_joined by b, 0 moved",
            "4 member_left by a, 2 moved",
        ),
    ),
    Story(
        "the tombstone of a topology behind that of its group belongs to the life that ends",
        """
        10: 19 a, 23 0, 17 2 ?0, 21 a +0, 20 2, 22 a 2 +0
        20: 22 a x, 21 a x, 19 a x, 17 3 ?0
        30: 20 x, 17 x, 23 x
        50: 19 b, 23 0, 17 2 ?0, 21 b +0, 20 2, 22 b 2 +0
        """,
        epochs=(
            "0/2 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/3 bumped 20 assigned - converged - emptied, 0 members",
            "1/2 bumped 50 assigned 50 converged 50 converged, 1 members",
        ),
        states=(
            "0 streams Stable 10 to 20",
            "0 streams Empty 20 to 30",
            "1 streams Stable 50 to -, right_censored",
        ),
        owned=(
            "0 a active s0_0 10 to 20",
            "1 b active s0_0 50 to -, right_censored",
        ),
        stays=(
            "0 streams a joined at 10 (2), left at 20 (3)",
            "1 streams b joined at 50 (2), right_censored",
        ),
        anomalies=(),
    ),
    *(
        Story(
            f"a streams group is deleted, {name}",
            f"""
            10: 19 a, 23 0, 17 2 ?0, 21 a +0, 20 2, 22 a 2 +0
            20: 22 a x, 21 a x, 19 a x, 17 3 ?0, 20 3
            {deletion}
            40: 19 b, 23 0, 17 2 ?0, 20 2, 22 b 2
            """,
            states=(
                "0 streams Stable 10 to 20",
                "0 streams Empty 20 to 30",
                "1 streams Stable 40 to -, right_censored",
            ),
            epochs=(
                "0/2 bumped 10 assigned 10 converged 10 converged, 1 members",
                "0/3 bumped 20 assigned 20 converged - emptied, 0 members",
                "1/2 bumped 40 assigned 40 converged 40 converged, 1 members",
            ),
            anomalies=(),
        )
        for name, deletion in (
            ("its epoch before its topology", "30: 20 x, 17 x, 23 x"),
            ("its topology before its epoch", "30: 20 x, 23 x, 17 x"),
            ("its topology in an operation of its own", "30: 20 x, 17 x\n            31: 23 x"),
            ("a description of its topology first", "30: 17 3 ?0, 20 x, 17 x, 23 x"),
        )
    ),
    Story(
        "before the first assignment it is unknown whether members are behind: Kafka 4.2 starts with another epoch",
        """
        10: 19 a, 23 0, 17 2 ?0, 22 a 1
        20: 21 a +0, 20 2, 22 a 2 +0
        """,
        members=(
            "a unknown 1 10 to 20",
            "a reconciled 2 20 to -, right_censored",
        ),
        states=(
            "0 streams Assigning 10 to 20",
            "0 streams Stable 20 to -, right_censored",
        ),
    ),
    Story(
        "any difference of a dynamic member bumps the epoch",
        """
        10: 19 a, 23 0, 17 2 ?0, 21 a +0, 20 2, 22 a 2 +0
        20: 19 a /rackId=r, 17 3 ?0, 20 3, 22 a 3 +0
        30: 19 a /rackId=r /clientHost=h, 17 4 ?0, 20 4, 22 a 4 +0
        40: 19 a /rackId=r /clientHost=h /clientId=c, 17 5 ?0, 20 5, 22 a 5 +0
        50: 19 a /rackId=r /clientHost=h /clientId=c /rebalanceTimeoutMs=9, 17 6 ?0, 20 6, 22 a 6 +0
        60: 19 a /rackId=r /clientHost=h /clientId=c /rebalanceTimeoutMs=9 /endpoint=e, 17 7 ?0, 20 7, 22 a 7 +0
        """,
        causes=(
            "2 topology_initialized, - moved",
            *(f"{epoch} member_changed by a, 0 moved" for epoch in range(3, 8)),
        ),
    ),
    Story(
        "four fields of a static member bump the epoch",
        """
        10: 19 a @i, 23 0, 17 2 ?0, 21 a +0, 20 2, 22 a 2 +0
        20: 19 a @i /endpoint=e, 17 3 ?0 #7, 20 3, 22 a 3 +0
        30: 19 a @i /rackId=r, 17 4 ?0 #7, 20 4, 22 a 4 +0
        40: 19 a @i /rackId=r /tags=t, 17 5 ?0 #7, 20 5, 22 a 5 +0
        50: 19 a @i /tags=t ~1, 17 6 ?0 #7, 20 6, 22 a 6 +0
        60: 22 a -2 +0
        70: 22 a x, 21 a x, 19 a x, 19 b @i $a /tags=t ~1, 21 b +0, 22 b 6 +0, 19 b @i $a /tags=t /endpoint=f ~1
        80: 22 b -2 +0
        90: 22 b x, 21 b x, 19 b x, 19 c @i $a /tags=t ~1, 19 c @i $q /tags=t ~1, 17 7 ?0 #7, 20 7, 22 c 7 +0
        """,
        causes=(
            "2 topology_initialized, - moved",
            "3 topic_metadata_changed, metadata changed 0 moved",
            *(f"{epoch} member_changed by a, 0 moved" for epoch in range(4, 7)),
            "7 member_changed by c, 0 moved",
        ),
        stays=(
            "0 streams a @i joined at 10 (2), replaced at 70 (6), may return, 10 away",
            "0 streams b @i replaced at 70 (6), replaced at 90 (7), may return, 10 away",
            "0 streams c @i replaced at 90 (7), right_censored",
        ),
    ),
    Story(
        "causes of streams groups",
        """
        10: 19 a, 23 0, 17 2 ?0, 21 a +0, 20 2, 22 a 2 +0
        20: 17 3 ?0 #7, 20 3, 22 a 3 +0
        30: 17 4 ?0 #7 =2, 20 4, 22 a 4 +0
        40: 19 a ~1, 17 5 ?0 #7 =2, 20 5, 22 a 5 +0
        50: 19 a ~1, 17 6 ?0 #7 =2, 20 6, 22 a 6 +0
        60: 23 1, 17 7 #8 =2, 20 7, 22 a 7
        70: 17 8 ?1 #8 =2, 20 8, 22 a 8 +0
        80: 17 8 ?1 #8 =2
        90: 19 b, 17 9 ?1 #9 =2
        """,
        causes=(
            "2 topology_initialized, - moved",
            "3 topic_metadata_changed, metadata changed 0 moved",
            "4 assignment_configs_changed, 0 moved",
            "5 member_changed by a, 0 moved",
            "6 unknown, 0 moved",
            "7 topology_initialized, 0 moved",
            "8 topology_validated, 0 moved",
            "9 member_joined by b, metadata changed - moved",
        ),
    ),
    Story(
        "survivors of a streams group are evaluated where the history is complete",
        """
        10: 19 a, 23 0, 22 a 3 +0 &1
        20: 17 3 ?0, 21 a +0 &1, 20 3
        .....
        30: 19 b, 17 4 ?0, 21 a &1, 21 b +0, 20 4, 22 b 4 2
        40: 22 a 4 &1
        50: 22 b 4 +0
        """,
        history=(11, None),
        epochs=(
            "0/3 bumped 20 assigned 20 converged - -, 1 members, left_censored",
            "0/4 bumped 30 assigned 30 converged 50 converged, 2 members",
        ),
        states=(
            "0 streams Stable 20 to 30, left_censored",
            "0 streams Reconciling 30 to 50",
            "0 streams Stable 50 to -, right_censored",
        ),
        tasks=("s0_0 a to b acquired at 50 after 10, cold",),
        owned=(
            "0 a active s0_0 10 to 40, left_censored",
            "0 a standby s0_1 10 to -, censored",
            "0 b active s0_0 50 to -, right_censored",
        ),
        lags=(
            "3 a - in -, left_censored",
            "4 a reconciled in 10",
            "4 b reconciled in 20, waited 20 for a",
        ),
    ),
    Story(
        "a streams group behind a consumer group whose tombstone is missing",
        """
        10: 5 a, 3 2, 7 a +0, 6 2, 8 a 2 +0
        20: 8 a x, 7 a x, 5 a x, 3 3
        40: 19 b, 23 0, 17 2 ?0, 21 b +0, 20 2, 22 b 2 +0
        """,
        states=(
            "0 consumer Stable 10 to 20",
            "0 consumer Empty 20 to 40, right_censored",
            "0 streams Stable 40 to -, right_censored",
        ),
        last="streams Stable 2/2, 1 members since 40",
    ),
    Story(
        "a standby in another process blocks nobody",
        """
        10: 19 a $p, 19 d $q, 23 0, 17 2 ?0, 21 a &1, 21 d &1, 20 2, 22 a 2 &1, 22 d 2 &1
        20: 19 b $p, 17 3 ?0, 21 a, 21 b &1, 20 3, 22 b 3 2, 22 d 3 &1
        30: 22 a 3
        50: 22 b 3 &1
        """,
        lags=(
            "2 a reconciled in 0",
            "2 d reconciled in 0",
            "3 a reconciled in 10",
            "3 b reconciled in 30, waited 30 for a",
            "3 d reconciled in 0",
        ),
    ),
    Story(
        "the tombstone of a topology is the last record",
        """
        10: 19 a, 23 0, 17 2 ?0, 21 a +0, 20 2, 22 a 2 +0
        20: 22 a x, 21 a x, 19 a x, 20 x, 17 x, 23 x
        """,
        epochs=("0/2 bumped 10 assigned 10 converged 10 converged, 1 members",),
        states=("0 streams Stable 10 to 20",),
        owned=("0 a active s0_0 10 to 20",),
        stays=("0 streams a joined at 10 (2), group_deleted at 20 (2)",),
        last="gone",
    ),
    Story(
        "epochs jump between an assignment and what follows from it: whether the task was warm is unknown",
        """
        10: 19 a, 19 b, 23 0, 17 2 ?0, 21 a +0+1, 20 2, 22 a 2 +0+1, 22 b 2
        20: 17 3 ?0, 21 a +0, 21 b +1, 20 3, 22 b 3 2
        30: 17 6 ?0
        40: 22 a 3 +0
        50: 22 b 3 +1
        """,
        tasks=("s0_1 a to b acquired at 50 after 10",),
    ),
    Story(
        "a tombstone that a group of another type has left changes nothing",
        """
        10: 19 a, 23 0, 17 2 ?0, 21 a +0, 20 2, 22 a 2 +0
        20: 8 z x, 7 z x, 5 z x
        30: 22 a 2 +0
        """,
        states=("0 streams Stable 10 to -, right_censored",),
        stays=("0 streams a joined at 10 (2), right_censored",),
        last="streams Stable 2/2, 1 members since 10",
    ),
    Story(
        "a streams group takes the place of an Empty consumer group, which is deleted",
        """
        10: 5 a, 3 2, 7 a +0, 6 2, 8 a 2 +0
        20: 8 a x, 7 a x, 5 a x, 3 3
        40: 6 x, 3 x, 19 b, 23 0, 17 2 ?0, 21 b +0, 20 2, 22 b 2 +0
        """,
        epochs=(
            "0/2 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/3 bumped 20 assigned - converged - emptied, 0 members",
            "1/2 bumped 40 assigned 40 converged 40 converged, 1 members",
        ),
        states=(
            "0 consumer Stable 10 to 20",
            "0 consumer Empty 20 to 40",
            "1 streams Stable 40 to -, right_censored",
        ),
        stays=(
            "0 consumer a joined at 10 (2), left at 20 (3)",
            "1 streams b joined at 40 (2), right_censored",
        ),
        rebalances=(
            "2 member_joined by a, 10 to 10 converged, 0 to 1 members, - moved",
            "3 member_left by a, 20 to 20 emptied, 1 to 1 members, 0 moved",
            "2 topology_initialized, 40 to 40 converged, 0 to 1 members, - moved",
        ),
        anomalies=(),
        last="streams Stable 2/2, 1 members since 40",
    ),
    Story(
        "a streams group takes the place of an Empty classic group",
        """
        10: 2 1/a
        20: 2 2/0
        40: 2 x, 19 b, 23 0, 17 2 ?0, 21 b +0, 20 2, 22 b 2 +0
        """,
        epochs=("0/2 bumped 40 assigned 40 converged 40 converged, 1 members",),
        states=(
            "0 classic Stable 10 to 20",
            "0 classic Empty 20 to 40",
            "0 streams Stable 40 to -, right_censored",
        ),
        causes=("2 topology_initialized, - moved",),
        stays=(
            "0 classic a joined at 10 (1), left at 20 (2), may return",
            "0 streams b joined at 40 (2), right_censored",
        ),
        rebalances=(
            "classic 1 member_joined by a, - to 10 converged, 0 to 1 members, - moved",
            "classic 2 emptied, - to 20 emptied, 1 to 1 members, - moved",
            "2 topology_initialized, 40 to 40 converged, 0 to 1 members, - moved",
        ),
        anomalies=(),
        last="streams Stable 2/2, 1 members since 40",
    ),
)
