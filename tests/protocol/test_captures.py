"""Every record of every capture is printed as Kafka's own tool printed it."""

import json

import pyarrow as pa

from kip848_records.protocol.decoder import decode_records
from kip848_records.protocol.kafka_json import key_json, value_json
from tests.dump_log import read_dump_logs
from tests.protocol.kafka_form import without_defaults
from tests.protocol.samples import read_capture


def test_json_equals_the_dump_of_kafkas_tool(capture):
    rows = list(read_capture(capture))
    batch = decode_records(pa.array([row["key"] for row in rows]), pa.array([row["value"] for row in rows]))
    assert not batch.errors.any()
    assert not len(batch.unknown)
    printed = {
        (row["partition"], row["offset"]): row for row in read_dump_logs(capture / "oracle" / "dump-log", aborted=True)
    }
    assert len(printed) == len(rows)
    for group in batch.groups:
        for row, key, value in zip(group.rows, key_json(group).to_pylist(), value_json(group).to_pylist(), strict=True):
            expected = printed.pop((rows[row]["partition"], rows[row]["offset"]))
            assert (group.record.key_type, json.loads(key)) == (expected["type"], expected["key"])
            ours = None if value is None else json.loads(value)
            if group.layout is not None:
                expected["value"] = without_defaults(group.layout, group.layout.struct, expected["value"], ours)
            assert ours == expected["value"]
    assert not printed
