"""Batches with a right CRC around anything: each costs itself alone, and no memory."""

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kip848_records.protocol.segments import record_fields
from tests.protocol.segment_comparisons import read
from tests.protocol.segment_writer import (
    CODECS,
    Record,
    compress,
    frame,
    plain_batch,
    varint,
    write_batch,
    write_record,
)


def read_with_peak(segment: bytes, **options) -> tuple[list[dict], int]:
    tracemalloc.start()
    rows = read(segment, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return rows, peak


def rewritten(body: bytes, *, count: int, last_delta: int = 10, codec: int = 0, first: int = 3) -> bytes:
    """A batch with a right CRC around any body."""
    return frame(first, struct.pack(">hiqqqhii", codec, last_delta, 0, 0, -1, -1, -1, count) + body)


RECORD = write_record(Record(1, 0, b"key", b"value"), 0, 0)
BROKEN = {
    "more records than bytes": (RECORD, 2**31 - 1, "2147483647 records do not fit in 15 bytes"),
    "one record too few": (RECORD * 2, 1, "15 bytes after the last record"),
    "one record too many": (RECORD + bytes(16), 2, "record 1 does not end inside the batch"),
    "no records": (RECORD, 0, "15 bytes after the last record"),
    "negative count": (RECORD, -1, "negative record count"),
    "length past the end": (varint(99) + RECORD[1:], 1, "record 0 does not end inside the batch"),
    "negative length": (varint(-9) + RECORD[1:], 1, "record 0 does not end inside the batch"),
    "endless varint": (b"\xff" * 16, 1, "record 0 does not end inside the batch"),
    "endless varint in a record": (varint(15) + bytes(1) + b"\xff" * 14, 1, "record 0 does not parse"),
    "key past the end": (varint(11) + bytes(3) + varint(2**30) + bytes(3), 1, "record 0 does not parse"),
    "key size below null": (varint(7) + bytes(3) + varint(-2) + bytes(3), 1, "record 0 does not parse"),
    "value past the end": (varint(11) + bytes(4) + varint(2**30) + bytes(2), 1, "record 0 does not parse"),
    "bytes behind the headers": (varint(7) + bytes(7), 1, "record 0 does not parse"),
    "negative header count": (varint(7) + bytes(5) + varint(-65), 1, "record 0 does not parse"),
    "endless headers": (varint(10) + bytes(5) + b"\xfe\xff\xff\xff\x0f", 1, "record 0 does not parse"),
    "null header key": (varint(8) + bytes(5) + varint(1) + varint(-1) + varint(0), 1, "record 0 does not parse"),
    "offset outside the batch": (write_record(Record(11, 0, b"", b""), 0, 0), 1, "record 0 does not parse"),
    "offset below the batch": (write_record(Record(-1, 0, b"", b""), 0, 0), 1, "record 0 does not parse"),
    "offset twice": (RECORD * 2, 2, "record 1 does not parse"),
}


@pytest.mark.parametrize("few_batches", [1, 1000])
@pytest.mark.parametrize("name", BROKEN)
def test_records_that_do_not_parse_exactly_cost_one_batch(name: str, few_batches: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(record_fields, "FEW_BATCHES", few_batches)
    body, count, reason = BROKEN[name]
    bad = rewritten(body, count=count)
    rows = read(plain_batch(0) + bad + plain_batch(14))
    assert [row["offset"] for row in rows] == [0, 1, 2, 3, 14, 15, 16]
    assert rows[3]["error"] == f"batch at byte {len(plain_batch(0))}: {reason}"
    assert rows[3]["value"] == bad


@pytest.mark.parametrize("header", [{"last_delta": -1}, {"first": -5}, {"first": 2**63 - 3}])
def test_impossible_headers_cost_one_batch(header: dict):
    rows = read(plain_batch(0) + rewritten(b"", count=0, **header) + plain_batch(3))
    assert [row["error"] is None for row in rows] == [True] * 3 + [False] + [True] * 3


def test_another_magic_costs_one_batch():
    rows = read(plain_batch(0) + frame(3, plain_batch(3)[21:], magic=3) + plain_batch(6))
    assert [row["error"] for row in rows if row["error"]] == [f"batch at byte {len(plain_batch(0))}: magic is not 2"]


def test_unknown_codec_costs_one_batch():
    assert "unknown compression codec 7" in read(rewritten(RECORD, count=1, codec=7))[0]["error"]


@pytest.mark.parametrize("codec", CODECS)
def test_a_decompression_bomb_is_refused_at_the_bound(codec: str):
    bomb = write_batch([Record(3, 0, None, bytes(20_000_000))], codec=codec)
    segment = plain_batch(0, codec=codec) + bomb + plain_batch(4, codec=codec)
    rows, peak = read_with_peak(segment, max_batch_bytes=2_000_000)
    assert [row["key"] for row in rows] == [b"key 0", b"key 1", b"key 2", None, b"key 4", b"key 5", b"key 6"]
    assert "refused" in rows[3]["error"]
    assert peak < 10_000_000
    assert read(bomb)[0]["error"] is None


@pytest.mark.parametrize("codec", CODECS)
def test_bad_blocks_leave_no_memory_behind(codec: str):
    bad = plain_batch(0, 1, codec=codec)[21:-4]
    rows, peak = read_with_peak(b"".join(frame(at, bad) for at in range(100)))
    assert all(row["error"] for row in rows)
    assert peak < 2_000_000


@pytest.mark.parametrize("claim", [2**31 - 1, 2**35 - 1, 500])
def test_a_snappy_block_that_claims_too_much_allocates_nothing(claim: int):
    size = bytearray()
    while claim >= 0x80:
        size.append(claim & 0x7F | 0x80)
        claim >>= 7
    block = bytes([*size, claim]) + compress("snappy-raw", RECORD)[1:]
    rows, peak = read_with_peak(rewritten(block, count=1, codec=2))
    assert "snappy block does not decompress" in rows[0]["error"]
    assert peak < 1_000_000


@given(st.binary(max_size=300), st.integers(-1, 40), st.sampled_from([1, 3, 1000]), st.integers(0, 7))
def test_any_bytes_under_a_right_crc_leave_the_neighbours_alone(body: bytes, count: int, few_batches: int, codec: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_fields, "FEW_BATCHES", few_batches)
        rows = read(plain_batch(0) + rewritten(body, count=count, codec=codec) + plain_batch(14))
    assert_neighbours(rows)


@given(st.data(), st.sampled_from(CODECS))
def test_any_changed_bytes_under_a_right_crc_leave_the_neighbours_alone(data: st.DataObject, codec: str):
    with_headers = [Record(at, at, b"k", b"v" * at, ((b"h", None),)) for at in range(3, 13)]
    checked = bytearray(write_batch(with_headers, codec=codec)[21:])
    for _ in range(data.draw(st.integers(1, 3))):
        # Behind producerId: a mutated producer could own the neighbours' transactions.
        at = data.draw(st.integers(36, len(checked) - 1))
        checked[at] = data.draw(st.integers(0, 255))
    assert_neighbours(read(plain_batch(0) + frame(3, bytes(checked)) + plain_batch(14)))


@pytest.mark.parametrize("few_batches", [1, 1000])
@pytest.mark.parametrize("size", [54, 55, 8181, 8182, 1_048_564, 1_048_565])
def test_lengths_of_one_to_four_bytes(size: int, few_batches: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(record_fields, "FEW_BATCHES", few_batches)
    rows = read(write_batch([Record(0, 0, b"key", bytes(size)), Record(1, 0, None, None)]))
    assert [(row["error"], len(row["value"] or b"")) for row in rows] == [(None, size), (None, 0)]


def assert_neighbours(rows: list[dict]) -> None:
    outside = [(row["offset"], row["key"], row["error"]) for row in rows if not 3 <= row["offset"] < 14]
    assert outside == [(offset, b"key %d" % offset, None) for offset in (0, 1, 2, 14, 15, 16)]
    inside = [row for row in rows if 3 <= row["offset"] < 14]
    assert len([row for row in inside if row["error"]]) in (0, 1)
    assert not any(row["error"] for row in inside) or len(inside) == 1
