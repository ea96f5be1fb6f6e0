"""`kip848 inspect --json` against what Kafka's own tool printed, line by line; and its other forms."""

import json
import subprocess
import sys
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from kip848_records.cli import main
from kip848_records.decode.inspect import inspect_log
from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.machine.paths import SPARK_VARIABLES
from kip848_records.report.inspection import is_unread, json_line, text_line
from kip848_records.sources.read import read_log
from tests import users
from tests.audits import dumped
from tests.log.test_log_state import assert_json_equal
from tests.log_rows import log_of
from tests.sources.batches import read_rows

GROUP = b"\x00\x01g"
EPOCH = b"\x00\x03" + GROUP
EPOCH_1 = b"\x00\x00\x00\x00\x00\x01\x00"
COMMIT = b"\x00\x01" + GROUP + b"\x00\x01t\x00\x00\x00\x00"
COMMITTED = b"\x00\x03" + b"\x00" * 8 + b"\xff\xff\xff\xff" + b"\x00\x00" + b"\x00" * 8
ROWS = [
    {"key": EPOCH, "value": EPOCH_1},
    {"key": EPOCH, "value": None},
    {"key": COMMIT, "value": COMMITTED, "transaction": "pending", "producer_id": 1},
    {"key": COMMIT, "value": COMMITTED, "transaction": "aborted", "producer_id": 1},
    {"control": "abort", "producer_id": 2},
    {"key": EPOCH, "value": b"\x00"},
    {"key": b"\x00", "value": EPOCH_1},
    {"key": b"\x00\x18" + GROUP, "value": b"\xff\xfe"},
    {"key": b"\xff\xff", "value": None},
    {"key": None, "value": b"x", "error": "file: not a batch", "timestamp": None},
    {"key": b'\x00\x03\x00\x0c[b]a\n"\\\t\xf0\x9f\x90\x8d', "value": EPOCH_1},
    {"key": b"\x00\x03\x00\x04\x1b\x7f" + "\x9b".encode(), "value": EPOCH_1},
]

OF_NOBODY = [6, 7, 8]
"""The offsets of records whose keys do not tell a group."""


def inspected_rows(log, **selected):
    engine = EmbeddedEngine()
    return engine.collect(inspect_log(engine, engine.relation(log), **selected))


def inspected(log, **selected):
    return [json.loads(json_line(row)) for row in inspected_rows(log, **selected)]


def selected(log, **selected):
    """The offsets of the records that are selected, when what could not be read is there as well."""
    rows = inspected_rows(log, **selected)
    assert [row.offset for row in rows if is_unread(row)] == [9]
    return [row.offset for row in rows if not is_unread(row)]


@pytest.fixture(scope="module")
def rows():
    return log_of(ROWS)


@pytest.fixture(scope="module")
def lines(rows):
    return {line["offset"]: line for line in inspected(rows)}


def test_every_line_equals_what_kafka_printed(engine, capture):
    ours = inspected(read_rows(engine, str(capture / "segments")))
    kafka = dumped(capture)
    assert len(ours) == len(kafka)
    for line, record in zip(ours, kafka, strict=True):
        expected = {name: record[name] for name in ("partition", "offset", "timestamp", "type", "key")}
        assert {name: line[name] for name in expected} == expected
        assert_json_equal(line["value"], record["value"])
        assert line.get("transaction", "decided") == ("pending" if record["transaction"] == "pending" else "decided")
        assert line.keys() <= {*expected, "record", "value", "transaction"}


def test_a_record(lines):
    assert lines[0] == {
        "partition": 0,
        "offset": 0,
        "timestamp": 1_000_000,
        "type": 3,
        "record": "ConsumerGroupMetadata",
        "key": {"groupId": "g"},
        "value": {"epoch": 1},
    }


def test_a_tombstone_has_a_null_value(lines):
    assert lines[1]["value"] is None


def test_a_pending_record_says_so(lines):
    assert lines[2]["transaction"] == "pending"
    assert all("transaction" not in line for offset, line in lines.items() if offset != 2)


def test_aborted_records_and_control_records_are_not_there(lines):
    assert lines.keys() == set(range(len(ROWS))) - {3, 4}


def test_an_error_stands_in_place_of_the_value(lines):
    assert lines[5]["key"] == {"groupId": "g"}
    assert lines[5]["error"].startswith("value: ")
    assert (lines[6]["type"], lines[6]["record"], lines[6]["key"]) == (None, None, "AA==")
    assert lines[6]["error"].startswith("key: ")
    assert (lines[9]["error"], lines[9]["timestamp"]) == ("file: not a batch", None)
    assert [offset for offset, line in lines.items() if "error" in line] == [5, 6, 9]
    assert not any("value" in lines[offset] for offset in (5, 6, 9))


