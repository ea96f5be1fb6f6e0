"""The expectations about what is in the topic: who commits too often, and offsets of what is gone."""

from datetime import UTC, datetime, timedelta

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.files import Setting
from kip848_records.queries.duck import DuckTables
from tests.expectations.evaluated import evaluated
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION
from tests.made_tables import write

RULES = {each.name: each for each in EXPECTATIONS}
NOW = datetime(2026, 1, 31, tzinfo=UTC)
RUN = {"run": 1, "captured_at": NOW, "topic_content": True}
COMMITS = {"copy": "log", "key_type": 1, "group_id": "g", "topic": "t", "records": 90_000, "live_keys": 2}
COMMITS |= {"unchanged": 10, "dirty_records": 60_000, "dirty_unchanged": 10, "dirty_ms": 60_000, "newest_at": NOW}
DELETED = {"copy": "log", "key_type": 3, "group_id": "g", "records": 2, "newest_at": NOW}
DELETED |= {"live_keys": 0, "kept_tombstones": 1}
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
        "expected at most 1000 commits a second, it made 2,000 a second for 1 min: 120,000 records, 20 of which "
        "changed nothing"
    )


@pytest.mark.parametrize(
    ("rows", "tables", "verdict", "said"),
    [
        ([{}], WITH_GROUP, PASS, "0 committed offsets"),
        ([{"newest_at": ago(days=30)}], WITH_GROUP, PASS, ""),
        ([{}], {}, PASS, ""),  # a client that assigns partitions itself
        ([{"newest_at": ago(days=7, minutes=59)}], {}, PASS, ""),
        ([{"newest_at": ago(days=7, minutes=61)}], {}, VIOLATION, "kept for 7 d (assumed): 2 committed offsets"),
        ([{}, DELETED], {}, VIOLATION, "it was deleted at 2026-01-31 00:00:00 UTC, and left 2 committed offsets"),
        ([{}, DELETED | {"newest_at": ago(hours=1)}], {}, PASS, ""),  # it commits again
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
        # Names of records are no list of all topics.
        ([{}], {"topic_name": [{"topic_id": "U", "topic": "u", "source": "offset_commit"}], **WITH_GROUP}, PASS, ""),
    ],
)
def test_dead_offsets(found, rows, tables, verdict, said):
    evaluated_rows = found("dead_offsets", *(COMMITS | row for row in rows), **tables)
    assert [row.verdict for row in evaluated_rows] == ([] if verdict is None else [verdict])
    assert all(said in row.message for row in evaluated_rows)


def test_how_long_offsets_are_kept_is_the_setting_of_the_brokers(found):
    old = COMMITS | {"newest_at": ago(days=8)}
    (row,) = found("dead_offsets", old, run=RUN | {"offsets_retention_ms": 14 * 86_400_000})
    assert row.verdict == PASS


def test_records_of_replicas_count_once(found):
    copies = [COMMITS, COMMITS | {"copy": "other"}]
    history = [{"copy": copy, "is_base": copy == "log"} for copy in ("log", "other")]
    (row,) = found("commit_rate", *copies, partition_history=history)
    assert row.verdict == PASS
