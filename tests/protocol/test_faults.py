"""What is wrong with a batch or a file is a code, one for each kind of damage; the words are for people."""

import struct
import zlib

import pytest

from kip848_records.protocol.segments.faults import Fault
from kip848_records.protocol.segments.reader import SegmentError, read_segment
from kip848_records.sources.error_codes import ErrorCode
from tests.protocol.segment_comparisons import read
from tests.protocol.segment_writer import frame, plain_batch, write_batch, write_marker


def flipped(data: bytes, position: int = -1) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 1
    return bytes(changed)


def framed(body: bytes, *, count: int = 1, codec: int = 0, last_delta: int = 10) -> bytes:
    return frame(3, struct.pack(">hiqqqhii", codec, last_delta, 0, 0, -1, -1, -1, count) + body)


LENGTH_CUT = plain_batch(3)[:8] + struct.pack(">i", 1 << 24) + plain_batch(3)[12:]
DAMAGE = {
    Fault.BAD_CRC: flipped(plain_batch(3)) + plain_batch(6),
    Fault.BAD_HEADER: framed(b"", count=-1) + plain_batch(14),
    Fault.BAD_RECORDS: framed(bytes(20)) + plain_batch(14),
    Fault.NOT_DECOMPRESSED: framed(b"no frame", codec=4) + plain_batch(14),
    Fault.OVERLAPPING_OFFSETS: plain_batch(1) + plain_batch(6),
    Fault.NO_BATCH: b"\x07garbage" * 9,
    Fault.CUT_OFF: plain_batch(3)[:-5],
    Fault.BAD_LENGTH: LENGTH_CUT + plain_batch(6) + plain_batch(9),
}


@pytest.mark.parametrize("fault", DAMAGE)
def test_damage(fault: Fault):
    rows = read(plain_batch(0) + DAMAGE[fault])
    assert [row["error_code"] for row in rows if row["error_code"]] == [fault.value]
    assert [row["offset"] for row in rows][:3] == [0, 1, 2]


@pytest.mark.parametrize(
    "batch", [plain_batch(3, 50), plain_batch(3, 50, codec="zstd"), plain_batch(3, codec="snappy")]
)
def test_more_than_fits(batch: bytes):
    (error,) = [row for row in read(plain_batch(0, 1) + batch, max_batch_bytes=60) if row["error"]]
    assert error["error_code"] == Fault.TOO_LARGE


def test_files_that_are_refused():
    message = struct.pack(">bbqii", 1, 0, 0, -1, -1)
    legacy = struct.pack(">qiI", 0, 4 + len(message), zlib.crc32(message)) + message
    for data, fault in ((b"garbage" * 50, Fault.NOT_A_SEGMENT), (legacy, Fault.UNSUPPORTED_MAGIC)):
        with pytest.raises(SegmentError) as caught:
            list(read_segment(data, base_offset=0))
        assert caught.value.fault == fault


def test_every_fault_is_shown():
    assert {*DAMAGE, Fault.TOO_LARGE, Fault.NOT_A_SEGMENT, Fault.UNSUPPORTED_MAGIC} == set(Fault)


def test_no_fault_is_another_error_of_log_rows():
    assert not {fault.value for fault in Fault} & {code.value for code in ErrorCode}


def test_the_leader_epoch_is_that_of_each_batch():
    segment = plain_batch(0, 2, leader_epoch=4) + write_marker(2, 5, "commit") + plain_batch(3, 1, leader_epoch=6)
    segment += write_batch([], base_offset=4, last_offset=5, leader_epoch=7)
    assert [row["leader_epoch"] for row in read(segment)] == [4, 4, 0, 6, 7]
