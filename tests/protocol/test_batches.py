import gzip
import re
import struct
import tracemalloc
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kip848_records.protocol import record_fields
from kip848_records.protocol.batches import (
    SEGMENT_SCHEMA,
    NotASegmentError,
    SegmentError,
    UnsupportedMagicError,
    read_segment,
)
from tests.dump_log import read_dump_logs
from tests.protocol.segment_reference import read_rows
from tests.protocol.segment_writer import CODECS, Record, compress, frame, varint, write_batch, write_marker, write_record

CAPTURES = Path(__file__).parents[1] / "captures"
SEGMENTS = sorted(CAPTURES.glob("*/segments/*/*.log"))


def read(segment: bytes, base_offset: int | None = 0, **options) -> list[dict]:
    return pa.Table.from_batches(read_segment(segment, base_offset=base_offset, **options), SEGMENT_SCHEMA).to_pylist()


def column(segment: bytes, name: str, base_offset: int | None = 0) -> list:
    return [row[name] for row in read(segment, base_offset)]


def records(first: int, count: int, size: int = 20) -> list[Record]:
    return [Record(offset, 1000 + offset, b"key %d" % offset, b"v" * size) for offset in range(first, first + count)]


def batch(first: int, count: int = 3, **options) -> bytes:
    return write_batch(records(first, count), **options)


def without_crc(position: int, data: bytes) -> bytes:
    """Flip the last bit of a byte, which the CRC does not know of."""
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


# --- real segments against Kafka's own tool ---


@pytest.mark.parametrize("segment", SEGMENTS, ids=lambda path: f"{path.parts[-4]}/{path.parent.name}")
def test_rows_of_a_capture_equal_kafka_dump_log(segment: Path):
    dump = segment.parents[2] / "oracle" / "dump-log" / f"{segment.parent.name}-{segment.stem}.txt.gz"
    printed = []
    for line in gzip.open(dump, "rt"):
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
    data = segment.read_bytes()
    assert read(data) == read_rows(data, 0)


@pytest.mark.parametrize("capture", sorted(CAPTURES.glob("kafka-*")), ids=lambda path: path.name)
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
    written = [records(0, 1), records(1, 12, size=700), records(13, 300)]
    segment = b"".join(write_batch(batch, codec=codec) for batch in written)
    rows = read(segment)
    assert [(row["offset"], row["timestamp"], row["key"], row["value"]) for row in rows] == [
        (record.offset, record.timestamp, record.key, record.value) for batch in written for record in batch
    ]
    assert {row["error"] for row in rows} == {None}


@pytest.mark.parametrize("codec", CODECS)
def test_a_bad_block_does_not_spoil_the_next_of_its_codec(codec: str):
    good = [batch(first, 3, codec=codec) for first in (0, 3, 6)]
    bad = [good[1][21:cut] for cut in (62, len(good[1]) - 1)] + [good[1][21:] + b"x"]
    for checked in bad:
        rows = read(good[0] + frame(3, checked) + good[2])
        assert [row["offset"] for row in rows] == [0, 1, 2, 3, 6, 7, 8]
        assert [row["error"] is None for row in rows] == [True] * 3 + [False] + [True] * 3


@st.composite
def segments(draw: st.DrawFn) -> tuple[int, bytes, list[Record]]:
    """A segment as a broker and its cleaner may leave it: base offset, bytes, data records."""
    texts = st.none() | st.binary(max_size=80) | st.binary(min_size=130, max_size=140)
    times = st.integers(-1, 2**41) | st.integers(0, 3)
    headers = st.lists(st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=70)), max_size=2).map(tuple)
    base_offset = offset = draw(st.sampled_from([0, 1000, 2**40]))
    written: list[Record] = []
    pieces = []
    for _ in range(draw(st.integers(0, 12))):
        producer = draw(st.integers(-1, 2))
        if producer >= 0 and draw(st.booleans()):
            pieces.append(write_marker(offset, producer, draw(st.sampled_from(["abort", "commit"])), draw(times)))
            offset += 1
            continue
        covered = draw(st.integers(1, 6) | st.just(70))
        left = [at for at in range(covered) if draw(st.integers(0, 9))] if draw(st.booleans()) else list(range(covered))
        if not draw(st.integers(0, 5)):
            left = []
        batch = [Record(offset + at, draw(times), draw(texts), draw(texts), draw(headers)) for at in left]
        pieces.append(
            write_batch(
                batch,
                base_offset=offset,
                last_offset=offset + covered - 1,
                codec=draw(st.sampled_from(CODECS)) if left else "none",
                producer_id=producer,
                transactional=producer >= 0 and draw(st.booleans()),
                delete_horizon=draw(st.none() | times),
                log_append_time=draw(st.none() | times),
            )
        )
        written += batch
        offset += covered + draw(st.sampled_from([0, 0, 0, 5]))
    return base_offset, b"".join(pieces), written


