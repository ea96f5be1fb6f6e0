"""Segments that are damaged, cut or foreign: what can be read is read, and the rest is said."""

import re
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kip848_records.protocol.segments.faults import Fault
from kip848_records.protocol.segments.reader import NotASegmentError, SegmentError, UnsupportedMagicError
from tests.protocol.segment_comparisons import read, small_steps
from tests.protocol.segment_writer import CODECS, Record, frame, plain_batch, plain_records, write_batch, write_marker


def with_flipped_bit(position: int, data: bytes) -> bytes:
    return data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


# --- files that are not whole ---


@pytest.mark.parametrize("data", [b"", bytes(12), bytes(5000)])
def test_empty_and_preallocated_files_have_no_rows(data: bytes):
    assert read(data) == []
    assert [row["error"] for row in read(plain_batch(0) + data)] == [None] * 3


def test_a_file_cut_anywhere_keeps_what_is_before_the_cut():
    whole = plain_batch(0, 2) + plain_batch(2, 2, codec="gzip")
    last = plain_batch(4, 2)
    for cut in range(1, len(last)):
        *rows, error = read(whole + last[:cut])
        assert rows == read(whole)
        assert error["error"] == f"the file is cut inside the batch at byte {len(whole)}"
        assert (error["offset"], error["value"]) == (4, last[:cut])
        assert (error["key"], error["timestamp"], error["timestamp_type"], error["control"]) == (None, None, -1, None)
        for base_offset, offset in ((3, 3), (None, -1)):
            (error,) = read(last[:cut], base_offset)
            assert (error["error"], error["offset"]) == ("the file is cut inside the batch at byte 0", offset)


@pytest.mark.parametrize("bit", [1 << 4, 1 << 24])
def test_a_batch_whose_length_is_wrong_does_not_look_like_the_end_of_a_copy(bit: int):
    before, bad, behind = plain_batch(0), plain_batch(3), plain_batch(6) + plain_batch(9)
    (length,) = struct.unpack_from(">i", bad, 8)
    bad = bad[:8] + struct.pack(">i", length ^ bit) + bad[12:]
    rows = read(before + bad + behind)
    assert [row["offset"] for row in rows if row["error"] is None] == [0, 1, 2]
    errors = [row for row in rows if row["error"] is not None]
    assert errors
    assert not any(row["error_code"] == Fault.CUT_OFF for row in errors)
    assert errors[-1]["offset"] == 3


