"""Whole segments, as brokers and their cleaner leave them."""

import gzip
import re
import struct
from pathlib import Path

import pyarrow as pa
import pytest

from kip848_records.protocol.segments.reader import SEGMENT_SCHEMA, read_segment
from tests.dump_log import read_dump_logs
from tests.protocol.plain_segments import batches_of
from tests.protocol.segment_comparisons import compare_segment, read
from tests.protocol.segment_writer import CODECS, Record, plain_batch, plain_records, write_batch, write_marker

CAPTURES = Path(__file__).parents[1] / "captures"
DUMPED = sorted(oracle.parent for oracle in CAPTURES.glob("*/oracle"))
SEGMENTS = [file for capture in DUMPED for file in sorted(capture.glob("segments/*/*.log"))]


def column(segment: bytes, name: str, base_offset: int | None = 0) -> list:
    return [row[name] for row in read(segment, base_offset)]


# --- real segments against Kafka's own tool ---


@pytest.mark.parametrize("segment", SEGMENTS, ids=lambda path: f"{path.parts[-4]}/{path.parent.name}")
def test_rows_of_a_capture_equal_kafka_dump_log(segment: Path):
    dump = segment.parents[2] / "oracle" / "dump-log" / f"{segment.parent.name}-{segment.stem}.txt.gz"
    printed = []
    for line in gzip.decompress(dump.read_bytes()).decode().splitlines():
        if line.startswith("baseOffset"):
            header = dict(re.findall(r"(\w+): (\S+)", line))
            assert header["isvalid"] == "true"
        elif row := re.match(r"\| offset: (\d+) (\w+): (-?\d+) keySize: (-?\d+) valueSize: (-?\d+)", line):
            marker = re.search(r"endTxnMarker: (\w+)", line)
            sizes = (-1, -1) if marker else (int(row[4]), int(row[5]))
            transactional = header["isTransactional"] == "true"
            control = marker[1].lower() if marker else None
            producer = int(header["producerId"])
            printed.append((int(row[1]), row[2], int(row[3]), *sizes, transactional, control, producer))

    read_back = [
        (
            row["offset"],
            ("CreateTime", "LogAppendTime")[row["timestamp_type"]],
            row["timestamp"],
            *(-1 if row[name] is None else len(row[name]) for name in ("key", "value")),
            row["transaction"] != "none",
            row["control"],
            row["producer_id"],
        )
        for row in read(segment.read_bytes(), int(segment.stem))
    ]
    assert read_back == printed
    assert printed


@pytest.mark.parametrize("segment", SEGMENTS, ids=lambda path: f"{path.parts[-4]}/{path.parent.name}")
def test_a_capture_reads_as_one_record_at_a_time(segment: Path):
    assert compare_segment(batches_of(segment.read_bytes()), 0)


@pytest.mark.parametrize("capture", DUMPED, ids=lambda path: path.name)
def test_transaction_outcomes_of_a_capture(capture: Path):
    expected = {
        (record["partition"], record["offset"]): record["transaction"]
        for record in read_dump_logs(capture / "oracle" / "dump-log", aborted=True)
    }
    outcomes = {
        (int(segment.parent.name.rpartition("-")[2]), row["offset"]): row["transaction"]
        for segment in sorted((capture / "segments").glob("*/*.log"))
        for row in read(segment.read_bytes())
        if row["control"] is None
    }
    assert outcomes == expected
    assert set(outcomes.values()) >= {"none", "committed", "aborted"}


# --- round trips ---


@pytest.mark.parametrize("codec", CODECS)
def test_codecs(codec: str):
    written = [plain_records(0, 1), plain_records(1, 12, size=700), plain_records(13, 300)]
    segment = b"".join(write_batch(batch, codec=codec) for batch in written)
    rows = read(segment)
    assert [(row["offset"], row["timestamp"], row["key"], row["value"]) for row in rows] == [
        (record.offset, record.timestamp, record.key, record.value) for batch in written for record in batch
    ]
    assert {row["error"] for row in rows} == {None}


def test_batches_of_rows_have_the_schema_and_the_size_asked_for():
    segment = b"".join(plain_batch(first, 4) for first in range(0, 400, 4)) + plain_batch(400, 1000)
    for data in (segment, memoryview(segment), pa.py_buffer(segment)):
        read_back = list(read_segment(data, base_offset=0, batch_rows=100))
        assert {rows.schema for rows in read_back} == {SEGMENT_SCHEMA}
        assert max(rows.num_rows for rows in read_back) == 100
        assert len(read_back) == 14
        assert sum(rows.num_rows for rows in read_back) == 1400


