"""The present state of a log, against a plain replay of what Kafka's own tool printed."""

import json
import random
from datetime import datetime, timedelta, timezone

import pytest

from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.log.state import latest_state, replay
from kip848_records.sources.copies import drop_copies
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.read import read_log
from tests.audits import dumped
from tests.log_rows import in_log_order, log_of

CAPTURE = "kafka-4.3.1"
EPOCH, OTHER = b"\x00\x03\x00\x01g", b"\x00\x03\x00\x01h"
VALUE, NEWER = b"\x00\x00\x00\x00\x00\x01\x00", b"\x00\x00\x00\x00\x00\x02\x00"


@pytest.fixture(scope="module")
def log(spark, captures, tmp_path_factory):
    """A capture's log rows, decoded from its segments once."""
    path = str(tmp_path_factory.mktemp("replay") / "log")
    read_log(spark, str(captures / CAPTURE / "segments")).write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture(scope="module")
def records(captures):
    return dumped(captures / CAPTURE)


def plain_replay(records):
    """Key -> the last record of it, unless that is a tombstone."""
    last = {}
    for record in records:
        if record["transaction"] != "pending":
            last[record["partition"], record["type"], json.dumps(record["key"])] = record
    return {key: record for key, record in last.items() if record["value"] is not None}


def places(records):
    return sorted((record["partition"], record["offset"]) for record in records.values())


def live(rows):
    return [(row["partition"], row["offset"]) for row in in_log_order(rows)]


def test_the_end_of_the_log(log, records):
    assert live(replay(log)) == places(plain_replay(records))


def test_order_and_partitioning_of_rows_do_not_matter(log, records):
    assert live(replay(log.orderBy("value").repartition(7))) == places(plain_replay(records))


@pytest.mark.parametrize("seed", range(3))
def test_offsets(log, records, seed):
    chosen = random.Random(seed)  # noqa: S311 - not for secrets
    ends = {p: chosen.randrange(3000) for p in (0, 1, 2)}
    kept = [record for record in records if record["offset"] <= ends[record["partition"]]]
    assert live(replay(log, offsets=ends)) == places(plain_replay(kept))


def test_a_partition_without_an_offset_is_replayed_to_its_end(log, records):
    kept = [record for record in records if record["partition"] != 1 or record["offset"] <= 700]
    assert live(replay(log, offsets={1: 700})) == places(plain_replay(kept))


def test_the_record_at_the_offset_counts(spark):
    rows = log_of(spark, [{"key": EPOCH, "value": VALUE}, {"key": EPOCH, "value": NEWER}])
    assert live(replay(rows, offsets={0: 1})) == [(0, 1)]
    assert live(replay(rows, offsets={0: 0})) == [(0, 0)]
    assert live(replay(rows, offsets={0: -1})) == []


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_a_time(log, records, share):
    times = sorted(record["timestamp"] for record in records)
    until = times[int(share * len(times))]
    kept = [record for record in records if record["timestamp"] <= until]
    at = datetime.fromtimestamp(0, timezone(timedelta(hours=9))) + timedelta(milliseconds=until)
    assert live(replay(log, until=at)) == places(plain_replay(kept))


def test_latest_state_of_every_capture_is_the_plain_replay(audits, capture):
    expected = plain_replay(dumped(capture))
    rows = audits.rows(capture.name, "latest_state")
    assert [(row["partition"], row["offset"]) for row in rows] == places(expected)
    by_place = {(record["partition"], record["offset"]): record for record in expected.values()}
    for row in rows:
        record = by_place[row["partition"], row["offset"]]
        assert row["key_type"] == record["type"]
        assert json.loads(row["key"]) == record["key"]
        assert_json_equal(json.loads(row["value"]), record["value"])
        assert row["group_id"] == record["key"].get("groupId", record["key"].get("group"))
        assert row["member_id"] == record["key"].get("memberId")


def assert_json_equal(ours, kafka):
    """Equal, but for tagged fields at their default, which either side may leave out."""
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for name in ours.keys() | kafka.keys():
            if name in ours and name in kafka:
                assert_json_equal(ours[name], kafka[name])
            else:
                assert (ours | kafka)[name] in (0, -1, None, [], "AAAAAAAAAAAAAAAAAAAAAA"), name
    elif isinstance(kafka, list) and isinstance(ours, list):
        assert len(ours) == len(kafka)
        for one, other in zip(ours, kafka, strict=True):
            assert_json_equal(one, other)
    else:
        assert ours == kafka