@pytest.mark.parametrize(("epoch", "partitions", "first"), [(2, 50, 200_000), (2, 1000, 1_000_000), (5, 20, 1 << 40)])
def test_offset_commits_that_are_cut_hold_no_batch(epoch: int, partitions: int, first: int):
    """Their values have bytes that look like a header: a partition's zeros, 16 bytes before a leader epoch."""
    records = [
        Record(
            offset=3 + partition,
            timestamp=1_750_000_000_000,
            key=struct.pack(">hh8sh6si", 1, 8, b"payments", 6, b"orders", partition),
            value=struct.pack(">hqihq", 3, first + 977 * partition, epoch, 0, 1_750_000_000_000),
        )
        for partition in range(partitions)
    ]
    whole = write_batch(records)
    for cut in range(len(whole) // 9, len(whole), len(whole) // 9):
        *_, error = read(plain_batch(0) + whole[:cut])
        assert error["error_code"] == Fault.CUT_OFF


def test_what_looks_like_batches_everywhere_is_not_searched_without_end():
    start = struct.pack(">qiiBI", 7, 1000, 0, 2, 0)
    (*_, error) = read(plain_batch(0) + bytes(8) + struct.pack(">iiB", 2**30, 0, 2) + start * 100_000)
    assert error["error"] == f"the batch at byte {len(plain_batch(0))} has a wrong length, because others follow it"


def test_garbage_behind_the_last_batch_is_an_error_row():
    garbage = b"\x07garbage" * 10
    *rows, error = read(plain_batch(0) + garbage)
    assert len(rows) == 3
    assert (error["error"], error["value"]) == (f"no record batch at byte {len(plain_batch(0))}", garbage)


def test_a_wrong_crc_costs_one_batch():
    bad = with_flipped_bit(80, plain_batch(3))
    rows = read(plain_batch(0) + bad + plain_batch(9))
    assert [row["offset"] for row in rows] == [0, 1, 2, 3, 9, 10, 11]
    assert rows[3]["value"] == bad
    assert re.fullmatch(
        rf"batch at byte {len(plain_batch(0))}: its CRC-32C is 0x\w{{8}}, but the header has 0x\w{{8}}",
        rows[3]["error"],
    )
    for batch_rows in (1, 10_000):
        assert not any(
            row["compaction_gap"] for row in read(plain_batch(0) + bad + plain_batch(9), batch_rows=batch_rows)
        )


def test_an_unreadable_last_batch_covers_nothing():
    rows = read(plain_batch(0) + with_flipped_bit(80, plain_batch(3, 1, last_offset=9)))
    assert [(row["offset"], row["control"]) for row in rows] == [(0, None), (1, None), (2, None), (3, None)]


@pytest.mark.parametrize("value_size", [2**20, 2**21])
def test_an_error_keeps_a_mebibyte_of_the_batch(value_size: int):
    bad = with_flipped_bit(80, write_batch(plain_records(0, 1, size=value_size)))
    assert read(bad)[0]["value"] == bad[: 2**20 + 12]


@pytest.mark.parametrize("wrong", [11 ^ 1 << 3, 11 ^ 1 << 30, 11 ^ 1 << 62, 12, 9])
@pytest.mark.parametrize("base_offset", [8, None])
def test_a_base_offset_out_of_order_costs_one_batch(wrong: int, base_offset: int | None):
    # The CRC does not cover the base offset.
    batches = [plain_batch(first) for first in (8, 11, 14, 17)]
    batches[1] = struct.pack(">q", wrong) + batches[1][8:]
    rows = read(b"".join(batches), base_offset)
    assert [row["offset"] for row in rows if row["error"] is None] == [8, 9, 10, 14, 15, 16, 17, 18, 19]
    assert [row["offset"] for row in rows if row["error"] is not None] == [11]
    errors = [row["error"] for row in rows if row["error"]]
    assert errors == [f"batch at byte {len(batches[0])}: offsets overlap the batch beside it"]


def test_a_first_base_offset_out_of_order_costs_one_batch():
    rows = read(struct.pack(">q", 1 << 40) + plain_batch(0)[8:] + plain_batch(3), 0)
    assert [(row["offset"], row["error"] is None) for row in rows] == [
        (0, False),
        (3, True),
        (4, True),
        (5, True),
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_a_bad_block_does_not_spoil_the_next_of_its_codec(codec: str):
    good = [plain_batch(first, 3, codec=codec) for first in (0, 3, 6)]
    bad = [good[1][21:cut] for cut in (62, len(good[1]) - 1)] + [good[1][21:] + b"x"]
    for checked in bad:
        rows = read(good[0] + frame(3, checked) + good[2])
        assert [row["offset"] for row in rows] == [0, 1, 2, 3, 6, 7, 8]
        assert [row["error"] is None for row in rows] == [True] * 3 + [False] + [True] * 3


@pytest.mark.parametrize("position", [22, 50, 70], ids=["attributes", "producer", "value"])
@pytest.mark.parametrize("window", [1, 200, 300, 400, 2000])
def test_a_batch_with_a_wrong_crc_may_have_been_any_marker(position: int, window: int):
    def of_producer(offset: int, producer: int) -> bytes:
        return plain_batch(offset, 1, producer_id=producer, transactional=True)

    damaged = bytearray(write_marker(3, 1, "abort"))
    damaged[position] ^= 0x20
    segment = of_producer(0, 1) + of_producer(1, 2) + of_producer(2, 3) + bytes(damaged) + plain_batch(4, 1)
    segment += of_producer(5, 1) + write_marker(6, 1, "commit") + write_marker(7, 2, "abort")
    with small_steps(3, window):
        rows = read(segment)
    # The third's next marker may be in another file: whoever looks there knows of the damage.
    before, behind = ["unknown", "unknown", "pending"], ["none", "committed", "committed", "aborted"]
    assert [row["transaction"] for row in rows] == [*before, "none", *behind]


def test_a_batch_whose_crc_is_right_is_no_marker_unless_it_says_so():
    unread = frame(1, plain_batch(1, 1, codec="gzip")[21:-3])
    segment = plain_batch(0, 1, producer_id=1, transactional=True) + unread + write_marker(2, 1, "abort")
    assert [(row["transaction"], row["error"] is None) for row in read(segment)] == [
        ("aborted", True),
        ("none", False),
        ("aborted", True),
    ]


# --- files that are no segments ---


def legacy_message(magic: int) -> bytes:
    checked = bytes([magic, 0]) + bytes(8 * magic) + struct.pack(">i1si5s", 1, b"k", 5, b"value")
    return struct.pack(">qiI", 0, 4 + len(checked), zlib.crc32(checked)) + checked


@pytest.mark.parametrize("magic", [0, 1])
def test_old_magic_is_named_with_its_position(magic: int):
    for before in (b"", plain_batch(0)):
        with pytest.raises(UnsupportedMagicError, match=f"magic {magic} at byte {len(before)}") as caught:
            read(before + legacy_message(magic) * 3)
        assert caught.value.position == len(before)


@pytest.mark.parametrize(
    "data", [b"PAR1" * 50, b"{}", bytes([0] * 11 + [60] + [0] * 4 + [3] + [0] * 99), b"\x00" * 16 + b"\x03"]
)
def test_a_foreign_file_is_named(data: bytes):
    with pytest.raises(NotASegmentError, match="not a log segment") as caught:
        read(data)
    assert isinstance(caught.value, SegmentError)


# --- any bytes ---


@given(st.data())
def test_any_damage_gives_rows_or_a_segment_error(data: st.DataObject):
    whole = (
        plain_batch(0) + plain_batch(3, codec="zstd") + write_marker(6, 1, "commit") + plain_batch(7, codec="snappy")
    )
    segment = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        segment[data.draw(st.integers(0, len(segment) - 1))] = data.draw(st.integers(0, 255))
    try:
        rows = read(bytes(segment[: data.draw(st.integers(0, len(segment)))]))
    except SegmentError:
        return
    expected = {(row["key"], row["value"]) for row in read(whole)}
    assert {(row["key"], row["value"]) for row in rows if row["error"] is None} <= expected


@given(st.binary(max_size=400))
def test_random_bytes_give_rows_or_a_segment_error(data: bytes):
    try:
        read(data)
    except SegmentError:
        return