@given(segments(), st.sampled_from([1, 7, 10_000]), st.sampled_from([0, 3, 1000]), st.booleans())
@settings(deadline=None)
def test_any_segment_reads_as_one_record_at_a_time(written, batch_rows: int, few_batches: int, named: bool):  # noqa: FBT001
    base_offset, segment, data = written
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_fields, "FEW_BATCHES", few_batches)
        rows = read(segment, base_offset if named else None, batch_rows=batch_rows)
    assert rows == read_rows(segment, base_offset if named else None)
    assert [(row["offset"], row["key"], row["value"]) for row in rows if row["control"] is None] == [
        (record.offset, record.key, record.value) for record in data
    ]


def test_batches_of_rows_have_the_schema_and_the_size_asked_for():
    segment = b"".join(batch(first, 4) for first in range(0, 400, 4)) + batch(400, 1000)
    for data in (segment, memoryview(segment), pa.py_buffer(segment)):
        read_back = list(read_segment(data, base_offset=0, batch_rows=100))
        assert {rows.schema for rows in read_back} == {SEGMENT_SCHEMA}
        assert max(rows.num_rows for rows in read_back) == 100
        assert len(read_back) == 14
        assert sum(rows.num_rows for rows in read_back) == 1400


def test_groups_are_cut_by_decompressed_bytes():
    segment = b"".join(write_batch([Record(at, 0, None, bytes(3_000_000))], codec="zstd") for at in range(6))
    assert [rows.num_rows for rows in read_segment(segment, base_offset=0)] == [2, 2, 2]


# --- times ---


def test_log_append_time_is_the_batch_s_largest_timestamp():
    rows = read(batch(0, 2, log_append_time=77) + batch(2, 1))
    assert [(row["timestamp"], row["timestamp_type"]) for row in rows] == [(77, 1), (77, 1), (1002, 0)]


def test_delete_horizon_is_a_base_that_deltas_count_from():
    assert column(batch(0, 2, delete_horizon=10**12), "timestamp") == [1000, 1001]


# --- transactions ---


def test_transactions_end_with_their_producer_s_next_marker():
    def of(producer: int, offset: int) -> bytes:
        return batch(offset, 1, producer_id=producer, transactional=True)

    segment = of(1, 0) + of(2, 1) + batch(2, 1, producer_id=1) + of(1, 3) + write_marker(4, 1, "abort")
    segment += of(1, 5) + write_marker(6, 2, "commit") + of(2, 7) + write_marker(8, 1, "commit") + of(1, 9)
    outcomes = ["aborted", "committed", "none", "aborted", "aborted", "committed", "committed", "pending", "committed", "pending"]
    assert column(segment, "transaction") == outcomes
    assert column(segment, "control") == [None] * 4 + ["abort", None, "commit", None, "commit", None]
    assert column(segment, "producer_id") == [1, 2, 1, 1, 1, 1, 2, 2, 1, 1]


def test_an_unreadable_marker_leaves_its_transaction_pending():
    segment = batch(0, 1, producer_id=1, transactional=True) + without_crc(70, write_marker(1, 1, "abort"))
    segment += batch(2, 1, producer_id=1, transactional=True) + write_marker(3, 1, "commit")
    assert column(segment, "transaction") == ["pending", "none", "committed", "committed"]


def test_a_control_record_of_another_type_decides_nothing():
    unknown = write_batch([Record(1, 0, struct.pack(">hh", 0, 5), None)], producer_id=1, transactional=True, control=True)
    cut_short = write_batch([Record(2, 0, b"\0", None)], producer_id=1, transactional=True, control=True)
    rows = read(batch(0, 1, producer_id=1, transactional=True) + unknown + cut_short)
    assert [(row["transaction"], row["control"]) for row in rows] == [("pending", None)] + [("pending", "unknown")] * 2


# --- compaction ---


