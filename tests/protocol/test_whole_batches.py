"""A Fetch response, cut anywhere, gives whole batches, and says from which offset to read on."""

from pathlib import Path

import pytest

from kip848_records.protocol.segments.compression import Decompressor
from kip848_records.protocol.segments.faults import UnreadableBatchError
from kip848_records.protocol.segments.record_batch import BatchHeaders
from kip848_records.protocol.segments.whole_batches import whole_batches as found
from kip848_records.protocol.segments.window import next_window

SEGMENTS = Path(__file__).parent.parent / "captures" / "kafka-4.3.1" / "segments"
FILE = max(SEGMENTS.rglob("*.log"), key=lambda file: file.stat().st_size)


def whole_batches(content, until, first=0):
    """Where they end, and from which offset to read on; the last of them is where it is said to be."""
    end, last, following = found(content, first, until)
    assert [batch.position.tolist() for batch in headers_of(memoryview(content)[:end], last)] == [[last]] * (end > 0)
    return end, following


def headers_of(content, start) -> list[BatchHeaders]:
    """The headers of the batches from a position on."""
    window = next_window(memoryview(content), start, Decompressor(1 << 20))
    return [] if window is None else [window.headers]


@pytest.fixture(scope="module")
def content():
    return FILE.read_bytes()


@pytest.fixture(scope="module")
def headers(content) -> BatchHeaders:
    return headers_of(content, 0)[0]


def test_all_of_it(content, headers):
    last = int(headers.last_offset[-1])
    assert whole_batches(content, last + 1) == (len(content), last + 1)
    assert whole_batches(memoryview(content), last + 100) == (len(content), last + 1)


def test_cut_within_a_batch(content, headers):
    third = int(headers.position[3])
    for cut in (third, third + 1, third + 11, third + 12, int(headers.position[4]) - 1):
        assert whole_batches(content[:cut], 1 << 40) == (third, int(headers.last_offset[2]) + 1)


@pytest.mark.parametrize("size", [0, 1, 11, 12, 60])
def test_no_whole_batch(content, size):
    assert whole_batches(content[:size], 1 << 40) == (0, None)


def test_up_to_an_offset(content, headers):
    base = headers.last_offset[4] + 1
    assert whole_batches(content, int(base)) == (int(headers.position[5]), int(base))


def test_nothing_is_left_before_the_end(content, headers):
    """The cleaner may remove all that is behind the offset that was asked for, up to the end of the range."""
    behind = content[int(headers.position[5]) :]
    until = int(headers.last_offset[4]) + 1
    assert whole_batches(behind, until) == (0, until)


def test_the_offset_that_was_asked_for_may_lie_in_the_last_batch(content, headers):
    last = int(headers.last_offset[-1])
    assert whole_batches(content, 1 << 40, first=last) == (len(content), last + 1)
    with pytest.raises(UnreadableBatchError, match=f"asked for offset {last + 1}, it ends before offset {last + 1}"):
        whole_batches(content, 1 << 40, first=last + 1)


@pytest.mark.parametrize("length", [-(1 << 31), -13, -12, 0, 48])
def test_a_length_that_no_batch_has(content, headers, length):
    at = int(headers.position[2])
    damaged = content[: at + 8] + length.to_bytes(4, "big", signed=True) + content[at + 12 :]
    with pytest.raises(UnreadableBatchError, match=f"a batch of {length} bytes is too short"):
        whole_batches(damaged, 1 << 40)
