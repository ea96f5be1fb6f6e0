"""The present state of a log, against a plain replay of what Kafka's own tool printed."""

import json
import random
from datetime import datetime, timedelta, timezone

import pytest

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.log.state import state_as_json, state_of
from kip848_records.sources.copies import drop_copies
from kip848_records.sources.error_codes import ErrorCode
from tests.audits import dumped
from tests.log_rows import in_log_order, log_of
from tests.sources.batches import read_rows

CAPTURE = "kafka-4.3.1"
EPOCH, OTHER = b"\x00\x03\x00\x01g", b"\x00\x03\x00\x01h"
VALUE, NEWER = b"\x00\x00\x00\x00\x00\x01\x00", b"\x00\x00\x00\x00\x00\x02\x00"


@pytest.fixture(scope="module")
def log(captures):
    """A capture's log rows."""
    return read_rows(EmbeddedEngine(), str(captures / CAPTURE / "segments"))


@pytest.fixture
def replay(engine):
    """The rows of the state of a log."""
    return lambda log, **limits: state_of(engine, engine.relation(log), **limits)


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


def test_the_end_of_the_log(log, records, replay):
    assert live(replay(log)) == places(plain_replay(records))


def test_the_order_of_rows_does_not_matter(log, records, replay):
    assert live(replay(log.sort_by("value"))) == places(plain_replay(records))


@pytest.mark.parametrize("seed", range(3))
def test_offsets(log, records, replay, seed):
    chosen = random.Random(seed)  # noqa: S311 - not for secrets
    ends = {p: chosen.randrange(3000) for p in (0, 1, 2)}
    kept = [record for record in records if record["offset"] <= ends[record["partition"]]]
    assert live(replay(log, offsets=ends)) == places(plain_replay(kept))


def test_a_partition_without_an_offset_is_replayed_to_its_end(log, records, replay):
    kept = [record for record in records if record["partition"] != 1 or record["offset"] <= 700]
    assert live(replay(log, offsets={1: 700})) == places(plain_replay(kept))


def test_the_record_at_the_offset_counts(replay):
    rows = log_of([{"key": EPOCH, "value": VALUE}, {"key": EPOCH, "value": NEWER}])
    assert live(replay(rows, offsets={0: 1})) == [(0, 1)]
    assert live(replay(rows, offsets={0: 0})) == [(0, 0)]
    assert live(replay(rows, offsets={0: -1})) == []


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_a_time(log, records, replay, share):
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


def test_what_does_not_count(replay):
    rows = [
        {"key": EPOCH, "value": VALUE},
        {"key": EPOCH, "value": NEWER, "transaction": "pending"},
        {"key": EPOCH, "value": NEWER, "transaction": "aborted"},
        {"key": b"unread", "value": NEWER, "error": "unread"},
        {"key": None, "value": VALUE},
        {"key": None, "control": "commit"},
        {"key": OTHER, "value": VALUE, "transaction": "unknown"},
    ]
    assert live(replay(log_of(rows))) == [(0, 0), (0, 6)]


def test_a_last_row_in_error_hides_what_stood_before_it(engine, replay):
    rows = [{"key": EPOCH, "value": VALUE}, *({"offset": 5, "key": EPOCH, "value": value} for value in (VALUE, NEWER))]
    assert live(replay(drop_copies(engine, engine.relation(log_of(rows))))) == []
    foreign = {"offset": 5, "key": EPOCH, "value": NEWER, "error_code": "other_topic", "error": "a row of topic orders"}
    assert live(replay(log_of([rows[0], foreign]))) == [(0, 0)]


@pytest.mark.parametrize("in_order", [1, -1])
def test_a_record_that_one_copy_could_not_read_is_that_of_another_copy(replay, in_order):
    bad = {"offset": 5, "timestamp": 9_000_000, "key": EPOCH, "value": b"zzzzzzzz", "error": "unread"}
    rows = [{"offset": 5, "key": EPOCH, "value": NEWER}, bad]
    assert live(replay(log_of(rows[::in_order]))) == [(0, 5)]
    assert live(replay(log_of([*rows, bad | {"offset": 6}]))) == []


def test_an_undecodable_last_value_hides_what_stood_before_it(engine):
    rows = log_of([{"key": EPOCH, "value": VALUE}, {"key": EPOCH, "value": b"bad"}, {"key": OTHER, "value": VALUE}])
    assert live(state_as_json(engine, engine.relation(rows), "kafka")) == [(0, 2)]


class TestCopies:
    def test_of_equal_rows_the_one_that_knows_the_outcome_stays(self, engine):
        rows = [
            {"offset": offset, "key": EPOCH, "value": VALUE, "transaction": transaction}
            for offset, transactions in enumerate(
                (("unknown", "committed"), ("aborted", "pending"), ("none", "none", "none"))
            )
            for transaction in transactions
        ]
        kept = in_log_order(drop_copies(engine, engine.relation(log_of(rows))))
        assert [(row["offset"], row["transaction"], row["error"]) for row in kept] == [
            (0, "committed", None),
            (1, "aborted", None),
            (2, "none", None),
        ]

    def test_different_bytes_at_one_place_are_all_errors(self, engine):
        rows = [
            {"offset": 5, "key": EPOCH, "value": VALUE},
            {"offset": 5, "key": EPOCH, "value": NEWER},
            {"offset": 5, "key": EPOCH, "value": NEWER},
            {"offset": 5, "key": EPOCH, "value": None},
            {"offset": 5, "partition": 1, "key": EPOCH, "value": None},
            {"offset": 6, "key": EPOCH, "value": VALUE},
        ]
        kept = in_log_order(drop_copies(engine, engine.relation(log_of(rows))))
        conflicts = [row for row in kept if row["error_code"] == ErrorCode.CONFLICT]
        assert {row["value"] for row in conflicts} == {VALUE, NEWER, None}
        assert len(conflicts) == 3
        assert [(row["partition"], row["offset"]) for row in kept if row["error"] is None] == [(0, 6), (1, 5)]

    def test_rows_that_could_not_be_read_stay_as_they_are(self, engine):
        rows = [{"offset": None, "partition": None, "value": b"x", "error": "unread"} for _ in range(2)]
        rows += [{"offset": 3, "key": EPOCH, "value": VALUE}, {"offset": 3, "value": b"x", "error": "unread"}]
        kept = in_log_order(drop_copies(engine, engine.relation(log_of(rows))))
        assert sorted(str(row["error"]) for row in kept) == ["None", "unread", "unread", "unread"]