def test_gaps_that_compaction_made():
    inside = write_batch([*records(10, 2), *records(14, 1)], last_offset=15)
    empty = write_batch([], base_offset=17, last_offset=19)
    rows = read(batch(5, 2) + write_marker(7, 1, "commit") + inside + batch(16, 1) + empty + batch(20, 2), base_offset=4)
    offsets = [5, 6, 7, 10, 11, 14, 16, 20, 21]
    assert [row["offset"] for row in rows] == offsets
    assert [row["offset"] for row in rows if row["compaction_gap"]] == [5, 10, 14, 16, 20]


@pytest.mark.parametrize(("base_offset", "gap"), [(4, True), (5, False), (None, False)])
def test_gap_between_the_file_s_name_and_its_first_row(base_offset: int | None, gap: bool):  # noqa: FBT001
    assert column(batch(5, 2), "compaction_gap", base_offset) == [gap, False]


@pytest.mark.parametrize("end", [write_batch([], base_offset=2, last_offset=9), batch(2, 3, last_offset=9)])
def test_the_largest_offset_is_the_last_that_the_file_covers(end: bytes):
    row = read(batch(0, 2) + end)[-1]
    assert (row["offset"], row["control"], row["compaction_gap"], row["key"]) == (9, "compacted", True, None)
    assert read(batch(0, 2))[-1]["control"] is None


# --- files that are not whole ---


@pytest.mark.parametrize("data", [b"", bytes(12), bytes(5000)])
def test_empty_and_preallocated_files_have_no_rows(data: bytes):
    assert read(data) == []
    assert [row["error"] for row in read(batch(0) + data)] == [None] * 3


def test_a_file_cut_anywhere_keeps_what_is_before_the_cut():
    whole = batch(0, 2) + batch(2, 2, codec="gzip")
    last = batch(4, 2)
    for cut in range(1, len(last)):
        *rows, error = read(whole + last[:cut])
        assert rows == read(whole)
        assert error["error"] == f"the file is cut inside the batch at byte {len(whole)}"
        assert (error["offset"], error["value"]) == (4 if cut >= 8 else -1, last[:cut])
        assert (error["key"], error["timestamp"], error["timestamp_type"], error["control"]) == (None, None, -1, None)
        assert read(last[:cut])[0]["error"] == "the file is cut inside the batch at byte 0"


def test_garbage_behind_the_last_batch_is_an_error_row():
    garbage = b"\x07garbage" * 10
    *rows, error = read(batch(0) + garbage)
    assert len(rows) == 3
    assert (error["error"], error["value"]) == (f"no record batch at byte {len(batch(0))}", garbage)


def test_a_wrong_crc_costs_one_batch():
    bad = without_crc(80, batch(3))
    rows = read(batch(0) + bad + batch(9))
    assert [row["offset"] for row in rows] == [0, 1, 2, 3, 9, 10, 11]
    assert rows[3]["value"] == bad
    assert re.fullmatch(rf"batch at byte {len(batch(0))}: its CRC-32C is 0x\w{{8}}, the header says 0x\w{{8}}", rows[3]["error"])
    assert not any(row["compaction_gap"] for row in rows)


def test_an_unreadable_last_batch_covers_nothing():
    rows = read(batch(0) + without_crc(80, batch(3, 1, last_offset=9)))
    assert [(row["offset"], row["control"]) for row in rows] == [(0, None), (1, None), (2, None), (3, None)]


@pytest.mark.parametrize("value_size", [2**20, 2**21])
def test_an_error_keeps_a_mebibyte_of_the_batch(value_size: int):
    bad = without_crc(80, batch(0, 1, size=value_size) if False else write_batch(records(0, 1, size=value_size)))
    assert read(bad)[0]["value"] == bad[: 2**20 + 12]


@pytest.mark.parametrize(("flip", "blamed"), [(30, 1), (3, 1), (62, 1)])
def test_a_base_offset_out_of_order_costs_one_batch(flip: int, blamed: int):
    # 2^30 and 2^62 too high, or below the batch before it: the CRC does not cover the base offset.
    good = [batch(first, 3) for first in (8, 11, 14, 17)]
    good[blamed] = struct.pack(">q", 11 ^ 1 << flip) + good[blamed][8:]
    rows = read(b"".join(good), 8)
    assert [row["offset"] for row in rows if row["error"] is None] == [8, 9, 10, 14, 15, 16, 17, 18, 19]
    assert [row["error"] for row in rows if row["error"]] == [
        f"batch at byte {len(good[0])}: offsets overlap the batch beside it"
    ]