def test_an_unknown_type_keeps_its_bytes(lines):
    key, value = (b64encode(ROWS[7][side]).decode() for side in ("key", "value"))
    assert (lines[7]["type"], lines[7]["key"], lines[7]["value"]) == (24, key, value)
    assert (lines[8]["type"], lines[8]["value"]) == (-1, None)
    assert [offset for offset, line in lines.items() if "unknown" in line] == [7, 8]
    assert lines[7]["unknown"] is True


def test_a_group_id_may_hold_anything(lines):
    assert lines[10]["key"] == {"groupId": '[b]a\n"\\\t\N{SNAKE}'}


def test_control_characters_reach_no_terminal(rows, lines):
    assert lines[11]["key"] == {"groupId": "\x1b\x7f\x9b"}
    *_, row = inspected_rows(rows)
    assert r'"\u001B\u007F\u009B"' in json_line(row)
    assert r'"\u001B\x7f\x9b"' in text_line(row)


def test_lines_come_in_log_order(rows):
    assert [line["offset"] for line in inspected(rows)] == sorted(set(range(len(ROWS))) - {3, 4})


def test_a_group_is_selected_with_its_undecodable_records(rows):
    """Those of no known group are with them: they may be its."""
    assert selected(rows, group="g") == [0, 1, 2, 5, *OF_NOBODY]
    assert selected(rows, group="h") == OF_NOBODY


def test_who_asks_for_a_group_hears_of_records_that_may_be_its(tmp_path, capsys):
    lines = [
        {name: row[name] and b64encode(row[name]).decode() for name in ("key", "value")}
        for row in (*ROWS[:1], *ROWS[6:9])
    ]
    file = tmp_path / "log.jsonl"
    file.write_text(
        "\n".join(json.dumps(line | {"partition": 0, "offset": at, "timestamp": 0}) for at, line in enumerate(lines))
    )
    assert main(["inspect", str(file), "--group", "g", "--limit", "1"]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1
    assert printed.err.startswith("note: 3 records may be the group's: their keys do not decode, or have a type that")


@pytest.mark.parametrize(
    ("types", "offsets"), [([3], [0, 1, 5, 10, 11]), ([24, -1], [7, 8]), ([1, 3], [0, 1, 2, 5, 10, 11])]
)
def test_types_are_selected(rows, types, offsets):
    assert selected(rows, types=types) == offsets


def test_the_first_records_of_a_selection(rows):
    assert selected(rows, types=[3], limit=2) == [0, 1]


def test_the_log_is_read_once_for_its_records_and_for_what_could_not_be_read(classic, captures):
    log = read_log(classic, str(captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"))
    found = inspect_log(SparkEngine(classic), log, types=[3], limit=4)
    assert len(found.collect()) == 4
    plan, _ = found._jdf.queryExecution().executedPlan().toString().split("== Initial Plan ==")
    assert plan.count("FileScan ") == 1


@pytest.mark.parametrize("given", [(), ("--format", "delta")])
def test_rows_that_delta_deleted_are_not_printed(tmp_path, monkeypatch, capsys, given):
    """The files of an older version stay in the table's folder, and look like a small dump."""
    for name in SPARK_VARIABLES:  # so that small dumps are read without Spark
        monkeypatch.delenv(name, raising=False)
    at = {"timestamp": datetime(2026, 1, 1, tzinfo=UTC)}
    for offset in (1, 2):
        row = {"key": EPOCH, "value": EPOCH_1, "partition": 0, "offset": offset} | at
        write_deltalake(tmp_path, pa.Table.from_pylist([row]), mode="overwrite")
    assert len([*tmp_path.glob("*.parquet")]) == 2
    assert main(["inspect", str(tmp_path), "--json", *given]) == 0
    assert [json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines()] == [2]


def test_text_is_one_line_a_record(rows):
    texts = [text_line(row) for row in inspected_rows(rows)]
    assert not any("\n" in text for text in texts)
    assert texts[0] == '0:0 1970-01-01 00:16:40 UTC 3 ConsumerGroupMetadata {"groupId":"g"} {"epoch":1}'
    assert texts[1].endswith('{"groupId":"g"} <tombstone>')
    assert texts[2].endswith(" (transaction pending)")
    assert " ERROR value: " in texts[3]
    assert " 24 unknown record type " in texts[5]


@pytest.mark.process
def test_the_command_needs_no_java(captures, tmp_path):
    environment = users.environment(JAVA_HOME=str(tmp_path), PATH=str(tmp_path))
    command = [Path(sys.executable).parent / "kip848", "inspect", str(captures / "kafka-4.3.1" / "segments"), "--json"]
    done = subprocess.run([*command, "--limit", "3"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 3)
