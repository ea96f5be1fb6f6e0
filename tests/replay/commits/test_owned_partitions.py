"""The stays of partitions: who owned which one, from where to where in the log."""

import pytest

from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from tests.replay.classic_logs import batch_of
from tests.replay.logs import END
from tests.replay.owned import lines
from tests.replay.segment_copies import replayed_batch
from tests.replay.stories import Story, complete_between

CONSUMER = """
    10: 5 a @i, 3 2, 7 a +0+1, 6 2, 8 a 2 +0+1
    ..
    20: 5 b, 3 3, 7 b +1, 7 a +0, 6 3, 8 b 3 2
    30: 8 a 2 1 +0 !1
    40: 8 a 3 +0
    50: 8 b 3 +1
"""

CLASSIC = """
    10: 2 1/a=01
    20: 2 2/a=0+b=1
    ..
    30: 2 3/a=01
    40: 2 4/a=01
"""

STREAMS = """
    10: 19 a, 23 0 /in, 17 2 ?0, 21 a +0 &1, 20 2, 22 a 2 +0 &1
    20: 19 b, 17 3 ?0, 21 b +1, 20 3, 22 b 3 +1, 22 a 3 +0
    30: 23 1 /in /more
    40: 19 b x, 21 b x, 22 b x
"""

STORIES = (
    Story(
        "a member keeps a partition through epochs, and owns one that it revokes until it has released it",
        CONSUMER,
        owned=(
            "0 consumer t0-0 a 4 at 10 to -, right_censored",
            "0 consumer t0-1 a 4 at 10 to 14 at 40",
            "0 consumer t0-1 b 15 at 50 to -, right_censored",
        ),
    ),
    Story(
        "the acquisition lies before the history is complete: by the last record that shows it",
        CONSUMER,
        coverage=complete_between((14, 1000)),
        owned=(
            "0 consumer t0-0 a 13 at 30 to -, censored",
            "0 consumer t0-1 a 13 at 30 to 14 at 40, left_censored",
            "0 consumer t0-1 b 15 at 50 to -, right_censored",
        ),
    ),
    Story(
        "the history is complete from behind another member's record on",
        """
        10: 5 a, 3 2, 7 a +0, 6 2, 8 a 2 +0
        20: 5 b
        30: 8 b 2
        """,
        coverage=complete_between((6, 1000)),
        owned=("0 consumer t0-0 a 4 at 10 to -, censored",),
    ),
    Story(
        "the group becomes Empty without a tombstone of its member's assignment",
        """
        10: 5 a, 3 2, 7 a +0, 6 2, 8 a 2 +0
        20: 3 3, 5 a x, 7 a x, 6 3
        """,
        owned=("0 consumer t0-0 a 4 at 10 to 8 at 20",),
    ),
    Story(
        "the group is deleted where the history is not complete",
        """
        10: 5 a, 3 2, 7 a +0, 6 2, 8 a 2 +0
        20: 8 a x, 7 a x, 5 a x, 6 x, 3 x
        30: 5 b, 3 1, 7 b +0, 6 1, 8 b 1 +0
        """,
        coverage=complete_between((0, 5), (10, 1000)),
        owned=(
            "0 consumer t0-0 a 4 at 10 to 9 at 20, left_censored",
            "1 consumer t0-0 b 14 at 30 to -, right_censored",
        ),
    ),
    Story(
        "between two ranges a partition changes hands: one stay ends where the next is first seen",
        """
        10: 5 a, 3 2, 7 a +0, 6 2, 8 a 2 +0
        20: 5 b, 8 a 3, 8 b 3 +0
        30: 8 b 4 +0
        40: 8 b 5
        """,
        coverage=complete_between((0, 6), (8, 100)),
        owned=(
            "0 consumer t0-0 a 4 at 10 to 7 at 20, left_censored",
            "0 consumer t0-0 b 7 at 20 to 9 at 40, left_censored",
        ),
    ),
    Story(
        "the group becomes Empty, and is deleted: no member owns anything",
        """
        10: 5 a, 3 2, 7 a +0, 6 2, 8 a 2 +0
        20: 3 3, 5 a x, 7 a x, 6 3, 8 a x
        30: 6 x, 3 x
        40: 5 b, 3 1, 7 b +0, 6 1, 8 b 1 +0
        50: 8 b x, 7 b x, 5 b x, 6 x, 3 x
        """,
        owned=(
            "0 consumer t0-0 a 4 at 10 to 9 at 20",
            "1 consumer t0-0 b 16 at 40 to 21 at 50",
        ),
    ),
    Story(
        "a static member is away: it owns nothing until it is back",
        """
        10: 5 a @i, 3 2, 7 a +0, 6 2, 8 a 2 +0
        20: 8 a -2 +0
        30: 5 a x, 7 a x, 8 a x, 5 b @i, 7 b +0, 8 b 2 +0
        """,
        owned=(
            "0 consumer t0-0 a 4 at 10 to 5 at 20",
            "0 consumer t0-0 b 11 at 30 to -, right_censored",
        ),
    ),
    Story(
        "two members claim a partition: the newest owns it, and the other one again behind it",
        """
        10: 5 a, 5 b, 3 2, 7 a +0, 7 b, 6 2, 8 a 2 +0, 8 b 2
        20: 8 b 2 +0
        30: 8 b 2
        """,
        owned=(
            "0 consumer t0-0 a 7 at 10 to 8 at 20",
            "0 consumer t0-0 b 8 at 20 to 9 at 30",
            "0 consumer t0-0 a 9 at 30 to -, right_censored",
        ),
    ),
    Story(
        "a lost record ends what is known, and the next incarnation begins anew",
        """
        10: 5 a, 3 2, 7 a +0, 6 2, 8 a 2 +0
        20: 8 b lost
        30: 8 a 2 +0
        40: 6 x, 3 x
        50: 5 b, 3 1, 7 b +0, 6 1, 8 b 1 +0
        """,
        owned=(
            "0 consumer t0-0 a 4 at 10 to 5 at 20, censored",
            "1 consumer t0-0 b 13 at 50 to -, right_censored",
        ),
    ),
    Story(
        "a stay goes on through generations that give the member the partition again",
        CLASSIC,
        owned=(
            "0 classic t-0 a 0 at 10 to -, right_censored",
            "0 classic t-1 a 0 at 10 to 1 at 20",
            "0 classic t-1 b 1 at 20 to 4 at 30",
            "0 classic t-1 a 4 at 30 to -, right_censored",
        ),
    ),
    Story(
        "of an acquisition before the history is complete, only what a later generation changes is seen",
        CLASSIC,
        coverage=complete_between((1, 1000)),
        owned=(
            "0 classic t-0 a 0 at 10 to -, censored",
            "0 classic t-1 a 0 at 10 to 1 at 20, left_censored",
            "0 classic t-1 b 1 at 20 to 4 at 30, left_censored",
            "0 classic t-1 a 4 at 30 to -, right_censored",
        ),
    ),
    Story(
        "a generation whose assignment of one member could not be read",
        """
        10: 2 1/a=01+b=2
        20: 2 2/a=?+b=12
        30: 2 3/a=0+b=12
        """,
        owned=(
            "0 classic t-0 a 0 at 10 to 1 at 20, right_censored",
            "0 classic t-0 a 2 at 30 to -, right_censored",
            "0 classic t-1 a 0 at 10 to 1 at 20",
            "0 classic t-1 b 1 at 20 to -, right_censored",
            "0 classic t-2 b 0 at 10 to -, right_censored",
        ),
    ),
    Story(
        "a static member comes back under another id; the group becomes Empty, and other protocols own no partition",
        """
        10: 2 1/a@i=0
        20: 2 1/b@i=0
        30: 2 2/0
        40: 2 3/c=0
        50: 2 4/d
        60: 2 x
        """,
        owned=(
            "0 classic t-0 a 0 at 10 to 1 at 20",
            "0 classic t-0 b 1 at 20 to 2 at 30",
            "0 classic t-0 c 3 at 40 to 4 at 50",
        ),
    ),
    Story(
        "generations go back: the group was deleted in between, unseen",
        """
        10: 2 7/a=0
        ..
        20: 2 1/a=0
        """,
        owned=(
            "0 classic t-0 a 0 at 10 to 3 at 20, right_censored",
            "0 classic t-0 a 3 at 20 to -, right_censored",
        ),
    ),
    Story(
        "a lost generation, and the deletion of a classic group",
        """
        10: 2 1/a=0
        20: 2 lost
        30: 2 3/a=0
        40: 2 x
        """,
        owned=(
            "0 classic t-0 a 0 at 10 to 1 at 20, censored",
            "0 classic t-0 a 2 at 30 to 3 at 40, left_censored",
        ),
    ),
    Story(
        "an upgrade and a downgrade: two stays that touch, for the topic has an id in one and a name in the other",
        """
        10: 2 1/a=0
        20: 2 x, 3 2, 5 a *, 7 a +0, 6 2, 8 a 2 +0
        30: 8 a x, 7 a x, 5 a x, 6 x, 3 x, 2 3/a=0
        """,
        owned=(
            "0 classic t-0 a 0 at 10 to 6 at 20",
            "0 consumer t0-0 a 6 at 20 to 12 at 30",
            "1 classic t-0 a 12 at 30 to -, right_censored",
        ),
    ),
    Story(
        "streams: the owner of an active task owns the partitions of the topics that its subtopology reads",
        STREAMS,
        owned=(
            "0 streams in-0 a 5 at 10 to 12 at 30",
            "0 streams in-0 a 12 at 30 to -, right_censored",
            "0 streams more-0 a 12 at 30 to -, right_censored",
            "0 streams in-1 b 11 at 20 to 12 at 30",
            "0 streams in-1 b 12 at 30 to 15 at 40",
            "0 streams more-1 b 12 at 30 to 15 at 40",
        ),
    ),
    Story(
        "streams: the group is deleted where the history is not complete",
        """
        10: 19 a, 23 0 /in, 17 2 ?0, 21 a +0, 20 2, 22 a 2 +0
        20: 22 a x, 21 a x, 19 a x, 20 x, 17 x, 23 x
        """,
        coverage=complete_between((0, 6), (20, 1000)),
        owned=("0 streams in-0 a 5 at 10 to 11 at 20, left_censored",),
    ),
    Story(
        "streams: another topology that reads the same topics changes no stay",
        STREAMS.replace(" /more", ""),
        owned=(
            "0 streams in-0 a 5 at 10 to -, right_censored",
            "0 streams in-1 b 11 at 20 to 15 at 40",
        ),
    ),
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_the_stays(story: Story) -> None:
    assert lines(story.replay()) == story.owned


def test_the_member_of_a_stay() -> None:
    """As it was when it acquired the partition."""
    log = CONSUMER + "60: 5 b @j"
    rows = Story("a static member", log).replay()["OwnedPartition"]
    assert {(row.member_id, row.instance_id, row.client_id) for row in rows} == {("a", "i", "app"), ("b", None, "app")}


def test_the_units_of_connect_are_no_partitions() -> None:
    rows = replayed_batch(batch_of("connect"), _inputs(offset_commits=True))
    assert len(rows["ConnectAssignment"]) > 0
    # The consumers of a sink connector are a group of their own.
    assert {row.group_id for row in rows["OwnedPartition"]} == {"connect-sink1"}


def test_a_log_without_offset_commits_needs_no_stays() -> None:
    for name in ("group-kinds", "streams-not-ready"):
        with_commits, without = (replayed_batch(batch_of(name), _inputs(offset_commits=each)) for each in (True, False))
        assert len(with_commits["OwnedPartition"]) > 0
        assert without["OwnedPartition"] == []


def _inputs(*, offset_commits: bool) -> ReplayInputs:
    known = PartitionCoverage(((0, END),), last_offset=END - 1)
    return ReplayInputs("kafka", None, dict.fromkeys(range(50), known), offset_commits=offset_commits)