# --- files that are no segments ---


def legacy_message(magic: int) -> bytes:
    checked = bytes([magic, 0]) + bytes(8 * magic) + struct.pack(">i1si5s", 1, b"k", 5, b"value")
    return struct.pack(">qiI", 0, 4 + len(checked), zlib.crc32(checked)) + checked


@pytest.mark.parametrize("magic", [0, 1])
def test_old_magic_is_named_with_its_position(magic: int):
    for before in (b"", batch(0)):
        with pytest.raises(UnsupportedMagicError, match=f"magic {magic} at byte {len(before)}") as caught:
            read(before + legacy_message(magic) * 3)
        assert caught.value.position == len(before)


@pytest.mark.parametrize("data", [b"PAR1" * 50, b"{}", bytes([0] * 11 + [60] + [0] * 4 + [3] + [0] * 99), b"\x00" * 16 + b"\x03"])
def test_a_foreign_file_is_named(data: bytes):
    with pytest.raises(NotASegmentError, match="not a log segment"):
        read(data)


def test_every_refusal_is_a_segment_error():
    assert issubclass(NotASegmentError, SegmentError)
    assert issubclass(UnsupportedMagicError, SegmentError)


# --- hostile bytes ---


def rewritten(body: bytes, *, count: int, last_delta: int = 10, codec: int = 0, first: int = 3) -> bytes:
    """A batch with a right CRC around any body."""
    return frame(first, struct.pack(">hiqqqhii", codec, last_delta, 0, 0, -1, -1, -1, count) + body)


RECORD = write_record(Record(1, 0, b"key", b"value"), 0, 0)
BROKEN = {
    "more records than bytes": (RECORD, 2**31 - 1, "2147483647 records do not fit in 16 bytes"),
    "one record too few": (RECORD * 2, 1, "16 bytes behind the last record"),
    "one record too many": (RECORD + bytes(16), 2, "record 1 does not end inside the batch"),
    "no records": (RECORD, 0, "16 bytes behind the last record"),
    "negative count": (RECORD, -1, "negative record count"),
    "length past the end": (varint(99) + RECORD[1:], 1, "record 0 does not end inside the batch"),
    "negative length": (varint(-9) + RECORD[1:], 1, "record 0 does not end inside the batch"),
    "endless varint": (b"\xff" * 16, 1, "record 0 does not end inside the batch"),
    "endless varint in a record": (varint(15) + bytes(1) + b"\xff" * 14, 1, "record 0 does not parse"),
    "key past the end": (varint(7) + bytes(3) + varint(60) + bytes(3), 1, "record 0 does not parse"),
    "key size below null": (varint(7) + bytes(3) + varint(-2) + bytes(3), 1, "record 0 does not parse"),
    "value past the end": (varint(7) + bytes(4) + varint(60) + bytes(2), 1, "record 0 does not parse"),
    "bytes behind the headers": (varint(7) + bytes(7), 1, "record 0 does not parse"),
    "negative header count": (varint(7) + bytes(5) + varint(-65), 1, "record 0 does not parse"),
    "endless headers": (varint(10) + bytes(5) + b"\xfe\xff\xff\xff\x0f", 1, "record 0 does not parse"),
    "null header key": (varint(8) + bytes(5) + varint(1) + varint(-1) + varint(0), 1, "record 0 does not parse"),
    "offset outside the batch": (write_record(Record(11, 0, b"", b""), 0, 0), 1, "record 0 does not parse"),
    "offset below the batch": (write_record(Record(-1, 0, b"", b""), 0, 0), 1, "record 0 does not parse"),
    "offset twice": (RECORD * 2, 2, "record 1 does not parse"),
}


