"""Where a segment ends, by the batch at its end."""

import struct

import pytest

from kip848_records.protocol.segments import last_offset as module
from kip848_records.protocol.segments.last_offset import last_offset
from tests.protocol.segment_writer import CODECS, plain_batch, plain_records, write_batch


def end_of(data: bytes) -> int | None:
    return last_offset(memoryview(data))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("count", [1, 3, 500])
def test_the_last_batch(codec: str, count: int):
    assert end_of(plain_batch(0) + plain_batch(7, count, codec=codec)) == 6 + count
    assert end_of(plain_batch(0) + plain_batch(7, count, codec=codec, last_offset=900)) == 900


def test_a_batch_without_records():
    assert end_of(plain_batch(0) + write_batch([], base_offset=3, last_offset=9)) == 9


@pytest.mark.parametrize("size", [100_000, 1_000_000, 1_500_000])
def test_a_large_batch(size: int):
    assert end_of(plain_batch(0) + write_batch(plain_records(3, 2, size=size // 2))) == 4


def test_one_larger_than_is_looked_at(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_SEARCHED_BYTES", (100,))
    assert end_of(plain_batch(0)) is None


@pytest.mark.parametrize("end", [b"\x00", bytes(200), b"garbage" * 20, plain_batch(3)[:-1]])
def test_what_is_no_batch(end: bytes):
    assert end_of(plain_batch(0) + end) is None
    assert end_of(end) is None


def test_one_that_is_damaged():
    damaged = bytearray(plain_batch(3))
    damaged[-1] ^= 1
    assert end_of(plain_batch(0) + bytes(damaged)) is None
    impossible = bytearray(plain_batch(3))
    impossible[:8] = struct.pack(">q", -5)  # which the CRC does not cover
    assert end_of(plain_batch(0) + bytes(impossible)) is None


def test_nothing():
    assert end_of(b"") is None
