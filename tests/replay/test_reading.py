"""Log rows become the records of their groups: checked against Kafka's own serializers and Kafka's own dump."""

from itertools import groupby

import pyarrow as pa
import pytest

from kip848_records.kinds import Role
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.keys import key_columns, lacks_group
from kip848_records.protocol.messages import DIALECTS, RECORDS
from kip848_records.replay.decode import grouped_rows as log_rows
from kip848_records.replay.decode.columns import partition_sets
from kip848_records.replay.decode.grouped_rows import LOG_SCHEMA
from kip848_records.replay.decode.latest import RawRecord
from kip848_records.replay.numbers import PartitionNumbers
from kip848_records.replay.reading import RecordReader
from kip848_records.replay.rows import Quarantine, UnknownRecord
from tests.dump_log import read_dump_logs
from tests.protocol.samples import VECTOR_RELEASES, read_capture, read_vectors
from tests.replay.log_batches import CAPTURES, cut, group_rows, log_batch
from tests.replay.plain_records import expected, found

LARGE_SCHEMA = pa.schema([(f.name, {pa.binary(): pa.large_binary()}.get(f.type, f.type)) for f in LOG_SCHEMA])


def read(batches, dialect="kafka", numbers=None):
    """All that was decoded: records by (partition, group id), and the other rows by class."""
    groups, others = {}, {Quarantine: [], UnknownRecord: []}
    for decoded in RecordReader(dialect, numbers or PartitionNumbers()).read(batches):
        for part in decoded.groups:
            groups.setdefault((part.partition, part.group_id), []).extend(part.records)
        for row_class, batch in decoded.others:
            others[row_class] += [row_class(**row) for row in batch.to_pylist()]
    return groups, others


def record_of(record, key, value, **fields):
    """A log row with a record; the dialect's record of the key type, or a record."""
    record = RECORDS[record] if isinstance(record, int) else record
    encoded = None if value is None else encode_message(record.value_layouts(0)[0], value)
    return {"group_id": key["groupId"], "key": encode_key(record, key), "value": encoded, **fields}


def epoch(number, group="g", **fields):
    return record_of(3, {"groupId": group}, {"epoch": number}, **fields)


@pytest.mark.parametrize("release", VECTOR_RELEASES)
def test_what_kafkas_serializers_wrote(release):
    vectors = [vector for vector in read_vectors(release) if vector["key_type"] not in {0, 1}]
    rows = [
        {
            "partition": 3,
            "offset": offset,
            "timestamp": offset,
            "key": bytes.fromhex(vector["key_hex"]),
            "value": None if vector["value_hex"] is None else bytes.fromhex(vector["value_hex"]),
        }
        for offset, vector in enumerate(vectors)
    ]
    numbers = PartitionNumbers()
    groups, others = read(cut(log_batch(group_rows(rows)), 300), VECTOR_RELEASES[release], numbers)
    assert not any(others.values())
    records = [record for group in groups.values() for record in group]
    assert sorted(record.offset for record in records) == list(range(len(vectors)))
    for record in records:
        vector = vectors[record.offset]
        assert found(record, numbers) == expected(vector["key_type"], vector["key"], vector["value"])
        assert (record.timestamp, record.leader_epoch) == (record.offset, None)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
@pytest.mark.parametrize("rows_a_batch", [7, 100_000])
def test_what_kafkas_own_tool_printed(capture, rows_a_batch):
    dumped = {}
    for record in read_dump_logs(capture / "oracle" / "dump-log"):
        if record["type"] not in {0, 1}:
            group = record["key"].get("groupId", record["key"].get("group"))
            dumped.setdefault((record["partition"], group), []).append(record)
    rows = group_rows(read_capture(capture))
    sizes = {(row["partition"], row["offset"]): len(row["key"]) + len(row["value"] or b"") for row in rows}
    numbers = PartitionNumbers()
    groups, others = read(cut(log_batch(rows), rows_a_batch), numbers=numbers)
    assert not any(others.values())
    assert groups.keys() == dumped.keys()
    for key, records in groups.items():
        assert [(r.offset, r.timestamp) for r in records] == [(d["offset"], d["timestamp"]) for d in dumped[key]]
        for record, line in zip(records, dumped[key], strict=True):
            assert found(record, numbers) == expected(line["type"], line["key"], line["value"])
            assert record.size == sizes[key[0], record.offset]


