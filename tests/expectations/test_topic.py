"""The expectations about what is in the topic: who commits too often, and offsets of what is gone."""

from datetime import UTC, datetime, timedelta

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.files import Setting
from kip848_records.protocol.key_types import KeyType
from kip848_records.queries.duck import DuckTables
from tests.expectations.evaluated import evaluated
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION
from tests.made_tables import write

RULES = {each.name: each for each in EXPECTATIONS}
NOW = datetime(2026, 1, 31, tzinfo=UTC)
RUN = {"run": 1, "captured_at": NOW, "topic_content": True}
COMMITS = {"copy": "log", "key_type": 1, "group_id": "g", "topic": "t", "records": 90_000, "live_keys": 2}
COMMITS |= {
    "last_offset": 90,
    "unchanged": 10,
    "dirty_records": 60_000,
    "dirty_unchanged": 10,
    "dirty_ms": 60_000,
    "newest_at": NOW,
}
DELETED = {"copy": "log", "key_type": 3, "group_id": "g", "records": 2, "newest_at": NOW}
DELETED |= {"live_keys": 0, "kept_tombstones": 1, "last_offset": 91}
OPEN = {"copy": "log", "open_transactions": 1}
LOST = {"copy": "log", "is_base": True}
LISTED = [{"topic_id": "U", "topic": "u", "source": "topics_file"}]
WITH_GROUP = {"group_state": [{"group_id": "g", "group_type": "consumer", "state": "Stable"}]}


def ago(**time):
    return NOW - timedelta(**time)


@pytest.fixture
def found(tmp_path):
    def found(rule, *rows, run=RUN, **tables):
        write(tmp_path, "c", audit_runs=[run], topic_content=rows, **({"group_state": ()} | tables))
        return evaluated(DuckTables(str(tmp_path)), RULES[rule], Setting("warn", {}))

    return found


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({}, PASS),  # 1,000 a second
        ({"dirty_records": 60_001}, VIOLATION),
        ({"dirty_ms": 59_999}, UNKNOWN),  # less than a minute
        ({"dirty_records": None, "dirty_unchanged": None, "dirty_ms": None}, UNKNOWN),  # a dump
        ({"dirty_unchanged": 54_000}, PASS),
        ({"dirty_unchanged": 54_001}, VIOLATION),
        ({"dirty_records": 9_999, "dirty_unchanged": 9_999}, PASS),  # it costs little
        ({"dirty_records": 10_000, "dirty_unchanged": 10_000, "dirty_ms": 1}, VIOLATION),
    ],
)
def test_commit_rate(found, columns, verdict):
    (row,) = found("commit_rate", COMMITS | columns)
    assert (row.verdict, row.group_id) == (verdict, "g")


def test_the_topics_of_a_group_count_together(found):
    (row,) = found("commit_rate", COMMITS, COMMITS | {"topic": "u"}, DELETED | {"group_id": "h"})
    assert row.verdict == VIOLATION
    assert row.message == (
        "expected at most 1000 commits a second, it made 2,000 a second for 1 min: 120,000 records, an average over "
        "the part of the partition that is not cleaned"
    )


IDLE = {"dirty_unchanged": 54_001}
TOO_IDLE = "expected at most 90 % of its commits to change nothing, seen 54,001 of 60,000"
TOO_FAST = "expected at most 1000 commits a second, it made 1,000 a second for 1 min: 60,001 records"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (IDLE, TOO_IDLE),
        (IDLE | {"dirty_ms": 1}, TOO_IDLE),
        ({"dirty_records": 60_001}, TOO_FAST),
        (IDLE | {"dirty_records": 60_001}, f"{TOO_FAST}; {TOO_IDLE[:-6]}60,001"),
    ],
)
def test_each_broken_limit_is_named(found, columns, said):
    (row,) = found("commit_rate", COMMITS | {"oldest_at": ago(minutes=1)} | columns)
    assert (row.verdict, row.message) == (VIOLATION, said)


@pytest.mark.parametrize(
    ("oldest_at", "dirty_since", "said"),
    [
        (ago(minutes=2), ago(hours=2), "it made 1,500 a second for 2 min: 180,000 records"),
        (ago(days=2), ago(minutes=2), "it made 1,500 a second for 2 min: 180,000 records"),
        (ago(seconds=1), ago(hours=2), "it made 3,000 a second for 1 min: 180,000 records"),
        (ago(days=2), ago(hours=2), "it made 25 a second for 2 h: 180,000 records"),
    ],
)
def test_a_group_that_committed_for_a_part_of_the_time_is_measured_in_its_own(found, oldest_at, dirty_since, said):
    columns = {"dirty_ms": 7_200_000, "dirty_records": 180_000, "oldest_at": oldest_at}
    (row,) = found("commit_rate", COMMITS | columns, partition_content=[{"copy": "log", "dirty_since": dirty_since}])
    assert said in row.message
    assert row.verdict == (PASS if " 25 " in said else VIOLATION)


