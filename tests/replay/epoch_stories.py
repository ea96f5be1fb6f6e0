"""Each rule of epochs and states in a story of a few lines."""

from tests.replay.stories import COMPACTED, PARTIAL, Story

STORIES = (
    Story(
        "one heartbeat converges an epoch",
        "10: 5 a, 3 1, 7 a, 6 1, 8 a 1",
        epochs=("0/1 bumped 10 assigned 10 converged 10 converged, 1 members",),
        last="consumer Stable 1/1, 1 members since 10",
    ),
    Story(
        "an epoch that never got an assignment of its own is superseded when a later one converges",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 5 b, 3 2, 8 b 1
        30: 5 c, 3 3, 8 c 1
        40: 7 a, 7 b, 7 c, 6 3, 8 a 3
        50: 8 b 3
        60: 8 c 3
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 20 assigned 40 converged 60 superseded by 3, 2 members",
            "0/3 bumped 30 assigned 40 converged 60 converged, 3 members",
        ),
        last="consumer Stable 3/3, 3 members since 60",
    ),
    Story(
        "what wrote no member states does not say whether a group has converged",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1 -
        20: 5 b, 3 2, 8 b 2
        30: 7 a, 7 b, 6 2, 8 a 2 -
        40: 8 a 2
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 40 superseded by 2, 1 members",
            "0/2 bumped 20 assigned 30 converged 40 converged, 2 members",
        ),
        last="consumer Stable 2/2, 2 members since 40",
    ),
    Story(
        "a later epoch supersedes though the log ends first",
        """
        10: 5 a, 3 1, 7 a, 6 1
        20: 5 b, 3 2
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged - superseded by 2, 1 members, right_censored",
            "0/2 bumped 20 assigned - converged - open, 2 members, right_censored",
        ),
        last="consumer Assigning 2/1, 2 members since 10",
    ),
    Story(
        "a group that empties does not converge, and an assignment that comes later is not its own",
        """
        10: 5 a, 3 1
        20: 8 a x, 7 a x, 5 a x, 3 2
        30: 5 b, 3 3, 7 b, 6 3
        """,
        epochs=(
            "0/1 bumped 10 assigned - converged - emptied, 1 members",
            "0/2 bumped 20 assigned - converged - emptied, 0 members",
            "0/3 bumped 30 assigned 30 converged - open, 1 members, right_censored",
        ),
        last="consumer Reconciling 3/3, 1 members since 30",
    ),
    Story(
        "deleted in the operation that empties it",
        """
        10: 5 a, 3 1, 7 a, 6 1
        20: 8 a x, 7 a x, 6 x, 5 a x, 4 x, 3 x
        """,
        epochs=("0/1 bumped 10 assigned 10 converged - deleted, 1 members",),
        last="gone",
    ),
    Story(
        "deleted and used again, in one operation",
        """
        10: 5 a, 3 1
        20: 5 a x, 6 x, 3 x, 5 b, 3 1, 7 b, 6 1, 8 b 1
        """,
        epochs=(
            "0/1 bumped 10 assigned - converged - deleted, 1 members",
            "1/1 bumped 20 assigned 20 converged 20 converged, 1 members",
        ),
        last="consumer Stable 1/1, 1 members since 20",
    ),
    Story(
        "what an incarnation knew is forgotten with it",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 3 x
        30: 5 b, 3 1
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "1/1 bumped 30 assigned - converged - open, 1 members, right_censored",
        ),
        last="consumer Assigning 1/-, 1 members since 30",
    ),
    Story(
        "an upgrade writes two epochs and two assignments in one operation",
        """
        10: 2 6/1
        20: 2 x, 5 a *, 3 6, 7 a, 6 6, 8 a 6, 5 b, 3 7, 7 a, 7 b, 6 7, 8 b 7 2
        30: 8 a 7
        40: 8 b 7
        """,
        epochs=(
            "0/6 bumped 20 assigned 20 converged 40 superseded by 7, 1 members",
            "0/7 bumped 20 assigned 20 converged 40 converged, 2 members",
        ),
        last="consumer Stable 7/7, 2 members since 40",
    ),
    Story(
        "a downgrade deletes the consumer group and leaves a classic one",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 5 b, 3 2
        30: 8 a x, 7 a x, 6 x, 5 b x, 5 a x, 3 x, 2 3/1
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 20 assigned - converged - downgraded, 2 members",
        ),
        last="classic Stable generation 3, 1 members since 30, rebalancing since 30 or before",
    ),
    Story(
        "a classic group without members",
        """
        10: 2 1/2
        20: 2 2/0
        30: 2 2/0
        """,
        epochs=(),
        last="classic Empty generation 2, 0 members since 20",
    ),
    Story(
        "a classic group that is deleted",
        """
        10: 2 1/2
        20: 2 x
        """,
        epochs=(),
        last="gone",
    ),
    Story(
        "a static member that is away holds the group up without an epoch",
        """
        10: 5 a, 5 b, 3 1, 7 a, 7 b, 6 1, 8 a 1, 8 b 1
        20: 8 a -2
        """,
        epochs=("0/1 bumped 10 assigned 10 converged 10 converged, 2 members",),
        last="consumer Reconciling 1/1, 2 members, 1 away since 20",
    ),
    Story(
        "inside an operation that replaces its only member the group is not empty",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 3 2
        30: 8 a x, 7 a x, 5 a x, 5 b, 7 b, 8 b 0, 8 b 1
        40: 7 b, 6 2, 8 b 2
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 20 assigned 40 converged 40 converged, 1 members",
        ),
        last="consumer Stable 2/2, 1 members since 40",
    ),
    Story(
        "an assignment of an epoch that has passed answers that epoch only",
        """
        10: 5 a, 3 1
        20: 5 b, 3 2
        30: 7 a, 7 b, 6 1, 8 a 1
        40: 7 a, 7 b, 6 2, 8 a 2
        """,
        epochs=(
            "0/1 bumped 10 assigned 30 converged - superseded by 2, 1 members, right_censored",
            "0/2 bumped 20 assigned 40 converged - open, 2 members, right_censored",
        ),
        last="consumer Reconciling 2/2, 2 members since 10",
    ),
    Story(
        "the first assignment that reaches an epoch counts, whatever is written after it",
        """
        10: 5 a, 3 1
        20: 5 b, 3 2
        30: 7 a, 7 b, 6 2
        40: 7 a, 6 1
        """,
        epochs=(
            "0/1 bumped 10 assigned 30 converged - superseded by 2, 1 members, right_censored",
            "0/2 bumped 20 assigned 30 converged - open, 2 members, right_censored",
        ),
        last="consumer Assigning 2/1, 2 members since 10",
    ),
    Story(
        "of a repeated epoch and a repeated assignment the first counts",
        """
        10: 5 a, 3 1
        20: 5 b, 3 1
        30: 7 a, 6 1
        40: 7 b, 6 1
        """,
        epochs=("0/1 bumped 10 assigned 30 converged - open, 1 members, right_censored",),
        last="consumer Reconciling 1/1, 2 members since 10",
    ),
    Story(
        "a clock that goes back is kept and flagged, and orders nothing",
        """
        500: 5 a, 3 1
        100: 7 a, 6 1, 8 a 1
        """,
        epochs=("0/1 bumped 500 assigned 100 converged 100 converged, 1 members, clock skew",),
        last="consumer Stable 1/1, 1 members since 100",
    ),
    Story(
        "a member without a type 8 has not converged",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 8 a x
        30: 16
        """,
        epochs=("0/1 bumped 10 assigned 10 converged 10 converged, 1 members",),
        last="consumer Reconciling 1/1, 1 members since 20",
    ),
    Story(
        "a type 8 that outlives its member counts for nobody",
        """
        10: 5 a, 5 b, 3 1, 7 a, 7 b, 6 1, 8 a 1, 8 b 1
        20: 5 b x, 5 c
        """,
        epochs=("0/1 bumped 10 assigned 10 converged 10 converged, 2 members",),
        last="consumer Reconciling 1/1, 2 members since 20",
    ),
    Story(
        "the epoch alone is not enough",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1 2
        20: 8 a 1 1
        """,
        epochs=("0/1 bumped 10 assigned 10 converged - open, 1 members, right_censored",),
        last="consumer Reconciling 1/1, 1 members since 10",
    ),
    Story(
        "a member may skip epochs",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1 1
        20: 5 b, 3 2, 7 a, 7 b, 6 2, 8 b 2
        30: 8 a 2
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 30 superseded by 2, 1 members",
            "0/2 bumped 20 assigned 20 converged 30 converged, 2 members",
        ),
        last="consumer Stable 2/2, 2 members since 30",
    ),
    Story(
        "an operation ends where the timestamp changes, though the offsets go on",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        11: 5 b, 3 2, 7 a, 7 b, 6 2, 8 b 2, 8 a 2
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 11 assigned 11 converged 11 converged, 2 members",
        ),
        last="consumer Stable 2/2, 2 members since 10",
    ),
    Story(
        "an operation ends at another group's record, though the timestamp stays",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        ...
        10: 5 b, 3 2, 7 a, 7 b, 6 2, 8 b 2 2
        """,
        epochs=(
            "0/1 bumped 10 assigned 10 converged 10 converged, 1 members",
            "0/2 bumped 10 assigned 10 converged - open, 2 members, right_censored",
        ),
        last="consumer Reconciling 2/2, 2 members since 10",
    ),
    Story(
        "before the first epoch all is at the start epoch, whatever it is",
        """
        10: 5 a, 8 a 1
        20: 8 a x, 5 a x, 5 b, 8 b 0, 8 b 1
        """,
        epochs=(),
        last="consumer Stable 1/1, 1 members since 10",
    ),
    Story(
        "the start epoch is the highest that a member has then",
        "10: 5 b, 8 b 0, 8 b 1",
        epochs=(),
        last="consumer Stable 1/1, 1 members since 10",
    ),
    Story(
        "an assignment that is missing tells no state where history is partial",
        """
        10: 5 a, 3 1
        20: 7 a, 6 1, 8 a 1
        30: 5 b, 3 2
        """,
        epochs=(
            "0/1 bumped 10 assigned 20 converged - superseded by 2, 1 members, censored",
            "0/2 bumped 30 assigned - converged - open, 2 members, censored",
        ),
        last="consumer Assigning 2/1, 2 members since 30, censored",
        history=PARTIAL,
    ),
    Story(
        "no epochs tell no state where history is partial",
        "10: 5 a, 8 a 1",
        epochs=(),
        last="consumer unknown -/-, 1 members since 10, censored",
        history=PARTIAL,
    ),
    Story(
        "not even that it is empty",
        "10: 8 a x, 5 a x",
        epochs=(),
        last="consumer unknown -/-, 0 members since 10, censored",
        history=PARTIAL,
    ),
    Story(
        "nor does an assignment alone",
        "10: 5 a, 6 1, 8 a 1",
        epochs=(),
        last="consumer unknown -/1, 1 members since 10, censored",
        history=PARTIAL,
    ),
    Story(
        "a state that is unknown ends no epoch",
        """
        10: 5 a, 3 1
        20: 6 x, 5 a x, 3 x
        """,
        epochs=("0/1 bumped 10 assigned - converged - -, 1 members, left_censored",),
        last="gone",
        history=PARTIAL,
    ),
    Story(
        "compaction keeps the last record of a key: without types 3 and 6 there never were any",
        "10: 5 a, 8 a 1",
        epochs=(),
        last="consumer Stable 1/1, 1 members since 10, censored",
        history=COMPACTED,
    ),
)
