"""A broker's segment files: wherever they lie, whatever lies beside them, their rows are the same."""

import os
import shutil
import struct

import pyarrow.compute as pc
import pytest

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.errors import InputError
from kip848_records.sources import segment_rows, segments
from kip848_records.sources.file_coverage import SegmentFile
from kip848_records.sources.read import read_copies
from kip848_records.sources.transactions import with_outcomes
from tests.dump_log import read_dump_logs
from tests.log_rows import assert_same_rows, coverage_of, in_log_order, table_of
from tests.protocol.segment_writer import Record, write_batch, write_marker
from tests.sources.batches import merged, read_batch, read_rows

ODD_NAMES = [
    "with space, comma [and] {brackets}",
    "'single' \"double\" `back`",
    "50% of #1 = 100%25 & more",
    "\N{SNAKE} ünïcode ^ $HOME ~ ; | \\back",
    "star * and ? mark",
]


def offset_commit(offset):
    key = (
        b"\x00\x01" + b"".join(struct.pack(">h", len(text)) + text for text in (b"g", b"t")) + struct.pack(">i", offset)
    )
    return Record(offset, 1000 + offset, key, b"\x00\x03")


def outcomes(engine, path):
    rows = with_outcomes(engine, read_copies(engine, str(path)))
    return [row["transaction"] for row in in_log_order(rows) if row["control"] is None]


def segment(folder, base_offset, *batches):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{base_offset:020}.log").write_bytes(b"".join(batches))