def test_the_draft_writes_all_targets_in_one_record():
    draft = {record.table: record for record in DIALECTS["kip-848-draft"].records}
    assignment = draft["consumer_group_target_assignment"]
    partitions = [{"topicId": "AAECAwQFBgcICQoLDA0ODw", "partitions": [0, 2]}]
    member = {"error": 0, "version": 0, "metadata": b""}
    names = ["a", *(f"b{number}" for number in range(300))]
    members = [{"memberId": name, "topicPartitions": partitions if name == "a" else []} for name in names]
    current = {"memberEpoch": 4, "error": 0, "topicPartitions": partitions, "metadataVersion": 0, "metadataBytes": b""}
    types = DIALECTS["kip-848-draft"].by_type
    rows = [
        record_of(
            assignment, {"groupId": "g"}, {"assignmentEpoch": 4, "members": [member | one for one in members]}, offset=9
        ),
        record_of(types[7][0], {"groupId": "g", "memberId": "a"}, current, offset=10),
        record_of(draft["group_configuration"], {"groupId": "g"}, {"configurations": []}, offset=11),
        record_of(types[8][1], {"groupId": "g", "memberId": "a"}, None, offset=12),
        record_of(assignment, {"groupId": "g"}, None, offset=13),
    ]
    batch = log_batch(rows)
    numbers = PartitionNumbers()
    groups, others = read([batch], "kip-848-draft", numbers)
    assert not any(others.values())
    records = groups[0, "g"]
    assert [(r.offset, r.role, r.key_type, r.member_id) for r in records] == [
        *((9, Role.MEMBER_TARGET, 7, name) for name in names),
        (9, Role.ASSIGNMENT_EPOCH, 6, None),
        (10, Role.CURRENT_ASSIGNMENT, 8, "a"),
        (12, Role.CURRENT_ASSIGNMENT, 8, "a"),
        (13, Role.ASSIGNMENT_EPOCH, 6, None),
    ]
    both = {("AAECAwQFBgcICQoLDA0ODw", 0), ("AAECAwQFBgcICQoLDA0ODw", 2)}
    assert [found(r, numbers)["value"] for r in records] == [
        *(both if name == "a" else set() for name in names),
        4,
        (4, None, None, both, set()),
        None,
        None,
    ]
    lengths = [len(batch["key"][row].as_py()) + len(batch["value"][row].as_py() or b"") for row in (0, 1, 3, 4)]
    assert [r.size for r in records] == [*(0 for _ in names), *lengths]


def test_what_does_not_decode_is_lost_to_its_group():
    whole = epoch(5)
    member = record_of(7, {"groupId": "g", "memberId": "m"}, {"topicPartitions": []})
    classic = RECORDS[2]
    rows = [
        whole,
        {**whole, "value": whole["value"][:-2]},
        {**member, "value": b"\0\x09" + member["value"][2:]},
        {**member, "key": member["key"] + b"x"},
        {"group_id": "g", "key": encode_key(classic, {"group": "g"}), "value": b"\0"},
        epoch(6),
    ]
    groups, others = read([log_batch(rows)])
    assert [(r.offset, r.kind, r.role, r.key_type, r.value, r.timestamp, r.size) for r in groups[0, "g"]] == [
        (0, "consumer", Role.GROUP_EPOCH, 3, (5, 0), 1000, len(whole["key"]) + len(whole["value"])),
        (1, "consumer", Role.LOST, 3, None, 1001, len(whole["key"]) + len(whole["value"]) - 2),
        (2, "consumer", Role.LOST, 7, None, 1002, len(member["key"]) + len(member["value"])),
        (3, "consumer", Role.LOST, 7, None, 1003, len(member["key"]) + 1 + len(member["value"])),
        (4, "classic", Role.LOST, 2, None, 1004, len("g") + 4 + 1),
        (5, "consumer", Role.GROUP_EPOCH, 3, (6, 0), 1005, len(whole["key"]) + len(whole["value"])),
    ]
    assert [(row.offset, row.error_code, row.reason, row.position) for row in others[Quarantine]] == [
        (1, "value_truncated", "value: a field runs past the end", 2),
        (2, "value_unknown_version", "value: no such value version", 0),
        (3, "key_trailing_bytes", "key: bytes remain after the last field", len(member["key"])),
        (4, "value_truncated", "value: a field runs past the end", 0),
    ]
    assert [row.key for row in others[Quarantine]] == [row["key"] for row in rows[1:5]]
    assert [(row.key_type, row.group_id) for row in others[Quarantine]] == [(3, "g"), (7, "g"), (7, "g"), (2, "g")]
    assert [row.value for row in others[Quarantine]] == [row["value"] for row in rows[1:5]]


