"""Rows that are no good records: each is somewhere, once, with its bytes and the reason."""

import re
from contextlib import redirect_stdout
from io import StringIO

import pyarrow as pa
import pytest
from chispa.schema_comparer import assert_schema_equality

from kip848_records.decode import decode
from kip848_records.decode import records as decode_module
from kip848_records.decode.schemas import FAILURE_SCHEMA, UNKNOWN_SCHEMA, record_schema
from tests.log_rows import in_log_order, log_of
from tests.sessions import BOTH

GROUP = b"\x00\x01g"
EPOCH = b"\x00\x03" + GROUP
# Version 0, an epoch, no tagged field.
EPOCH_1 = b"\x00\x00\x00\x00\x00\x01\x00"
COMMIT = b"\x00\x01" + GROUP + b"\x00\x01t\x00\x00\x00\x00"
COMMITTED = b"\x00\x03" + b"\x00" * 8 + b"\xff\xff\xff\xff" + b"\x00\x00" + b"\x00" * 8

ROWS = {
    "good": {"key": EPOCH, "value": EPOCH_1},
    "tombstone": {"key": EPOCH, "value": None},
    "type 24": {"key": b"\x00\x18" + GROUP, "value": EPOCH_1},
    "type 18": {"key": b"\x00\x12" + GROUP, "value": None},
    "type -1": {"key": b"\xff\xff", "value": b"\x01"},
    "type -32768": {"key": b"\x80\x00", "value": b""},
    "no key": {"key": None, "value": EPOCH_1},
    "neither": {"key": None, "value": None},
    "empty key": {"key": b"", "value": EPOCH_1},
    "one byte of key": {"key": b"\x00", "value": EPOCH_1},
    "cut key": {"key": EPOCH[:-1], "value": EPOCH_1},
    "key and more": {"key": EPOCH + b"!", "value": EPOCH_1},
    "empty value": {"key": EPOCH, "value": b""},
    "one byte of value": {"key": EPOCH, "value": b"\x00"},
    "version 9": {"key": EPOCH, "value": b"\x00\x09" + EPOCH_1[2:]},
    "version -1": {"key": EPOCH, "value": b"\xff\xff" + EPOCH_1[2:]},
    "cut value": {"key": EPOCH, "value": EPOCH_1[:-2]},
    "value and more": {"key": EPOCH, "value": EPOCH_1 + b"!"},
    "unread": {"key": None, "value": b"junk", "error": "file: no batch"},
    "nowhere": {"key": EPOCH, "value": EPOCH_1, "partition": None, "offset": None, "error": "no offset"},
    "aborted": {"key": COMMIT, "value": COMMITTED, "transaction": "aborted"},
    "marker": {"key": None, "value": None, "control": "commit"},
    "commit": {"key": COMMIT, "value": COMMITTED},
}
UNKNOWN = {"type 24": 24, "type 18": 18, "type -1": -1, "type -32768": -32768}
LEFT_OUT = {"aborted", "marker"}
REASONS = {
    "no key": ("key", 0),
    "neither": ("key", 0),
    "empty key": ("key", 0),
    "one byte of key": ("key", 0),
    "cut key": ("key", 2),
    "key and more": ("key", 5),
    "empty value": ("value", 0),
    "one byte of value": ("value", 0),
    "version 9": ("value", 0),
    "version -1": ("value", 0),
    "cut value": ("value", 2),
    "value and more": ("value", 7),
    "unread": ("file: no batch", None),
    "nowhere": ("no offset", None),
}


CODES = dict.fromkeys(("no key", "neither", "empty key", "one byte of key"), "missing_key")
CODES |= {"key and more": "key_trailing_bytes", "value and more": "value_trailing_bytes"}
CODES |= {"version 9": "value_unknown_version", "version -1": "value_negative_version"}
CODES |= dict.fromkeys(("unread", "nowhere"), "bad_crc")


@pytest.fixture(scope="module")
def decoded(spark):
    return decode(frame_of(spark, ROWS.values()), offset_commits=True)


def frame_of(spark, rows):
    return spark.createDataFrame(log_of(rows))


@pytest.fixture(scope="module")
def quarantine(decoded):
    return {named(row): row for row in in_log_order(decoded.quarantine)}


