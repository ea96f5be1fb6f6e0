"""The last live record of every key, as Kafka's own tool printed it."""

import json

import pytest

from kip848_records.protocol.messages import DIALECTS, RECORDS
from kip848_records.replay.decode import grouped_rows as log_rows
from kip848_records.replay.decode import latest
from kip848_records.replay.inputs import ReplayInputs
from kip848_records.replay.rows import LatestState
from kip848_records.replay.worker import replay_batches
from tests.dump_log import read_dump_logs
from tests.protocol.samples import read_capture
from tests.replay.log_batches import CAPTURES, Ignored, group_rows, log_batch
from tests.replay.test_reading import epoch, record_of


def states(batches, dialect="kafka"):
    inputs = ReplayInputs(dialect, None, {})
    results = [batch for row_class, batch in replay_batches(inputs, batches, Ignored) if row_class is LatestState]
    return [LatestState(**row) for batch in results for row in batch.to_pylist()]


@pytest.mark.parametrize("largest_bytes", [10_000, 1 << 20])
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_captures(monkeypatch, capture, largest_bytes):
    monkeypatch.setattr(latest, "_BYTES", 3 * largest_bytes)
    monkeypatch.setattr(log_rows, "LARGEST_BYTES", largest_bytes)
    last = {}
    for record in read_dump_logs(capture / "oracle" / "dump-log"):
        if record["type"] not in {0, 1}:
            last[record["partition"], record["type"], json.dumps(record["key"])] = record
    live = {record["partition"] * 2**40 + record["offset"]: record for record in last.values() if record["value"]}
    found = states([log_batch(group_rows(read_capture(capture)))])
    assert sorted(row.partition * 2**40 + row.offset for row in found) == sorted(live)
    for row in found:
        record = live[row.partition * 2**40 + row.offset]
        key = record["key"]
        assert (json.loads(row.key), json.loads(row.value)) == (key, record["value"])
        assert (row.key_type, row.record) == (record["type"], RECORDS[record["type"]].name)
        assert (row.group_id, row.member_id) == (key.get("groupId", key.get("group")), key.get("memberId"))
        assert row.timestamp.timestamp() * 1000 == pytest.approx(record["timestamp"])


def test_what_ends_a_key(monkeypatch):
    target = {"topicPartitions": []}
    members = [record_of(7, {"groupId": "g", "memberId": name}, target) for name in "abcde"]
    rows = [
        *members,
        record_of(7, {"groupId": "g", "memberId": "b"}, None),
        {**members[2], "error_code": "copies_differ"},
        {**members[3], "value": b"\0\0"},
        {"group_id": "g", "key": b"\0\x63\0\1g", "value": b"\0\0"},
        {**members[4], "timestamp": None},
        {**epoch(4, group="h"), "offset": 3},
        {**epoch(5, group="h"), "offset": 3, "partition": 1},
    ]
    for largest_bytes in (1, 100, 1000):
        monkeypatch.setattr(log_rows, "LARGEST_BYTES", largest_bytes)
        found = states([log_batch(rows)])
        assert sorted((row.partition, row.group_id, row.offset, row.member_id) for row in found) == [
            (0, "g", 0, "a"),
            (0, "g", 9, "e"),
            (0, "h", 3, None),
            (1, "h", 3, None),
        ]
        assert [row.timestamp for row in found if row.member_id == "e"] == [None]


def test_batches_fill_up(monkeypatch):
    monkeypatch.setattr(latest, "_BYTES", 1)
    batches = [log_batch([epoch(1, group="a"), epoch(2, group="b")])]
    results = list(replay_batches(ReplayInputs("kafka", None, {}), batches, Ignored))
    assert [(row_class, batch.num_rows) for row_class, batch in results] == [(LatestState, 1)] * 2


def test_names_of_early_dialects():
    value = {"memberEpoch": 4, "error": 0, "topicPartitions": [], "metadataVersion": 0, "metadataBytes": b""}
    row = record_of(DIALECTS["kip-848-draft"].by_type[7][0], {"groupId": "g", "memberId": "a"}, value)
    (state,) = states([log_batch([row])], "kip-848-draft")
    assert (state.key_type, state.record) == (7, "ConsumerGroupCurrentMemberAssignment")
