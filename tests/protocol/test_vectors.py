"""Records that Kafka's own serializers encoded decode to what went in, and encode to the same bytes."""

import json

import pyarrow as pa
import pytest

from kip848_records.protocol.decoder import decode_records
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.kafka_json import key_json, value_json
from kip848_records.protocol.messages import DIALECTS, RECORDS
from tests.protocol.kafka_form import kafka_form, without_defaults
from tests.protocol.samples import VECTOR_RELEASES, read_vectors


@pytest.fixture(params=VECTOR_RELEASES, scope="module")
def decoded(request):
    """Each vector with the group in which it decoded and its place there."""
    vectors = read_vectors(request.param)
    keys = pa.array([bytes.fromhex(vector["key_hex"]) for vector in vectors])
    values = pa.array([None if (text := vector["value_hex"]) is None else bytes.fromhex(text) for vector in vectors])
    batch = decode_records(keys, values, DIALECTS[VECTOR_RELEASES[request.param]])
    assert not batch.errors.any()
    assert not len(batch.unknown)
    places = {int(row): (group, place) for group in batch.groups for place, row in enumerate(group.rows)}
    assert sorted(places) == list(range(len(vectors)))
    return [(vector, *places[row]) for row, vector in enumerate(vectors)]


def test_every_record_type_is_there(decoded):
    share, streams = {*range(9, 17)}, {17, *range(19, 24)}
    types = {vector["key_type"] for vector, _, _ in decoded}
    assert types in ({*range(9)}, {*range(9)} | share, {*range(9)} | share - {9} | streams)


def test_typed_values(decoded):
    for vector, group, place in decoded:
        assert group.record.key_type == vector["key_type"]
        key = kafka_form(group.record.key_layout, group.record.key, group.key[place].as_py())
        assert key == vector["key"]
        if group.layout is None:
            assert vector["value"] is None
            continue
        assert group.layout.version == vector["value_version"]
        value = kafka_form(group.layout, group.layout.struct, group.value[place].as_py())
        assert value == without_defaults(group.layout, group.layout.struct, vector["value"], value)


def test_json(decoded):
    texts = {id(group): (key_json(group).to_pylist(), value_json(group).to_pylist()) for _, group, _ in decoded}
    for vector, group, place in decoded:
        key, value = (texts[id(group)][side][place] for side in (0, 1))
        assert json.loads(key) == vector["key"]
        if group.layout is None:
            assert value is None
        else:
            ours = json.loads(value)
            expected = without_defaults(group.layout, group.layout.struct, vector["value"], ours)
            if group.record is RECORDS[5]:
                # Absent is an empty struct to Kafka. Its brokers always write the field, so ours prints what they mean.
                expected.setdefault("classicMemberMetadata", None)
            assert ours == expected


def test_encode(decoded):
    for vector, group, _ in decoded:
        assert encode_key(group.record, vector["key"]).hex() == vector["key_hex"]
        if group.layout is not None:
            assert encode_message(group.layout, vector["value"]).hex() == vector["value_hex"]


@pytest.mark.parametrize(("key_type", "layouts"), [(9, 1), (11, 2), (15, 2)])
def test_types_that_changed_in_place(key_type, layouts):
    """The releases disagree on the layout; rows of both in one batch find theirs."""
    vectors = [v for release in VECTOR_RELEASES for v in read_vectors(release) if v["key_type"] == key_type]
    keys, values = ([bytes.fromhex(v[side] or "") for v in vectors] for side in ("key_hex", "value_hex"))
    alive = [row for row, vector in enumerate(vectors) if vector["value"] is not None]
    assert len(alive) > 20
    alive.sort(key=lambda row: values[row][-3:])  # mixes the releases
    batch = decode_records(pa.array([keys[row] for row in alive]), pa.array([values[row] for row in alive]))
    assert not batch.errors.any()
    assert set(batch.positions) == {-1}
    assert len(batch.groups) == len({group.layout for group in batch.groups}) == layouts
    for group in batch.groups:
        for row, value in zip(group.rows, group.value.to_pylist(), strict=True):
            assert kafka_form(group.layout, group.layout.struct, value) == vectors[alive[row]]["value"]


def test_type_9_as_3_9_wrote_it():
    value = {"initializedTopics": [], "deletingTopics": [{"topicId": "AAECAwQFBgcICQoLDA0ODw", "topicName": "t"}]}
    newer, older = RECORDS[9].value_layouts(0)
    key = encode_key(RECORDS[9], {"groupId": "g"})
    batch = decode_records(pa.array([key]), pa.array([encode_message(older, value)]))
    (group,) = batch.groups
    assert group.layout is older
    assert kafka_form(older, older.struct, group.value[0].as_py()) == value
    assert newer is not older