@pytest.fixture(scope="module")
def unknown(decoded):
    return {named(row): row for row in in_log_order(decoded.unknown_record)}


def named(row):
    return "nowhere" if row["offset"] is None else list(ROWS)[row["offset"]]


@BOTH
def test_every_row_is_in_one_place(decoded, quarantine, unknown):
    places = {}
    for table in ("consumer_group_metadata", "offset_commit"):
        places |= {named(row): table for row in in_log_order(decoded.records[table])}
    assert places == {
        "good": "consumer_group_metadata",
        "tombstone": "consumer_group_metadata",
        "commit": "offset_commit",
    }
    assert quarantine.keys() == REASONS.keys()
    assert unknown.keys() == UNKNOWN.keys()
    assert sorted([*places, *quarantine, *unknown, *LEFT_OUT]) == sorted(ROWS)


def test_other_tables_have_no_rows(decoded):
    others = decoded.records.keys() - {"consumer_group_metadata", "offset_commit"}
    for table in ("group_metadata", "consumer_group_current_member_assignment"):
        assert table in others
        assert decoded.records[table].isEmpty()


@pytest.mark.parametrize("name", REASONS)
def test_quarantine_says_which_side_and_where(quarantine, name):
    side, position = REASONS[name]
    assert quarantine[name]["reason"].startswith(side)
    assert quarantine[name]["position"] == position
    assert quarantine[name]["error_code"] == CODES.get(name, f"{side}_truncated")


def test_bytes_are_kept(quarantine, unknown):
    for name, row in (quarantine | unknown).items():
        assert (row["key"], row["value"]) == (ROWS[name]["key"], ROWS[name]["value"]), name


def test_unknown_types_are_numbered_as_kafka_numbers_them(unknown):
    assert {name: row["key_type"] for name, row in unknown.items()} == UNKNOWN


def test_offset_commits_come_only_if_asked_for(spark):
    log = frame_of(
        spark, [{"key": COMMIT, "value": COMMITTED}, {"key": COMMIT, "value": b"bad"}, {"key": EPOCH + b"!"}]
    )
    decoded = decode(log)
    assert "offset_commit" not in decoded.records
    assert [row.offset for row in decoded.quarantine.collect()] == [2]
    asked = decode(log, offset_commits=True)
    assert [row.offset for row in asked.records["offset_commit"].collect()] == [0]
    assert sorted(row.offset for row in asked.quarantine.collect()) == [1, 2]


def test_dataframes_have_the_schemas_they_promise(decoded):
    assert_schema_equality(decoded.quarantine.schema, FAILURE_SCHEMA, ignore_nullable=True)
    assert_schema_equality(decoded.unknown_record.schema, UNKNOWN_SCHEMA, ignore_nullable=True)
    for table, rows in decoded.records.items():
        assert_schema_equality(rows.schema, record_schema(table))


@pytest.fixture(scope="module")
def saved(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("log") / "log")
    frame_of(spark, ROWS.values()).write.parquet(path)
    return spark.read.parquet(path)


def before_python(rows):
    """What the JVM does before Python sees a row: the plan below the Python node."""
    with redirect_stdout(StringIO()) as printed:
        rows.explain()
    plan = printed.getvalue()
    return plan[plan.index("MapInArrow") :]


def test_the_jvm_reads_a_record_table_s_own_type_alone(saved):
    before = before_python(decode(saved).records["consumer_group_metadata"])
    assert "key#" in before
    assert re.search(r"key_type#\d+ = 3\b", before)


def test_the_jvm_drops_offset_commits_before_the_quarantine(saved, monkeypatch):
    def everything(_dialect, batches):
        for batch in batches:
            seen = [pa.repeat("seen", batch.num_rows)] * 2 + [pa.repeat(pa.scalar(0, pa.int32()), batch.num_rows)]
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, *seen], [*batch.schema.names, "error_code", "reason", "position"]
            )

    monkeypatch.setattr(decode_module, "failures", everything)
    seen = {named(row) for row in in_log_order(decode(saved).quarantine.filter("reason = 'seen'"))}
    assert {"good", "no key", "one byte of key"} <= seen
    assert "commit" not in seen
    seen_if_asked_for = in_log_order(decode(saved, offset_commits=True).quarantine.filter("reason = 'seen'"))
    assert {named(row) for row in seen_if_asked_for} == seen | {"commit"}
