"""Offset commits that a reader of segments leaves out: the rest stays as it is, and they are counted."""

from collections import Counter
from unittest import mock

import pytest
from pyspark.sql import functions as F

from kip848_records.protocol.segments import window
from kip848_records.sources import find_copies, read_copies
from kip848_records.sources.coverage import Place
from kip848_records.sources.log import LEFT_OUT, is_readable, key_of_types, key_type, left_out
from kip848_records.sources.segments import read_file
from tests.log_rows import in_log_order
from tests.protocol.segment_writer import Record, write_batch, write_marker
from tests.sources.test_segments import offset_commit

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


def both(spark, path):
    """The rows with offset commits, and without."""
    copies = find_copies(spark, path, None)
    return read_copies(spark, copies), read_copies(spark, copies, offset_commits=False)


def counted(rows):
    """How many readable rows of each type and outcome there are, those included that a row only stands for."""
    count = F.when(is_readable(), F.lit(1)).otherwise(left_out())
    grouped = rows.groupBy(key_type().alias("type"), "transaction").agg(F.sum(count).alias("count"))
    return Counter({(row.type, row.transaction): row["count"] for row in grouped.collect() if row["count"]})


def without_commits(rows):
    named = rows.filter("control IS NULL OR control NOT IN ('commit', 'abort', 'left out')")
    return named.filter(~(is_readable() & key_of_types([0, 1])))


def test_every_outcome_is_counted_and_all_else_stays(spark, written):
    whole, less = both(spark, written)
    outcomes = {(1, "none"): 2, (1, "committed"): 2, (1, "aborted"): 1, (1, "pending"): 1, (0, "none"): 1}
    assert counted(less) == counted(whole) == Counter(outcomes | {(3, "none"): 1, (None, "none"): 1})
    assert in_log_order(without_commits(less)) == in_log_order(without_commits(whole))
    assert less.filter(is_readable() & key_type().isin(0, 1)).isEmpty()
    (newest,) = less.filter(F.col("control") == LEFT_OUT).select(F.max(F.unix_millis("timestamp"))).first()
    assert newest == 9_000


UNREADABLE = write_batch([offset_commit(14), offset_commit(15)])[:-1] + b"\xff"
MIXED = [
    write_batch([offset_commit(0), Record(1, 5_000, OTHER, b"")], producer_id=1, transactional=True),
    write_batch([Record(2, 0, b"\x00\x00\x00\x09", b"")], producer_id=3, transactional=True, control=True),
    write_marker(3, 1, "commit"),
    write_marker(4, 3, "commit", timestamp=10**18),
    write_batch([Record(5, -(10**18), offset_commit(5).key, b""), Record(6, 8_000, offset_commit(6).key, b"")]),
    UNREADABLE,
    write_batch([offset_commit(16), Record(17, 5_000, OTHER, b"")]),
]
"""Among what goes: a control record of another type, and a marker and a commit that nobody can show, which stay."""


@pytest.mark.parametrize("group_bytes", [1, window.GROUP_BYTES])
@pytest.mark.parametrize("batches", [MIXED, MIXED[:1], [write_batch([offset_commit(0)])]])
def test_what_stays_keeps_its_place(batches, group_bytes):
    def rows(*, offset_commits):
        found = read_file(memoryview(b"".join(batches)), "f", Place(7, 0, 0), offset_commits=offset_commits)
        return [row for batch in found for row in batch.to_pylist()]

    def goes(row):
        if row["error"] is not None:
            return False
        return row["control"] in {"commit", "abort"} or (row["control"] is None and row["key"][:2] == b"\x00\x01")

    with mock.patch.object(window, "GROUP_BYTES", group_bytes):
        whole, less = rows(offset_commits=True), rows(offset_commits=False)
    assert [row for row in less if row["control"] != LEFT_OUT] == [row for row in whole if not goes(row)]
    gone = [row for row in whole if goes(row) and row["control"] is None]
    counts = [row for row in less if row["control"] == LEFT_OUT]
    assert Counter({row["transaction"]: int.from_bytes(row["value"], "big") for row in counts}) == Counter(
        row["transaction"] for row in gone
    )
    assert {row["timestamp"] for row in counts} == {max(row["timestamp"] for row in gone)}
    assert {row["offset"] for row in counts} == {gone[-1]["offset"]}


def test_captures_are_the_same_without(spark, capture):
    whole, less = both(spark, str(capture / "segments"))
    assert counted(less) == counted(whole)
    assert in_log_order(without_commits(less)) == in_log_order(without_commits(whole))