def test_every_record_is_what_kafka_s_own_tool_says(engine, capture):
    rows = [row for row in in_log_order(read_rows(engine, str(capture / "segments"))) if row["control"] is None]
    dumped = read_dump_logs(capture / "oracle" / "dump-log", aborted=True)
    told = [(r["partition"], r["offset"], r["timestamp"] // 1000, r["transaction"], r["value"] is None) for r in rows]
    assert told == [(r["partition"], r["offset"], r["timestamp"], r["transaction"], r["value"] is None) for r in dumped]


def test_one_file(engine, partition, expected):
    (file,) = partition.glob("*.log")
    assert_same_rows(read_rows(engine, str(file)), expected)


def test_a_broker_s_data_folder(engine, partition, expected, tmp_path):
    shutil.copytree(partition, tmp_path / "__consumer_offsets-0")
    beside = tmp_path / "__consumer_offsets-0"
    for name in ("0.index", "0.timeindex", "5.snapshot", "0.txnindex", "leader-epoch-checkpoint", "3.log.deleted"):
        (beside / name).write_bytes(b"\x00" * 100)
    (beside / "partition.metadata").write_text("version: 0\n")
    (beside / f"{in_log_order(expected)[-1]['offset'] + 1:020}.log").touch()
    other = b"nothing of ours"
    for folder in (
        "orders-0",
        "__consumer_offsets-1.8fd2-delete",
        "__consumer_offsets-2.8fd2-future",
        "__transaction_state-0",
    ):
        segment(tmp_path / folder, 0, other)
    (tmp_path / "meta.properties").write_text("node.id=1\n")
    (tmp_path / "notes.json").write_text("{}")
    assert_same_rows(read_rows(engine, str(tmp_path)), expected)


class TestSwapFiles:
    """A broker that has cleaned segments makes way for the result, `.swap`, and then gives it their name."""

    @pytest.fixture
    def folder(self, partition, tmp_path):
        shutil.copytree(partition, tmp_path / "data" / "__consumer_offsets-0")
        return tmp_path / "data" / "__consumer_offsets-0"

    @pytest.mark.parametrize("level", ["data", "folder", "file", "brokers"])
    def test_one_stands_for_the_segment_that_is_gone(self, engine, folder, expected, level):
        (file,) = folder.glob("*.log")
        swap = file.rename(f"{file}.swap")
        (folder / f"{file.name}.deleted").write_bytes(b"what was there before")
        path = {"data": folder.parent, "folder": folder, "file": swap, "brokers": folder.parents[1]}[level]
        assert_same_rows(read_rows(engine, str(path)), expected)

    @pytest.mark.parametrize("level", ["data", "folder", "files"])
    def test_one_beside_the_segment_is_left_alone(self, engine, folder, expected, level):
        (file,) = folder.glob("*.log")
        swap = folder / f"{file.name}.swap"
        swap.write_bytes(b"garbage " * 50)
        paths = {"data": [folder.parent], "folder": [folder], "files": [file, swap]}[level]
        assert_same_rows(read_rows(engine, map(str, paths)), expected)

    def test_what_cannot_be_read_of_one_names_it(self, engine, tmp_path):
        segment(tmp_path / "__consumer_offsets-4", 17, b"garbage " * 50)
        (file,) = tmp_path.glob("*/*.log")
        file.rename(f"{file}.swap")
        (row,) = in_log_order(read_rows(engine, str(tmp_path)))
        assert f"/__consumer_offsets-4/{17:020}.log.swap: " in row["error"]
        assert row["error_code"] == "not_a_segment"

    def test_segments_that_it_replaces_may_still_be_there(self, engine, tmp_path):
        folder = tmp_path / "__consumer_offsets-0"
        segment(folder, 0, write_batch([offset_commit(1), offset_commit(5)], base_offset=0, last_offset=5))
        (file,) = folder.glob("*.log")
        file.rename(f"{file}.swap")
        segment(folder, 4, write_batch([offset_commit(4), offset_commit(5)]))
        segment(folder, 6, write_batch([offset_commit(6)]))
        batch = read_batch(engine, str(tmp_path), offset_commits=True)
        assert batch.needs_merge
        log = merged(engine, batch)
        told = [(row["offset"], row["error"]) for row in in_log_order(log)]
        assert told == [(offset, None) for offset in (1, 4, 5, 6)]
        (copy,) = coverage_of(engine, log).copies
        # No key is repeated: the cleaner may have been anywhere.
        assert (copy.first_offset, copy.complete_from, copy.last_offset) == (0, 7, 6)
        assert not copy.log_start_missing


@pytest.mark.parametrize("name", ODD_NAMES)
def test_paths_are_taken_as_they_are_written(engine, partition, expected, tmp_path, name):
    shutil.copytree(partition, tmp_path / name / "__consumer_offsets-0")
    assert_same_rows(read_rows(engine, str(tmp_path / name)), expected)


@pytest.mark.parametrize("form", ["{}/", "file:{}", "file://{}"])
def test_a_path_may_end_in_a_slash_or_be_a_uri(engine, partition, expected, form):
    assert_same_rows(read_rows(engine, form.format(partition)), expected)


def test_a_path_may_have_a_colon_in_it(engine, partition, expected, tmp_path):
    parent = tmp_path / "copied 2026-11-21T08:00:00"
    shutil.copytree(partition, parent / "__consumer_offsets-0")
    for path in (parent, parent / "__consumer_offsets-0"):
        assert_same_rows(read_rows(engine, str(path)), expected)


def test_a_path_may_be_relative(engine, partition, expected, monkeypatch):
    monkeypatch.chdir(partition.parents[1])
    assert_same_rows(read_rows(engine, str(partition.relative_to(partition.parents[1]))), expected)


def test_empty_segments_are_no_rows(engine, tmp_path):
    segment(tmp_path / "__consumer_offsets-7", 0)
    for path in (tmp_path, tmp_path / "__consumer_offsets-7", tmp_path / "__consumer_offsets-7" / f"{0:020}.log"):
        assert read_rows(engine, str(path)).num_rows == 0


def test_what_is_no_segment_inside_becomes_an_error_row_that_names_its_file(engine, partition, expected, tmp_path):
    shutil.copytree(partition, tmp_path / "__consumer_offsets-0")
    segment(tmp_path / "__consumer_offsets-4", 17, b"garbage " * 50)
    log = read_rows(engine, str(tmp_path))
    assert_same_rows(log.filter(pc.is_null(log["error"])), expected)
    (error,) = in_log_order(log.filter(pc.is_valid(log["error"])))
    assert f"/__consumer_offsets-4/{17:020}.log: " in error["error"]
    assert error["partition"] == 4


@pytest.mark.parametrize("name", ["server.log", "__consumer_offsets-0/server.log", "orders-0/00000000000000000000.log"])
def test_a_log_file_of_another_kind_is_refused(engine, tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("started\n")
    with pytest.raises(InputError, match=rf"{name} is not a segment .*<partition>/<base offset>\.log"):
        read_rows(engine, str(file))


class TestFilesOneByOne:
    def test_a_file_that_is_gone_when_it_is_read(self, engine, partition, tmp_path):
        folder = tmp_path / "__consumer_offsets-0"
        shutil.copytree(partition, folder)
        log = read_copies(engine, str(folder))
        (file,) = folder.glob("*.log")
        file.unlink()
        told = f"{file} cannot be read: .*; a running broker removes files"
        with pytest.raises(InputError, match=told), engine.reading():
            table_of(log)

    def test_a_file_that_cannot_be_opened(self, engine, partition, tmp_path):
        folder = tmp_path / "__consumer_offsets-0"
        shutil.copytree(partition, folder)
        log = read_copies(engine, str(folder))
        (file,) = folder.glob("*.log")
        file.unlink()
        file.mkdir()  # which nobody can open as a file, root neither
        with pytest.raises(InputError, match=f"{file} cannot be read: Is a directory; read it as a "), engine.reading():
            table_of(log)


class TestTransactions:
    def test_the_producer_s_own_next_marker_in_its_partition_decides(self, engine, tmp_path):
        folder = tmp_path / "__consumer_offsets-0"
        segment(folder, 0, write_batch([offset_commit(0), offset_commit(1)], producer_id=5, transactional=True))
        segment(folder, 2, write_batch([offset_commit(2)]), write_marker(3, 6, "commit"))
        segment(
            folder, 4, write_batch([offset_commit(4)], producer_id=5, transactional=True), write_marker(5, 5, "abort")
        )
        segment(folder, 6, write_batch([offset_commit(6)], producer_id=5, transactional=True))
        segment(
            folder, 7, write_marker(7, 5, "commit"), write_batch([offset_commit(8)], producer_id=6, transactional=True)
        )
        segment(tmp_path / "__consumer_offsets-1", 6, write_marker(9, 6, "commit"))
        told = ["aborted", "aborted", "none", "aborted", "committed", "pending"]
        assert outcomes(engine, tmp_path) == told

    def test_a_marker_that_cannot_be_read_leaves_the_outcome_unknown(self, engine, tmp_path):
        folder = tmp_path / "__consumer_offsets-0"
        damaged = bytearray(write_marker(1, 5, "abort"))
        damaged[-1] ^= 1
        other_kind = write_batch([Record(4, 0, b"\0\0\0\x09", b"")], producer_id=6, transactional=True, control=True)
        segment(folder, 0, write_batch([offset_commit(0)], producer_id=5, transactional=True))
        segment(folder, 1, bytes(damaged), write_batch([offset_commit(2)], producer_id=5, transactional=True))
        segment(folder, 3, write_batch([offset_commit(3)], producer_id=6, transactional=True))
        segment(folder, 4, other_kind, write_marker(5, 5, "commit"), write_marker(6, 6, "commit"))
        assert outcomes(engine, tmp_path) == ["unknown", "none", "committed", "unknown"]

    def test_a_real_segment_cut_inside_an_open_transaction(self, engine, captures, tmp_path):
        whole = captures / "kafka-4.3.1" / "segments" / "__consumer_offsets-1"
        (file,) = whole.glob("*.log")
        cut, base_offset = inside_a_transaction(file.read_bytes())
        folder = tmp_path / "__consumer_offsets-1"
        segment(folder, 0, file.read_bytes()[:cut])
        segment(folder, base_offset, file.read_bytes()[cut:])
        log = read_rows(engine, str(tmp_path))
        assert "pending" in log["transaction"].to_pylist()
        assert_same_rows(with_outcomes(engine, engine.relation(log)), read_rows(engine, str(whole)))


class TestOverlappingFiles:
    """Where files of a partition may hold the same offsets, the rows are merged; else that is spared."""

    @pytest.fixture
    def needs_merge(self, engine, tmp_path):
        def needs_merge(*files):
            for base_offset, batches in files:
                segment(tmp_path / "__consumer_offsets-0", base_offset, *batches)
            return read_batch(engine, str(tmp_path), offset_commits=True).needs_merge

        return needs_merge

    def test_files_that_follow_each_other(self, needs_merge):
        first = write_batch([offset_commit(0)]), write_batch([offset_commit(1), offset_commit(2)])
        assert not needs_merge((0, first), (3, [write_batch([offset_commit(4)])]), (9, []))

    def test_a_file_that_reaches_into_the_next(self, needs_merge):
        assert needs_merge(
            (0, [write_batch([offset_commit(0), offset_commit(3)])]), (3, [write_batch([offset_commit(3)])])
        )

    def test_a_file_whose_end_cannot_be_told(self, needs_merge):
        assert needs_merge((0, [write_batch([offset_commit(0)]), bytes(20)]), (3, [write_batch([offset_commit(3)])]))

    def test_equal_rows_are_there_once(self, engine, tmp_path):
        segment(tmp_path / "__consumer_offsets-0", 0, write_batch([offset_commit(0), offset_commit(3)]))
        segment(tmp_path / "__consumer_offsets-0", 3, write_batch([offset_commit(3), offset_commit(4)]))
        batch = read_batch(engine, str(tmp_path), offset_commits=True)
        assert [row["offset"] for row in in_log_order(merged(engine, batch))] == [0, 3, 4]


def test_what_only_batches_tell_of_a_record(engine, tmp_path):
    key = b"\x00\x03\x00\x01g"
    batches = [
        write_batch([Record(0, 5, key, b"")], leader_epoch=7, log_append_time=9),
        write_batch([Record(1, 5, key, b"")], leader_epoch=-1, producer_id=4),
    ]
    segment(tmp_path / "__consumer_offsets-3", 0, *batches)
    told = [
        tuple(
            row[name] for name in ("partition", "key_type", "group_id", "leader_epoch", "timestamp_type", "producer_id")
        )
        for row in in_log_order(read_rows(engine, str(tmp_path)))
    ]
    assert told == [(3, 3, "g", 7, 1, -1), (3, 3, "g", None, 0, 4)]


def inside_a_transaction(log):
    """Where, in bytes and as an offset, the batch after a transaction's first one begins."""
    at, cut_next = 0, False
    while at < len(log):
        base_offset, length = struct.unpack_from(">qi", log, at)
        if cut_next:
            return at, base_offset
        (attributes,) = struct.unpack_from(">h", log, at + 21)
        cut_next = bool(attributes & 16) and not attributes & 32
        at += 12 + length
    raise AssertionError


def test_a_large_file_that_its_broker_truncates_is_refused(partition, tmp_path, monkeypatch):
    monkeypatch.setattr(segment_rows, "COPIED_BYTES", 0)
    (file,) = shutil.copytree(partition, tmp_path / "__consumer_offsets-0").glob("*.log")
    rows = segment_rows.read_file(segment_rows.content_of(str(file)), str(file), SegmentFile(0, 0, 0))
    os.truncate(file, file.stat().st_size - 10)
    with pytest.raises(InputError, match="log cannot be read: it became shorter meanwhile, as its broker truncated it"):
        list(rows)


def test_a_small_file_is_read_before_its_broker_truncates_it(partition, expected, tmp_path, monkeypatch):
    (file,) = shutil.copytree(partition, tmp_path / "__consumer_offsets-0").glob("*.log")
    content_of = segment_rows.content_of

    def read_and_truncate(path):
        content = content_of(path)
        os.truncate(file, 0)
        return content

    monkeypatch.setattr(segments, "content_of", read_and_truncate)
    assert_same_rows(read_rows(EmbeddedEngine(), str(file)), expected)
