"""What `group_state` and `group_event` say besides the state."""

import pytest

from kip848_records.protocol.group_partition import group_id_hash
from tests.replay.logs import inputs_of, replayed
from tests.replay.stories import Story, complete_between, since_start


@pytest.mark.parametrize(
    ("group_id", "number"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99_162_322),
        ("group-1", 293_427_299),
        ("polygenelubricants", 0),  # Java's Integer.MIN_VALUE, of which Kafka makes 0
        ("__consumer_offsets", 970_371_369),
        ("grüße", 98_768_023),
        ("😀", 1_772_899),
    ],
)
def test_the_hash_that_says_a_groups_partition(group_id: str, number: int) -> None:
    assert group_id_hash(group_id) == number


def test_what_a_group_wrote() -> None:
    story = Story(
        "operations",
        """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 8 a 1
        ..
        20: 8 a 1
        30: 3 2, 7 a, 6 2, 8 a 2
        """,
    )
    (row,) = story.replay()["GroupState"]
    assert (row.records, row.operations) == (11, 4)
    assert (row.largest_operation_bytes, row.largest_operation_offset) == (50, 0)
    assert (row.complete_from, row.has_full_history, row.has_lost_prefix) == (0, True, False)
    assert row.group_id_hash == 103


@pytest.mark.parametrize(
    ("ranges", "complete_from", "has_full_history"),
    [(((0, 100),), 0, True), (((2, 100),), 5, False), (((6, 100),), None, False), (((0, 3), (4, 100)), 5, False)],
)
def test_from_where_on_a_group_is_complete(
    ranges: tuple[tuple[int, int], ...], complete_from: int | None, has_full_history: object
) -> None:
    log = """
        10: 5 a, 3 1, 7 a, 6 1, 8 a 1
        20: 8 a 1
    """
    (row,) = Story("complete", log, coverage=complete_between(*ranges)).replay()["GroupState"]
    assert (row.complete_from, row.has_full_history) == (complete_from, has_full_history)


@pytest.mark.parametrize(
    ("log", "seen_from", "since", "history"),
    [
        ("10: 5 a, 3 1, 7 a, 6 1, 8 a 1", 0, "-", None),
        ("10: 5 a, 3 1, 7 a, 6 1, 8 a 1\n20: 5 b, 3 2\n30: 7 b, 6 2", 0, "20", "right_censored"),
        ("10: 5 a, 3 1, 7 a, 6 1\n20: 8 a 1\n50: 8 a -2", 0, "50", "right_censored"),
        # Its last epoch may have converged before 30, from where on the log is complete.
        ("10: 5 a, 3 4, 7 a, 6 4\n20: 8 a 3\n30: 5 a", 5, "20", "censored"),
    ],
    ids=["stable", "a new epoch", "away without an epoch", "behind what compaction left"],
)
def test_since_when_a_group_rebalances(log: str, seen_from: int, since: str, history: str | None) -> None:
    (row,) = Story("rebalancing", log, coverage=complete_between((seen_from, 100))).replay()["GroupState"]
    assert (since_start(row.rebalancing_since), row.rebalancing_history) == (since, history)


def test_a_deleted_group_that_is_used_again_is_known_in_full_from_then_on() -> None:
    log = """
        10: 5 a, 3 4, 8 a 4
        20: 8 a x, 7 a x, 6 x, 5 a x, 3 x
        30: 5 b, 3 1, 7 b, 6 1, 8 b 1
    """
    (row,) = Story("again", log, coverage=complete_between((2, 100))).replay()["GroupState"]
    assert (row.incarnation, row.complete_from, row.has_full_history) == (1, 3, True)
    head = complete_between((0, 100), log_start_missing=True)
    (row,) = Story("again", log, coverage=head).replay()["GroupState"]
    assert (row.incarnation, row.has_full_history, row.has_lost_prefix) == (1, True, False)


def test_the_rows_of_a_members_topics_have_one_order_in_each_run() -> None:
    topics = [{"topicId": f"t{number:02}", "partitions": [0]} for number in range(20)]
    values = {
        3: {"epoch": 1},
        5: {},
        7: {"topicPartitions": topics},
        8: {"memberEpoch": 1, "state": 0, "assignedPartitions": topics[:10]},
    }
    records = [
        {"partition": 0, "offset": key, "timestamp": 10, "type": key, "key": {"groupId": "g", "memberId": "a"}}
        | {"value": value}
        for key, value in values.items()
    ]
    rows = replayed(records, inputs_of({0: 0}, None))["MemberAssignment"]
    assert [row.topic_id for row in rows] == [topic["topicId"] for topic in topics]


@pytest.mark.parametrize(
    ("text", "number"), [("2", 2), ("-1", None), ("٣", None), ("9" * 11, None), ("9" * 5000, None)]
)
def test_an_option_of_the_assignor_may_be_any_text(text: str, number: int | None) -> None:
    (row,) = Story("streams", f"10: 19 a, 23 0, 17 1 ?0 ={text}").replay()["GroupState"]
    assert row.standby_replicas == number
