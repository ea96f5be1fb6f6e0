"""What the dialects share and where they differ, and how records of one key type are told apart."""

import pyarrow as pa
import pytest

from kip848_records.protocol.columnar import Error
from kip848_records.protocol.decoder import decode_records
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import DIALECTS, KAFKA, RECORDS

TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"
CONFIGURATION = {"configurations": [{"name": "consumer.session.timeout.ms", "value": "45000"}]}
EARLY_ASSIGNMENT = {
    "memberEpoch": 3,
    "error": 0,
    "topicPartitions": [{"topicId": TOPIC_ID, "partitions": [0, 7]}],
    "metadataVersion": -1,
    "metadataBytes": b"\x00",
}


def record(dialect, key_type, name):
    return next(r for r in DIALECTS[dialect].by_type[key_type] if r.name == name)


def encode(dialect, key_type, name, key, value):
    its = record(dialect, key_type, name)
    return encode_key(its, key), encode_message(its.value_layouts(0)[0], value)


def decode(dialect, records):
    keys, values = zip(*records, strict=True)
    return decode_records(pa.array(keys, pa.binary()), pa.array(values, pa.binary()), DIALECTS[dialect])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_type_8_key_without_a_member_is_a_group_configuration(dialect):
    group, member = {"groupId": "g"}, {"groupId": "g", "memberId": "m"}
    configuration = encode(dialect, 8, "GroupConfiguration", group, CONFIGURATION)
    current = record(dialect, 8, "ConsumerGroupCurrentMemberAssignment")
    tombstone, gone = (encode_key(current, member), None), (configuration[0], None)
    broken = configuration[0] + b"\0", configuration[1]
    batch = decode(dialect, [configuration, tombstone, gone, broken, configuration])
    found = {row: (g.record.name, g.layout is None) for g in batch.groups for row in g.rows.tolist()}
    assert found == {
        0: ("GroupConfiguration", False),
        1: ("ConsumerGroupCurrentMemberAssignment", True),
        2: ("GroupConfiguration", True),
        4: ("GroupConfiguration", False),
    }
    (live,) = (g for g in batch.groups if g.record.name == "GroupConfiguration" and g.layout)
    assert live.value.to_pylist() == [CONFIGURATION] * 2
    assert batch.errors.tolist()[3] != Error.NONE
    assert batch.in_key.tolist() == [False, False, False, True, False]


def test_the_draft_has_the_target_assignment_in_one_record_and_current_assignments_at_type_7():
    target = {
        "assignmentEpoch": 4,
        "members": [
            {
                "memberId": "m",
                "error": 0,
                "topicPartitions": EARLY_ASSIGNMENT["topicPartitions"],
                "version": 1,
                "metadata": b"",
            }
        ],
    }
    member = {"groupId": "g", "memberId": "m"}
    records = [
        encode("kip-848-draft", 6, "ConsumerGroupTargetAssignment", {"groupId": "g"}, target),
        encode("kip-848-draft", 7, "ConsumerGroupCurrentMemberAssignment", member, EARLY_ASSIGNMENT),
        encode("kip-848-draft", 8, "ConsumerGroupCurrentMemberAssignment", member, EARLY_ASSIGNMENT),
    ]
    batch = decode("kip-848-draft", records)
    assert not batch.errors.any()
    values = {row: value for g in batch.groups for row, value in zip(g.rows.tolist(), g.value.to_pylist(), strict=True)}
    assert values[0]["assignment_epoch"] == 4
    assert values[0]["members"][0]["topic_partitions"] == [{"topic_id": TOPIC_ID, "partitions": [0, 7]}]
    assert values[1] == values[2]
    assert values[1]["member_epoch"] == 3
    assert decode("kafka", records).errors.all()


def test_a_column_has_one_type_in_all_dialects():
    types = {}
    for dialect in DIALECTS.values():
        for its in dialect.records:
            for side, kind in [("key", its.key), *(("value", message.struct) for message in its.values)]:
                for field in kind.fields:
                    types.setdefault((its.table, side, field.column), set()).add(str(field.type.arrow))
    assert [column for column, found in types.items() if len(found) > 1] == []


def test_the_dialects_have_the_same_key_types_and_the_usual_records_are_kafka_s():
    assert {frozenset(dialect.by_type) for dialect in DIALECTS.values()} == {frozenset(RECORDS)}
    assert next(iter(DIALECTS.values())) is KAFKA
    assert [r.name for r in KAFKA.by_type[8]] == ["ConsumerGroupCurrentMemberAssignment", "GroupConfiguration"]