@pytest.mark.parametrize(
    ("rows", "tables", "verdict", "said"),
    [
        ([{}], WITH_GROUP, PASS, "0 committed offsets"),
        ([{"newest_at": ago(days=30)}], WITH_GROUP, PASS, ""),
        ([{}], {}, PASS, ""),  # a client that assigns partitions itself
        ([{"newest_at": ago(days=7, minutes=59)}], {}, PASS, ""),
        # An old client may have set the time to live of its offsets itself, which the count does not show.
        ([{"newest_at": ago(days=7, minutes=61)}], {}, UNKNOWN, "the group is probably expired: it has no record"),
        ([{}, DELETED], {}, VIOLATION, "it was deleted at offset 91, and left 2 committed offsets"),
        ([{}, DELETED | {"newest_at": ago(hours=1)}], {}, VIOLATION, ""),  # the clock went back
        ([{}, DELETED | {"last_offset": 89}], {}, PASS, ""),  # it commits again
        ([{}, DELETED | {"partition": 1}], {}, UNKNOWN, "another partition has records of it"),
        (
            [{"newest_at": ago(days=30)}],
            {"group_state": [{"group_id": "g", "partition": 1}]},
            UNKNOWN,
            "that lives there",
        ),
        ([{}, DELETED], {"partition_content": [OPEN | {"open_groups": ["g"]}]}, UNKNOWN, "transaction"),
        ([{}, DELETED], {"partition_content": [OPEN | {"open_groups": ["h"]}]}, VIOLATION, ""),
        ([{}, DELETED], {"partition_content": [OPEN | {"open_groups": [*"abcdefghijklmnopqrst"]}]}, UNKNOWN, ""),
        ([{}, DELETED], {"partition_history": [LOST | {"first_lost_offset": 4, "last_lost_offset": 5}]}, VIOLATION, ""),
        ([{}, DELETED], {"partition_history": [LOST | {"first_lost_offset": 4, "last_lost_offset": 92}]}, UNKNOWN, ""),
        ([{}, DELETED | {"live_keys": 1}], {}, PASS, ""),  # another record of it is there
        ([{"live_keys": 0, "newest_at": ago(days=30)}], {}, None, ""),
        (
            [{}],
            {"partition_history": [{"copy": "log", "is_base": True, "first_lost_offset": 4}]},
            UNKNOWN,
            "records were lost: its 2 committed offsets may be of a group that is gone",
        ),
        ([{}], {"topic_name": [{"topic_id": "T", "topic": "t", "source": "topics_file"}], **WITH_GROUP}, PASS, ""),
        (
            [{}],
            {"topic_name": [{"topic_id": "U", "topic": "u", "source": "cluster"}], **WITH_GROUP},
            VIOLATION,
            "it has 2 committed offsets of 1 topic that the list of topics does not have",
        ),
        (
            [{}],
            {"topic_name": LISTED, "partition_content": [OPEN | {"open_groups": ["g"]}], **WITH_GROUP},
            UNKNOWN,
            "a transaction with offsets of it is open",
        ),
        # Names of records are no list of all topics.
        ([{}], {"topic_name": [{"topic_id": "U", "topic": "u", "source": "offset_commit"}], **WITH_GROUP}, PASS, ""),
    ],
)
def test_dead_offsets(found, rows, tables, verdict, said):
    evaluated_rows = found("dead_offsets", *(COMMITS | row for row in rows), **tables)
    assert [row.verdict for row in evaluated_rows] == ([] if verdict is None else [verdict])
    assert all(said in row.message for row in evaluated_rows)


@pytest.mark.parametrize(
    "use",
    [
        {"membership": [{"group_id": "m", "topics": ["t"]}]},
        {"member_assignment": [{"group_id": "m", "topic": "t"}]},
        {
            "membership": [{"group_id": "m", "regex": "t.*"}],
            "regex_resolution": [{"group_id": "m", "regex": "t.*", "topics": ["t"]}],
        },
        {"latest_state": [{"group_id": "m", "key_type": KeyType.STREAMS_GROUP_TOPOLOGY, "value": '{"topics":["t"]}'}]},
    ],
)
def test_topics_that_members_use_are_not_gone(found, use):
    """The list of topics has fewer than there are."""
    groups = [*WITH_GROUP["group_state"], {"group_id": "m", "group_type": "consumer"}]
    (row,) = found("dead_offsets", COMMITS, topic_name=LISTED, group_state=groups, **use)
    assert row.verdict == UNKNOWN
    assert row.message == (
        "the list of topics may not be complete: it has 2 committed offsets of 1 topic that the list does not have, "
        "but members of groups use"
    )
    (row,) = found("dead_offsets", COMMITS | {"topic": "v"}, topic_name=LISTED, group_state=groups, **use)
    assert row.verdict == VIOLATION


def test_how_long_offsets_are_kept_is_the_setting_of_the_brokers(found):
    old = COMMITS | {"newest_at": ago(days=8)}
    (row,) = found("dead_offsets", old, run=RUN | {"offsets_retention_ms": 14 * 86_400_000})
    assert row.verdict == PASS


def test_records_of_replicas_count_once(found):
    copies = [COMMITS, COMMITS | {"copy": "other"}]
    history = [{"copy": copy, "is_base": copy == "log"} for copy in ("log", "other")]
    (row,) = found("commit_rate", *copies, partition_history=history)
    assert row.verdict == PASS