@pytest.mark.parametrize("few_batches", [0, 1000])
@pytest.mark.parametrize("name", BROKEN)
def test_records_that_do_not_parse_exactly_cost_one_batch(name: str, few_batches: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(record_fields, "FEW_BATCHES", few_batches)
    body, count, reason = BROKEN[name]
    bad = rewritten(body, count=count)
    rows = read(batch(0) + bad + batch(14))
    assert [row["offset"] for row in rows] == [0, 1, 2, 3, 14, 15, 16]
    assert rows[3]["error"] == f"batch at byte {len(batch(0))}: {reason}"
    assert rows[3]["value"] == bad


@pytest.mark.parametrize("header", [{"last_delta": -1}, {"first": -5}, {"first": 2**63 - 3}])
def test_impossible_headers_cost_one_batch(header: dict):
    rows = read(batch(0) + rewritten(b"", count=0, **header) + batch(3))
    assert [row["error"] is None for row in rows] == [True] * 3 + [False] + [True] * 3


def test_another_magic_costs_one_batch():
    rows = read(batch(0) + frame(3, batch(3)[21:], magic=3) + batch(6))
    assert [row["error"] for row in rows if row["error"]] == [f"batch at byte {len(batch(0))}: magic is not 2"]


def test_unknown_codec_costs_one_batch():
    assert "unknown compression codec 7" in read(rewritten(RECORD, count=1, codec=7))[0]["error"]


@pytest.mark.parametrize("codec", CODECS)
def test_a_decompression_bomb_is_refused_at_the_bound(codec: str):
    bomb = write_batch([Record(0, 0, None, bytes(20_000_000))], codec=codec)
    tracemalloc.start()
    rows = read(bomb + batch(1), max_batch_bytes=100_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [row["offset"] for row in rows] == [0, 1, 2, 3]
    assert "refused" in rows[0]["error"]
    assert peak < 8_000_000
    assert read(bomb)[0]["error"] is None


@pytest.mark.parametrize("claim", [2**31 - 1, 2**35 - 1, 500])
def test_a_snappy_block_that_claims_too_much_allocates_nothing(claim: int):
    size = bytearray()
    while claim >= 0x80:
        size.append(claim & 0x7F | 0x80)
        claim >>= 7
    block = bytes([*size, claim]) + compress("snappy-raw", RECORD)[1:]
    tracemalloc.start()
    error = read(rewritten(block, count=1, codec=2))[0]["error"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "snappy block does not decompress" in error
    assert peak < 1_000_000


@given(st.binary(max_size=300), st.integers(-1, 40), st.sampled_from([0, 3, 1000]), st.integers(0, 7))
@settings(deadline=None)
def test_any_bytes_under_a_right_crc_leave_the_neighbours_alone(body: bytes, count: int, few_batches: int, codec: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_fields, "FEW_BATCHES", few_batches)
        rows = read(batch(0) + rewritten(body, count=count, codec=codec) + batch(14))
    assert_neighbours(rows)


@given(st.data(), st.sampled_from(CODECS))
@settings(deadline=None)
def test_any_changed_bytes_under_a_right_crc_leave_the_neighbours_alone(data: st.DataObject, codec: str):
    with_headers = [Record(at, at, b"k", b"v" * at, ((b"h", None),)) for at in range(3, 13)]
    checked = bytearray(write_batch(with_headers, codec=codec)[21:])
    for _ in range(data.draw(st.integers(1, 3))):
        # Behind producerId: a mutated producer could own the neighbours' transactions.
        at = data.draw(st.integers(36, len(checked) - 1))
        checked[at] = data.draw(st.integers(0, 255))
    assert_neighbours(read(batch(0) + frame(3, bytes(checked)) + batch(14)))


def assert_neighbours(rows: list[dict]) -> None:
    outside = [(row["offset"], row["key"], row["error"]) for row in rows if not 3 <= row["offset"] < 14]
    assert outside == [(offset, b"key %d" % offset, None) for offset in (0, 1, 2, 14, 15, 16)]
    inside = [row for row in rows if 3 <= row["offset"] < 14]
    assert len([row for row in inside if row["error"]]) in (0, 1)
    assert not any(row["error"] for row in inside) or len(inside) == 1


@given(st.data())
@settings(deadline=None)
def test_any_damage_gives_rows_or_a_segment_error(data: st.DataObject):
    segment = bytearray(batch(0) + batch(3, codec="zstd") + write_marker(6, 1, "commit") + batch(7, codec="snappy"))
    for _ in range(data.draw(st.integers(1, 4))):
        segment[data.draw(st.integers(0, len(segment) - 1))] = data.draw(st.integers(0, 255))
    try:
        rows = read(bytes(segment[: data.draw(st.integers(0, len(segment)))]))
    except SegmentError:
        return
    good = {row["offset"]: row for row in read(batch(0) + batch(3) + write_marker(6, 1, "commit") + batch(7))}
    values = {row["value"] for row in good.values()}
    assert {row["value"] for row in rows if row["error"] is None and row["control"] is None} <= values


@given(st.binary(max_size=400))
def test_random_bytes_give_rows_or_a_segment_error(data: bytes):
    try:
        read(data)
    except SegmentError:
        return
