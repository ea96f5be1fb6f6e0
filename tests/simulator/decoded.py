"""Simulated Parquet files, read back record by record: what the plain replay takes."""

import struct

import pyarrow.parquet as pq

from kip848_records.protocol.messages import RECORDS
from tests.protocol.kafka_form import kafka_form
from tests.protocol.plain_decoder import PlainDecoder, plain_decode

OFFSET_COMMIT = 1


def decoded(row):
    """A row of the Kafka source as `Capture` has records: `key` and `value` as Kafka's JSON."""
    (key_type,) = struct.unpack(">h", row["key"][:2])
    kind = RECORDS[key_type]
    value = None
    if row["value"] is not None:
        (version,) = struct.unpack(">h", row["value"][:2])
        layout = kind.value_layouts(version)[0]
        value = kafka_form(layout, layout.struct, plain_decode(layout, row["value"][2:]))
    key = PlainDecoder(kind.key_layout, row["key"][2:]).struct(kind.key)
    return {
        "partition": row["partition"],
        "offset": row["offset"],
        "timestamp": round(row["timestamp"].timestamp() * 1000),
        "type": key_type,
        "key": kafka_form(kind.key_layout, kind.key, key),
        "value": value,
    }


def rows_of(folder):
    """All rows below `folder`, by partition and offset."""
    return pq.read_table(folder).sort_by([("partition", "ascending"), ("offset", "ascending")]).to_pylist()


def records_of(folder):
    """The records of groups below `folder`; offset commits are left out, which no timeline needs."""
    return [decoded(row) for row in rows_of(folder) if row["key"][1] != OFFSET_COMMIT]


def in_ms(value):
    """A row of the truth with times as ms since 1970, nested ones too."""
    if isinstance(value, dict):
        return {name: in_ms(nested) for name, nested in value.items()}
    if isinstance(value, list):
        return [in_ms(nested) for nested in value]
    return round(value.timestamp() * 1000) if hasattr(value, "timestamp") else value
