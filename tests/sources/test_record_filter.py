"""Records that a reader of segments skips: the rest stays as it is, and they are counted."""

from collections import Counter
from dataclasses import replace
from unittest import mock

import pyarrow as pa
import pytest

from kip848_records.protocol.segments import window
from kip848_records.sources.file_coverage import SegmentFile
from kip848_records.sources.record_filter import RecordFilter
from kip848_records.sources.segment_rows import read_file
from tests.log_rows import assert_same_rows, files_of, in_log_order, newest_ms, table_of
from tests.protocol.segment_writer import Record, write_batch, write_marker
from tests.sources.batches import read_batch
from tests.sources.test_segments import offset_commit, segment

OTHER = b"\x00\x03\x00\x01g"


@pytest.fixture
def written(tmp_path):
    """A file with offset commits of every outcome, one that cannot be shown, and what is not to be left out."""
    folder = tmp_path / "__consumer_offsets-7"
    folder.mkdir()
    batches = [
        write_batch([offset_commit(0), Record(1, 5_000, OTHER, b"\x00\x00\x00\x00\x00\x01"), offset_commit(2)]),
        write_batch([offset_commit(3), offset_commit(4)], producer_id=1, transactional=True),
        write_marker(5, 1, "commit"),
        write_batch([offset_commit(6)], producer_id=1, transactional=True),
        write_marker(7, 1, "abort"),
        write_batch([offset_commit(8)], producer_id=2, transactional=True),
        write_batch([Record(9, 10**18, offset_commit(9).key, b"\x00\x03"), Record(10, 3_000, b"", None)]),
        write_batch([Record(11, 9_000, b"\x00\x00", b"")]),
    ]
    (folder / f"{0:020}.log").write_bytes(b"".join(batches))
    return str(tmp_path)


def both(engine, path):
    """The rows with offset commits, and without."""
    return [table_of(read_batch(engine, path, offset_commits=wanted).rows) for wanted in (True, False)]


def counted(log):
    """How many records of each type and outcome there are, those included that were skipped."""
    readable = (row for row in in_log_order(log) if row["error_code"] is None and row["control"] is None)
    counts = Counter((row["key_type"], row["transaction"]) for row in readable)
    for file in files_of(log):
        counts.update({(each["key_type"], each["transaction"]): each["count"] for each in file["skipped"]})
    return counts


def is_kept(row):
    """Whether a row is there with and without offset commits."""
    return row["error_code"] is not None or not (row["key_type"] in {0, 1} or row["control"] in {"commit", "abort"})


def kept(log):
    """The rows that are there with and without offset commits, without what files cover."""
    return log.filter(pa.array([row["file"] is None and is_kept(row) for row in log.to_pylist()]))


def test_every_outcome_is_counted_and_all_else_stays(engine, written):
    whole, less = both(engine, written)
    outcomes = {(1, "none"): 2, (1, "committed"): 2, (1, "aborted"): 1, (1, "pending"): 1, (0, "none"): 1}
    assert counted(less) == counted(whole) == Counter(outcomes | {(3, "none"): 1})
    assert_same_rows(less, kept(whole))
    (file,) = files_of(less)
    assert file["newest_skipped"] == newest_ms(engine, less) == newest_ms(engine, whole) == 9_000


def test_records_of_aborted_transactions_are_skipped_and_counted(engine, written):
    whole, _ = both(engine, written)
    (file,) = files_of(whole)
    assert file["skipped"] == [{"key_type": 1, "transaction": "aborted", "count": 1}]
    assert file["newest_skipped"] == 1_006
    assert {row["offset"] for row in in_log_order(whole)} == set(range(12)) - {6}


UNREADABLE = write_batch([offset_commit(14), offset_commit(15)])[:-1] + b"\xff"
MIXED = [
    write_batch([offset_commit(0), Record(1, 5_000, OTHER, b"")], producer_id=1, transactional=True),
    write_batch([Record(2, 0, b"\x00\x00\x00\x09", b"")], producer_id=3, transactional=True, control=True),
    write_marker(3, 1, "commit"),
    write_marker(4, 3, "commit", timestamp=10**18),
    write_batch([Record(5, -(10**18), offset_commit(5).key, b""), Record(6, 8_000, offset_commit(6).key, b"")]),
    write_batch([offset_commit(7), Record(8, 10**18, offset_commit(8).key, b"")], producer_id=1, transactional=True),
    write_marker(9, 1, "abort"),
    UNREADABLE,
    write_batch([offset_commit(16), Record(17, 5_000, OTHER, b"")]),
]
"""Among what goes: a control record of another type, and a marker and commits that cannot be shown, which stay."""


@pytest.mark.parametrize("group_bytes", [1, window.GROUP_BYTES])
@pytest.mark.parametrize("batches", [MIXED, MIXED[:1], [write_batch([offset_commit(0)])]])
@pytest.mark.parametrize(("offset_commits", "aborted"), [(False, True), (False, False), (True, False)])
def test_what_stays_keeps_its_place(batches, group_bytes, offset_commits, aborted):
    def rows(**wanted):
        record_filter = RecordFilter(**wanted)
        found = read_file(memoryview(b"".join(batches)), "f", SegmentFile(7, 0, 0), record_filter)
        every = [row for batch in found for row in batch.to_pylist()]
        (file,) = every[-1]["files"]
        return every[:-1], file

    def goes(row):
        if row["error_code"] is not None:
            return False
        if offset_commits:
            return row["control"] is None and row["transaction"] == "aborted"
        return not is_kept(row)

    with mock.patch.object(window, "GROUP_BYTES", group_bytes):
        whole, _ = rows(offset_commits=True, aborted=True)
        less, file = rows(offset_commits=offset_commits, aborted=aborted)
    assert less == [row for row in whole if not goes(row)]
    gone = [row for row in whole if goes(row) and row["control"] is None]
    counts = {(each["key_type"], each["transaction"]): each["count"] for each in file["skipped"]}
    assert Counter(counts) == Counter((row["key_type"], row["transaction"]) for row in gone)
    assert file["newest_skipped"] == max((row["timestamp"] for row in gone), default=None)


def test_captures_are_the_same_without(engine, capture):
    whole, less = both(engine, str(capture / "segments"))
    assert counted(less) == counted(whole)
    assert_same_rows(less, kept(whole))
    assert newest_ms(engine, less) == newest_ms(engine, whole)


def test_skipped_records_without_a_timestamp_have_no_newest_time(tmp_path):
    """Kafka writes -1 then."""
    timeless = write_batch([replace(offset_commit(0), timestamp=-1)])
    segment(tmp_path, 0, timeless, write_batch([offset_commit(1)]))
    assert _newest_skipped(tmp_path) == 1001
    segment(tmp_path, 0, timeless)
    assert _newest_skipped(tmp_path) is None


def _newest_skipped(folder):
    file = SegmentFile(0, 0, 0)
    skips = RecordFilter(offset_commits=False, aborted=False)
    (row,) = read_file(memoryview((folder / f"{0:020}.log").read_bytes()), "", file, skips)
    newest = row["files"][0][0]["newest_skipped"].as_py()
    return newest and round(newest.timestamp() * 1000)
