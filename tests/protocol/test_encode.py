"""The encoder is the decoder's inverse, for every record type, version and layout."""

import struct

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kip848_records.protocol.columnar import decode
from kip848_records.protocol.decoder import decode_records
from kip848_records.protocol.encode import encode_key, encode_message, uvarint
from kip848_records.protocol.messages import DIALECTS, RECORDS
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_ASSIGNMENT
from kip848_records.protocol.schema import BYTES, Array, Struct
from tests.protocol.layouts import MESSAGE_LAYOUTS
from tests.protocol.message_strategies import messages
from tests.seeds import few

# Those that dialects share are Kafka's own.
RECORDS_OF_DIALECTS = {record: dialect for dialect in reversed(DIALECTS.values()) for record in dialect.records}


def columns(kind, value):
    """A message under the names of columns; what it lacks is null."""
    if value is None:
        return None
    if isinstance(kind, Array):
        return [columns(kind.element, element) for element in value]
    if isinstance(kind, Struct):
        return {field.column: columns(field.type, value.get(field.name)) for field in kind.fields}
    return value


@pytest.mark.parametrize("layout", few(list(MESSAGE_LAYOUTS), 12, "layouts"), ids=MESSAGE_LAYOUTS.values())
@settings(max_examples=4)
@given(data=st.data())
def test_values(layout, data):
    drawn = data.draw(st.lists(messages(layout), min_size=1, max_size=12))
    encoded = [encode_message(layout, message) for message in drawn]
    assert {message[:2] for message in encoded} == {struct.pack(">h", layout.version)}
    decoded = decode(layout, pa.array([message[2:] for message in encoded]))
    assert not decoded.errors.any()
    assert decoded.values.to_pylist() == [columns(layout.struct, message) for message in drawn]


@pytest.mark.parametrize(
    ("record", "dialect"),
    RECORDS_OF_DIALECTS.items(),
    ids=[f"{dialect.name}-{record.name}-{record.key_type}" for record, dialect in RECORDS_OF_DIALECTS.items()],
)
@settings(max_examples=15)
@given(data=st.data())
def test_keys(record, dialect, data):
    drawn = data.draw(st.lists(messages(record.key_layout), min_size=1, max_size=12))
    encoded = [encode_key(record, key) for key in drawn]
    assert {key[:2] for key in encoded} == {struct.pack(">h", record.key_type)}
    (group,) = decode_records(pa.array(encoded), pa.nulls(len(encoded), pa.binary()), dialect).groups
    assert (group.record, group.layout) == (record, None)
    assert group.key.to_pylist() == [columns(record.key, key) for key in drawn]


def test_bytes_may_be_base64():
    layout = CONSUMER_PROTOCOL_ASSIGNMENT.at(0)
    texts, raw = ({"assignedPartitions": [], "userData": data} for data in ("//8=", b"\xff\xff"))
    assert encode_message(layout, texts) == encode_message(layout, raw)
    assert layout.struct.fields[1].type is BYTES


def test_a_missing_field_is_named():
    with pytest.raises(KeyError, match="epoch"):
        encode_message(RECORDS[3].value_layouts(0)[0], {"metadataHash": 1})


@pytest.mark.parametrize(
    ("value", "encoded"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32 - 1, "ffffffff0f")]
)
def test_uvarint(value, encoded):
    assert uvarint(value).hex() == encoded
