"""Segment files that need no Spark: what they say is what Spark would say, and whatever is not plain is left to it."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from errno import EACCES
from pathlib import Path

import pytest

from kip848_records.decode.inspect import inspect_log
from kip848_records.errors import InputError
from kip848_records.machine.paths import SPARK_VARIABLES
from kip848_records.protocol.decoded_rows import json_records
from kip848_records.report import inspection
from kip848_records.report.inspection import inspect_plain, json_line, text_line
from kip848_records.sources import plain, segment_rows
from kip848_records.sources.plain import read_plain
from kip848_records.sources.read import read_log
from kip848_records.sources.record_filter import RecordFilter
from tests.protocol.segment_writer import write_batch, write_marker
from tests.sources.test_segments import offset_commit, segment


@pytest.fixture(autouse=True)
def _without_settings_of_spark(monkeypatch):
    for name in SPARK_VARIABLES:
        monkeypatch.delenv(name, raising=False)


def in_transaction(offset):
    return write_batch([offset_commit(offset)], producer_id=5, transactional=True)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "__consumer_offsets-0"


def lines(path, **selected):
    return [(json_line(row), text_line(row)) for row in inspect_plain(read_plain(str(path)), **selected)]


def test_every_line_is_what_spark_would_print(spark, capture):
    source = capture / "segments"
    rows = inspect_log(read_log(spark, str(source))).collect()
    assert lines(source) == [(json_line(row), text_line(row)) for row in rows]
    a_group = rows[len(rows) // 2].group_id
    for selected, wanted in (
        ({"group": a_group}, lambda row: row.group_id == a_group),
        ({"types": [3, 8]}, lambda row: row.key_type in {3, 8}),
        ({"types": [5], "group": a_group}, lambda row: row.key_type == 5 and row.group_id == a_group),
    ):
        expected = [json_line(row) for row in rows if wanted(row)]
        assert expected
        assert [line for line, _ in lines(source, **selected)] == expected
        assert [line for line, _ in lines(source, **selected, limit=2)] == expected[:2]
    assert [line for line, _ in lines(source, limit=0)] == []


def test_nothing_is_decoded_after_the_limit(captures, monkeypatch):
    decoded = []

    def counting(dialect, batches):
        decoded.append(sum(map(len, batches)))
        return json_records(dialect, batches)

    monkeypatch.setattr(inspection, "json_records", counting)
    monkeypatch.setattr(inspection, "_ROWS_AT_ONCE", 4)
    assert len(lines(captures / "kafka-4.3.1" / "segments", limit=6)) == 6
    assert decoded == [4, 4]


def test_the_command_needs_no_java(captures, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in SPARK_VARIABLES}
    environment |= {"JAVA_HOME": str(tmp_path), "PATH": str(tmp_path)}
    command = [Path(sys.executable).parent / "kip848", "inspect", str(captures / "kafka-4.3.1" / "segments"), "--json"]
    done = subprocess.run([*command, "--limit", "3"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 3)


def test_a_swap_file_stands_for_the_segment_that_is_gone(captures, tmp_path):
    shutil.copytree(captures / "kafka-4.3.1" / "segments", tmp_path, dirs_exist_ok=True)
    expected = lines(tmp_path)
    first, second, _ = sorted(tmp_path.glob("*/*.log"))
    first.rename(f"{first}.swap")
    Path(f"{second}.swap").write_bytes(b"garbage")
    assert lines(tmp_path) == expected


def test_a_transaction_that_is_open_at_the_end_of_the_last_file_is_pending(folder, tmp_path):
    segment(folder, 0, write_batch([offset_commit(0)]), write_marker(1, 5, "commit"))
    segment(folder, 2, in_transaction(2))
    segment(tmp_path / "__consumer_offsets-1", 0, write_batch([offset_commit(0)]))
    assert read_plain(str(tmp_path))["transaction"].to_pylist() == ["none", "pending", "none"]


def test_a_transaction_that_a_later_file_may_settle_is_not_plain(folder, tmp_path):
    segment(folder, 0, in_transaction(0))
    segment(folder, 1, write_marker(1, 5, "commit"))
    assert read_plain(str(tmp_path)) is None


def test_aborted_records_and_markers_are_left_out(folder, tmp_path):
    segment(folder, 0, in_transaction(0), write_marker(1, 5, "abort"), write_batch([offset_commit(2)]))
    assert read_plain(str(tmp_path))["offset"].to_pylist() == [2]


def test_an_offset_that_is_there_twice_is_not_plain(folder, tmp_path):
    segment(folder, 0, write_batch([offset_commit(0), offset_commit(1)]))
    segment(folder, 1, write_batch([offset_commit(1)]))
    assert read_plain(str(tmp_path)) is None


def test_what_cannot_be_read_is_not_plain(folder, tmp_path):
    segment(folder, 0, write_batch([offset_commit(0)]), b"no batch" * 20)
    assert read_plain(str(tmp_path)) is None


def test_a_file_that_the_system_keeps_from_this_user_is_not_called_damaged(folder, tmp_path, monkeypatch):
    segment(folder, 0, write_batch([offset_commit(0)]))

    def denied(*_):
        raise PermissionError(EACCES, "Permission denied")  # to root, who may read all, the system never says so

    monkeypatch.setattr(segment_rows, "open", denied, raising=False)
    with pytest.raises(InputError, match=rf"{0:020}\.log cannot be read: Permission denied; read it as a user"):
        read_plain(str(tmp_path))


def test_a_name_that_is_no_offset_is_not_plain(folder, tmp_path):
    segment(folder, 0, write_batch([offset_commit(0)]))
    shutil.copy(folder / f"{0:020}.log", folder / "copy.log")
    assert read_plain(str(tmp_path)) is None


def test_hidden_files_are_left_out(folder, tmp_path):
    segment(folder, 0, write_batch([offset_commit(0)]))
    shutil.copy(folder / f"{0:020}.log", folder / ".hidden.log")
    assert len(read_plain(str(tmp_path))) == 1


def test_large_files_are_not_plain(folder, tmp_path, monkeypatch):
    segment(folder, 0, write_batch([offset_commit(0)]))
    size = (folder / f"{0:020}.log").stat().st_size
    monkeypatch.setattr(plain, "LARGEST_BYTES", size)
    assert read_plain(str(tmp_path)) is not None
    monkeypatch.setattr(plain, "LARGEST_BYTES", size - 1)
    assert read_plain(str(tmp_path)) is None


def test_a_record_without_a_timestamp_has_no_time(folder, tmp_path):
    """Kafka writes -1 then. The records that an audit skips have no newest time."""
    segment(folder, 0, write_batch([replace(offset_commit(0), timestamp=-1)]), write_batch([offset_commit(1)]))
    rows = read_plain(str(tmp_path))
    assert [at if at is None else round(at.timestamp() * 1000) for at in rows["timestamp"].to_pylist()] == [None, 1001]
    assert rows["error"].null_count == 2
    assert _newest_skipped(folder) == 1001
    segment(folder, 0, write_batch([replace(offset_commit(0), timestamp=-1)]))
    assert _newest_skipped(folder) is None


def _newest_skipped(folder):
    file = segment_rows.SegmentFile(0, 0, 0)
    skips = RecordFilter(offset_commits=False, aborted=False)
    (row,) = segment_rows.read_file(memoryview((folder / f"{0:020}.log").read_bytes()), "", file, skips)
    newest = row["files"][0][0]["newest_skipped"].as_py()
    return newest and round(newest.timestamp() * 1000)


@pytest.mark.parametrize("name", sorted(SPARK_VARIABLES))
def test_paths_that_may_be_elsewhere_are_not_plain(folder, tmp_path, monkeypatch, name):
    segment(folder, 0, write_batch([offset_commit(0)]))
    assert read_plain(tmp_path.as_uri()) is None
    monkeypatch.setenv(name, "x")
    assert read_plain(str(tmp_path)) is None


def test_nothing_there_is_not_plain(folder, tmp_path):
    assert read_plain(str(tmp_path)) is None
    assert read_plain(str(tmp_path / "none")) is None
    segment(folder, 0)
    assert len(read_plain(str(tmp_path))) == 0