@pytest.mark.parametrize(("batch_rows", "sizes"), [(3, [3, 1, 3, 1]), (6, [4, 4]), (8, [8])])
def test_groups_are_cut_between_batches_of_records(batch_rows: int, sizes: list[int]):
    segment = plain_batch(0, 4) + plain_batch(4, 4)
    assert [rows.num_rows for rows in read_segment(segment, base_offset=0, batch_rows=batch_rows)] == sizes


def test_groups_are_cut_by_decompressed_bytes():
    segment = b"".join(write_batch([Record(at, 0, None, bytes(3_000_000))], codec="zstd") for at in range(6))
    assert [rows.num_rows for rows in read_segment(segment, base_offset=0)] == [2, 2, 2]


# --- times ---


def test_log_append_time_is_the_batch_s_largest_timestamp():
    rows = read(plain_batch(0, 2, log_append_time=77) + plain_batch(2, 1))
    assert [(row["timestamp"], row["timestamp_type"]) for row in rows] == [(77, 1), (77, 1), (1002, 0)]


def test_delete_horizon_is_a_base_that_deltas_count_from():
    assert column(plain_batch(0, 2, delete_horizon=10**12), "timestamp") == [1000, 1001]


# --- transactions ---


def test_transactions_end_with_their_producer_s_next_marker():
    def of(producer: int, offset: int) -> bytes:
        return plain_batch(offset, 1, producer_id=producer, transactional=True)

    segment = of(1, 0) + of(2, 1) + plain_batch(2, 1, producer_id=1) + of(1, 3) + write_marker(4, 1, "abort")
    segment += of(1, 5) + write_marker(6, 2, "commit") + of(2, 7) + write_marker(8, 1, "commit") + of(1, 9)
    outcomes = [
        "aborted",
        "committed",
        "none",
        "aborted",
        "aborted",
        "committed",
        "committed",
        "pending",
        "committed",
        "pending",
    ]
    assert column(segment, "transaction") == outcomes
    assert column(segment, "control") == [None] * 4 + ["abort", None, "commit", None, "commit", None]
    assert column(segment, "producer_id") == [1, 2, 1, 1, 1, 1, 2, 2, 1, 1]


def test_a_control_record_of_another_type_decides_nothing():
    unknown = write_batch(
        [Record(1, 0, struct.pack(">hh", 0, 5), None)], producer_id=1, transactional=True, control=True
    )
    cut_short = write_batch([Record(2, 0, b"\0", None)], producer_id=1, transactional=True, control=True)
    rows = read(plain_batch(0, 1, producer_id=1, transactional=True) + unknown + cut_short)
    assert [(row["transaction"], row["control"]) for row in rows] == [("unknown", None)] + [("unknown", "unknown")] * 2


# --- compaction ---


def test_gaps_that_compaction_made():
    inside = write_batch([*plain_records(10, 2), *plain_records(14, 1)], last_offset=15)
    empty = write_batch([], base_offset=17, last_offset=19)
    rows = read(
        plain_batch(5, 2) + write_marker(7, 1, "commit") + inside + plain_batch(16, 1) + empty + plain_batch(20, 2),
        base_offset=4,
    )
    offsets = [5, 6, 7, 10, 11, 14, 16, 20, 21]
    assert [row["offset"] for row in rows] == offsets
    assert [row["offset"] for row in rows if row["compaction_gap"]] == [5, 10, 14, 16, 20]


@pytest.mark.parametrize(("base_offset", "gap"), [(4, True), (5, False), (None, False)])
def test_gap_between_the_file_s_name_and_its_first_row(base_offset: int | None, gap: bool):  # noqa: FBT001
    assert column(plain_batch(5, 2), "compaction_gap", base_offset) == [gap, False]


@pytest.mark.parametrize(
    "end", [write_batch([], base_offset=2, last_offset=9), *(plain_batch(2, count, last_offset=9) for count in (3, 7))]
)
def test_the_largest_offset_is_the_last_that_the_file_covers(end: bytes):
    row = read(plain_batch(0, 2) + end)[-1]
    assert (row["offset"], row["control"], row["compaction_gap"], row["key"]) == (9, "compacted", True, None)
    assert read(plain_batch(0, 2))[-1]["control"] is None
