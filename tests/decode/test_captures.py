"""The records of every capture, row by row, against what Kafka's own tool printed."""

import json
import re
from base64 import b64decode
from collections import defaultdict
from datetime import UTC, datetime

from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES, RECORDS
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.record_tables import DECODED
from kip848_records.specs.record_tables import RECORD_TABLES
from tests.audits import CLUSTERS, WITH_RECORD_TABLES, dumped

_NO_ID = "A" * 22


def test_every_record_table_holds_what_kafka_printed(audits, captures):
    expected = printed(captures / WITH_RECORD_TABLES)
    for table in RECORD_TABLES:
        assert_all_same(audits.rows(WITH_RECORD_TABLES, table), expected[table])


def test_a_query_decodes_what_kafka_printed(audits, capture):
    tables, expected = DuckTables(str(audits.out)), printed(capture)
    for table in sorted(DECODED):
        query = f"SELECT * FROM {table} ORDER BY {table}.partition, {table}.offset"  # noqa: S608 - our own names
        assert_all_same(tables.arrow(query, CLUSTERS[capture.name]).to_pylist(), expected[table])


def test_no_row_is_left_undecoded(audits, capture):
    assert audits.rows(capture.name, "quarantine") == []
    assert audits.rows(capture.name, "unknown_record") == []


def printed(capture):
    """The records that Kafka's tool printed, by table."""
    records = defaultdict(list)
    for record in dumped(capture):
        records[RECORDS[record["type"]].table].append(record)
    return records


def assert_all_same(rows, records):
    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        assert_same(row, record)


def assert_same(row, record):
    time = datetime.fromtimestamp(record["timestamp"] / 1000, UTC)
    assert (row["partition"], row["offset"], row["timestamp"]) == (record["partition"], record["offset"], time)
    assert row["is_tombstone"] is (record["value"] is None)
    if record["type"] in OFFSET_COMMIT_TYPES:
        assert row["transaction"] == record["transaction"]
    told = {"cluster", "partition", "offset", "timestamp", "is_tombstone", "transaction"}
    for name in ("subscription", "assignment"):  # of classic members, as Kafka's tool decodes them
        if texts := row.get(f"members_{name}"):
            assert [json.loads(text) for text in texts] == [each[name] for each in record["value"]["members"]]
        told.add(f"members_{name}")
    for side, fields in (("key", record["key"]), ("value", record["value"] or {})):
        for name, value in fields.items():
            column = snake(name)
            column = f"{side}_{column}" if column in told else column
            assert equal(value, row[column]), (column, value, row[column])
            told.add(column)
    # A tagged field that Kafka leaves out has its default; other columns are those of other versions, or of no value.
    rest = {name: value for name, value in row.items() if name not in told}
    assert not any(rest.values()) or set(rest.values()) <= {None, 0, -1, "", _NO_ID}, rest


def equal(kafka, ours):
    if isinstance(ours, bytes):
        # Kafka's tool decodes a classic member's subscription and assignment.
        printed_decoded = isinstance(kafka, (dict, list))
        return all(name.encode() in ours for name in topics(kafka)) if printed_decoded else b64decode(kafka) == ours
    if isinstance(kafka, dict):
        return all(equal(value, ours[snake(name)]) for name, value in kafka.items())
    if isinstance(kafka, list):
        return len(kafka) == len(ours) and all(map(equal, kafka, ours))
    return kafka == ours


def topics(decoded):
    if "topics" in decoded:
        return decoded["topics"]
    return [assigned["topic"] for assigned in decoded["assignedPartitions"]]


def snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