def test_what_the_source_could_not_read():
    whole = epoch(5)
    error = {"error_code": "crc_mismatch", "error": "the batch at byte 61 has a wrong CRC"}
    rows = [
        {**error, "partition": None, "offset": None, "key": None, "value": b"bytes"},
        {**error, "partition": None, "offset": 0, "group_id": "g", "key": whole["key"]},
        {**error, "offset": None, "group_id": "g", "key": whole["key"]},
        {**error, "offset": 1, "key": None, "value": b"bytes", "timestamp": None},
        {**error, "offset": 2, "group_id": "g", "key": b"\0\0" + whole["key"][2:], "value": b""},
        {**error, "offset": 3, "group_id": "g", "key": whole["key"], "value": whole["value"]},
        {**epoch(7), "offset": 4},
        {**error, "offset": 5, "error": None, "group_id": "g", "key": b"\0", "value": None},
        {**whole, "offset": 6, "value": b""},
        {"offset": 7, "group_id": "g", "key": b"\0\x63\0\1g", "value": b"v"},
    ]
    groups, others = read([log_batch(rows)])
    assert [(r.offset, r.role, r.key_type, r.value) for r in groups[0, "g"]] == [
        (3, Role.LOST, 3, None),
        (4, Role.GROUP_EPOCH, 3, (7, 0)),
        (6, Role.LOST, 3, None),
    ]
    assert [(row.offset, row.key_type) for row in others[UnknownRecord]] == [(7, 99)]
    assert groups.keys() == {(0, "g")}
    reason = error["error"]
    assert [(row.offset, row.error_code, row.reason, row.position) for row in others[Quarantine]] == [
        *((offset, "crc_mismatch", reason, None) for offset in (None, 0, None, 1, 2, 3)),
        (5, "crc_mismatch", "crc_mismatch", None),
        (6, "value_truncated", "value: a field runs past the end", 0),
    ]
    of_keys = [(row.key_type, row.group_id) for row in others[Quarantine]]
    assert of_keys == [*((None, None), (3, "g"), (3, "g"), (None, None)), (0, "g"), (3, "g"), (None, None), (3, "g")]


def test_rows_without_a_group():
    rows = [
        {"key": None, "value": b"v"},
        {"key": b"\0", "value": b"v"},
        {"key": b"\0\x63\0\1g", "value": b"v"},
        {"key": b"\xff\xff", "value": None, "timestamp": None},
        {"key": b"\0\3\0\1\xff", "value": None},
        {"group_id": "g", "key": b"\0\x63\0\1g", "value": b"v"},
    ]
    groups, others = read([log_batch(rows)])
    assert groups == {(0, "g"): []}
    assert [(row.offset, row.error_code, row.position) for row in others[Quarantine]] == [
        (0, "missing_key", 0),
        (1, "missing_key", 0),
        (4, "key_invalid_utf8", 4),
    ]
    assert [(row.key_type, row.group_id) for row in others[Quarantine]] == [(None, None), (None, None), (3, None)]
    unknown = [(row.offset, row.key_type, row.key, row.value) for row in others[UnknownRecord]]
    assert unknown == [(2, 99, b"\0\x63\0\1g", b"v"), (3, -1, b"\xff\xff", None), (5, 99, b"\0\x63\0\1g", b"v")]
    assert others[UnknownRecord][1].timestamp is None
    with pytest.raises(ValueError, match="group id in its key"):
        read([log_batch([{**epoch(1), "group_id": None}])])


def test_damaged_partitions_do_not_become_those_of_another_topic():
    topics = ["AAECAwQFBgcICQoLDA0ODw", "AQECAwQFBgcICQoLDA0ODw"]
    assigned = [{"topicId": topic, "partitions": [-1]} for topic in topics]
    numbers = PartitionNumbers()
    groups, _ = read(
        [log_batch([record_of(7, {"groupId": "g", "memberId": "m"}, {"topicPartitions": assigned})])], numbers=numbers
    )
    (record,) = groups[0, "g"]
    assert {numbers.name(number) for number in record.value} == {(topic, -1) for topic in topics}