def test_what_does_not_count(spark):
    rows = [
        {"key": EPOCH, "value": VALUE},
        {"key": EPOCH, "value": NEWER, "transaction": "pending"},
        {"key": EPOCH, "value": NEWER, "transaction": "aborted"},
        {"key": b"unread", "value": NEWER, "error": "unread"},
        {"key": None, "value": VALUE},
        {"key": None, "control": "commit"},
        {"key": OTHER, "value": VALUE, "transaction": "unknown"},
    ]
    assert live(replay(log_of(spark, rows))) == [(0, 0), (0, 6)]


def test_a_last_row_in_error_hides_what_stood_before_it(spark):
    rows = [{"key": EPOCH, "value": VALUE}, *({"offset": 5, "key": EPOCH, "value": value} for value in (VALUE, NEWER))]
    assert live(replay(drop_copies(SparkEngine(spark), log_of(spark, rows)))) == []
    foreign = {"offset": 5, "key": EPOCH, "value": NEWER, "error_code": "other_topic", "error": "a row of topic orders"}
    assert live(replay(log_of(spark, [rows[0], foreign]))) == [(0, 0)]


@pytest.mark.parametrize("in_order", [1, -1])
def test_a_record_that_one_copy_could_not_read_is_that_of_another_copy(spark, in_order):
    bad = {"offset": 5, "timestamp": 9_000_000, "key": EPOCH, "value": b"zzzzzzzz", "error": "unread"}
    rows = [{"offset": 5, "key": EPOCH, "value": NEWER}, bad]
    assert live(replay(log_of(spark, rows[::in_order]))) == [(0, 5)]
    assert live(replay(log_of(spark, [*rows, bad | {"offset": 6}]))) == []


def test_an_undecodable_last_value_hides_what_stood_before_it(spark):
    rows = log_of(
        spark, [{"key": EPOCH, "value": VALUE}, {"key": EPOCH, "value": b"bad"}, {"key": OTHER, "value": VALUE}]
    )
    assert live(latest_state(rows)) == [(0, 2)]


class TestCopies:
    def test_of_equal_rows_the_one_that_knows_the_outcome_stays(self, spark):
        rows = [
            {"offset": offset, "key": EPOCH, "value": VALUE, "transaction": transaction}
            for offset, transactions in enumerate(
                (("unknown", "committed"), ("aborted", "pending"), ("none", "none", "none"))
            )
            for transaction in transactions
        ]
        kept = in_log_order(drop_copies(SparkEngine(spark), log_of(spark, rows)))
        assert [(row["offset"], row["transaction"], row["error"]) for row in kept] == [
            (0, "committed", None),
            (1, "aborted", None),
            (2, "none", None),
        ]

    def test_different_bytes_at_one_place_are_all_errors(self, spark):
        rows = [
            {"offset": 5, "key": EPOCH, "value": VALUE},
            {"offset": 5, "key": EPOCH, "value": NEWER},
            {"offset": 5, "key": EPOCH, "value": NEWER},
            {"offset": 5, "key": EPOCH, "value": None},
            {"offset": 5, "partition": 1, "key": EPOCH, "value": None},
            {"offset": 6, "key": EPOCH, "value": VALUE},
        ]
        kept = in_log_order(drop_copies(SparkEngine(spark), log_of(spark, rows)))
        conflicts = [row for row in kept if row["error_code"] == ErrorCode.CONFLICT]
        assert {row["value"] for row in conflicts} == {VALUE, NEWER, None}
        assert len(conflicts) == 3
        assert [(row["partition"], row["offset"]) for row in kept if row["error"] is None] == [(0, 6), (1, 5)]

    def test_rows_that_could_not_be_read_stay_as_they_are(self, spark):
        rows = [{"offset": None, "partition": None, "value": b"x", "error": "unread"} for _ in range(2)]
        rows += [{"offset": 3, "key": EPOCH, "value": VALUE}, {"offset": 3, "value": b"x", "error": "unread"}]
        kept = in_log_order(drop_copies(SparkEngine(spark), log_of(spark, rows)))
        assert sorted(str(row["error"]) for row in kept) == ["None", "unread", "unread", "unread"]