@pytest.mark.parametrize("schema", [LOG_SCHEMA, LARGE_SCHEMA], ids=["binary", "large_binary"])
@pytest.mark.parametrize("largest_bytes", [1, 500, 1 << 20])
@pytest.mark.parametrize("rows_a_batch", [1, 13, 100_000])
def test_batches_do_not_matter(monkeypatch, schema, largest_bytes, rows_a_batch):
    rows = group_rows(read_capture(CAPTURES[0]))[:100]
    rows[7] |= {"value": b"\0"}
    rows[9] |= {"timestamp": None}
    rows[11] |= {"leader_epoch": 4}
    plain, others = read([log_batch(rows)])
    monkeypatch.setattr(log_rows, "LARGEST_BYTES", largest_bytes)
    assert read(cut(log_batch(rows, schema), rows_a_batch)) == (plain, others)
    assert len(others[Quarantine]) == 1
    records = [record for group in plain.values() for record in group]
    assert (records[9].timestamp, records[11].leader_epoch) == (None, 4)
    assert [record.leader_epoch for record in records if record.leader_epoch] == [4]


@pytest.mark.parametrize(
    "rest", [b"", b"\0\1g", b"\0\1g\0\1m", b"\xff\xff", b"\x7f\xffg", b"\2g\0", b"\0\1\xff"], ids=repr
)
@pytest.mark.parametrize("value", [None, b"", b"\0\0\1", b"\xff" * 9], ids=repr)
def test_a_type_of_a_later_release_is_unknown_and_no_damage(rest, value):
    """Kafka's trunk has a type 24 for streams groups. Its key may have any layout."""
    key = b"\0\x18" + rest
    groups, others = read([log_batch([{"key": key, "value": value}])])
    assert (groups, others[Quarantine]) == ({}, [])
    assert [(row.key_type, row.key, row.value) for row in others[UnknownRecord]] == [(24, key, value)]
    key_type, group_id = key_columns(pa.array([key]))
    assert (key_type.to_pylist(), group_id.to_pylist()) == ([24], [None])
    assert lacks_group(key_type, group_id).to_pylist() == [False]


def test_parts_of_a_batch(monkeypatch):
    monkeypatch.setattr(log_rows, "LARGEST_BYTES", 100)
    sizes = [40, 60, 1, 99, 100, 101, 30, 70, 1]
    batch = log_batch([{"key": b"k" * (size // 2), "value": b"v" * (size - size // 2)} for size in sizes])
    assert [part.num_rows for part in log_rows.parts(batch.slice(1))] == [2, 1, 1, 1, 2, 1]
    assert [part.num_rows for part in log_rows.parts(batch)] == [2, 2, 1, 1, 2, 1]
    assert list(log_rows.parts(batch.slice(0, 0))) == []


def test_sets_of_a_slice():
    kind = RECORDS[7].values[0].struct.arrow.field("topic_partitions").type
    topics = ["AAECAwQFBgcICQoLDA0ODw", "AQECAwQFBgcICQoLDA0ODw"]
    lists = pa.array(
        [[{"topic_id": topic, "partitions": [row, 9]} for topic in topics[:row]] for row in (1, 2, 0)], kind
    )
    numbers = PartitionNumbers()
    sets = partition_sets(lists.slice(1), numbers)
    assert [{numbers.name(number) for number in one} for one in sets] == [
        {(topic, partition) for topic in topics for partition in (2, 9)},
        set(),
    ]


def test_last_raw_records_of_keys():
    rows = [
        epoch(1, offset=4, timestamp=70),
        record_of(6, {"groupId": "g"}, {"assignmentEpoch": 1}, offset=5),
        epoch(2, offset=6, timestamp=None),
        record_of(6, {"groupId": "g"}, None, offset=7),
        epoch(3, partition=1, offset=2),
        {**epoch(4, partition=1, offset=3), "error_code": "copies_differ"},
    ]
    (decoded,) = RecordReader("kafka", PartitionNumbers()).read([log_batch(rows)])
    first, second = decoded.groups
    assert first.latest == [(rows[2]["key"], RawRecord(6, None, rows[2]["value"])), (rows[3]["key"], None)]
    assert second.latest == [(rows[5]["key"], None)]


def test_groups_follow_each_other():
    rows = group_rows(read_capture(CAPTURES[0]))
    (decoded,) = RecordReader("kafka", PartitionNumbers()).read([log_batch(rows)])
    in_order = [key for key, _ in groupby(rows, key=lambda row: (row["partition"], row["group_id"]))]
    assert [(part.partition, part.group_id) for part in decoded.groups] == in_order
    assert decoded.key_types >= {3, 5, 6, 7, 8}
