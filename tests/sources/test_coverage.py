"""What a segment file covers of its partition's log, told by columns: however its batches are grouped."""

import pytest

from kip848_records.protocol.segments.reader import read_segment
from kip848_records.sources.coverage import Coverage, Place
from kip848_records.sources.segments import read_file
from tests.protocol.segment_writer import Record, plain_batch, write_batch

BEYOND_ALL_YEARS = 10**18


def unreadable(first: int, count: int = 3) -> bytes:
    """A batch with another CRC than its header's."""
    batch = bytearray(plain_batch(first, count))
    batch[-1] ^= 1
    return bytes(batch)


def covered(segment: bytes, first: int, batch_rows: int) -> tuple[int | None, int | None]:
    """Where its last gap ends, and its last offset."""
    coverage = Coverage(Place(0, first, first))
    list(read_segment(segment, base_offset=first, batch_rows=batch_rows, choose=coverage.add))
    return coverage.gap_end, coverage.last_offset


@pytest.mark.parametrize("batch_rows", [1, 2, 7, 10_000])
@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ([plain_batch(4, 5), plain_batch(9, 2)], (None, 10)),
        ([plain_batch(4, 5), plain_batch(12, 2), plain_batch(14, 1)], (12, 14)),
        ([plain_batch(4, 5), unreadable(9), plain_batch(12, 2)], (12, 13)),
        ([plain_batch(4, 5), unreadable(9), plain_batch(12, 2), unreadable(14, 1)], (12, 13)),
        ([unreadable(4, 5), unreadable(9), plain_batch(12, 2)], (12, 13)),
        (
            [plain_batch(4, 5), unreadable(9), write_batch([], base_offset=12, last_offset=13), plain_batch(14)],
            (14, 16),
        ),
        ([unreadable(4, 5)], (None, None)),
    ],
)
def test_where_groups_are_cut_does_not_show(batches, expected, batch_rows):
    assert covered(b"".join(batches), 4, batch_rows) == expected


@pytest.mark.parametrize("offset_commits", [True, False])
@pytest.mark.parametrize(
    ("records", "expected"),
    [
        # One that nobody can show is in error, and none that the file covers.
        ([(0, 5)], {"start": 0, "file": 0, "end": 0}),
        ([(0, 5), (1, BEYOND_ALL_YEARS)], {"start": 0, "file": 0, "end": 0}),
        ([(0, 5), (3, BEYOND_ALL_YEARS)], {"start": 0, "file": 0, "end": 0}),
        ([(0, BEYOND_ALL_YEARS)], {}),
        ([(0, 5), (1, -BEYOND_ALL_YEARS), (2, 5)], {"start": 0, "file": 0, "gap": 2, "end": 2}),
    ],
)
def test_a_record_whose_time_nobody_can_show_is_not_covered(records, expected, offset_commits):
    segment = b"".join(write_batch([Record(offset, ms, b"\x00\x03\x00\x01g", b"")]) for offset, ms in records)
    found = read_file(memoryview(segment), "a file", Place(0, 0, 0), offset_commits=offset_commits)
    rows = [row for batch in found for row in batch.to_pylist()]
    assert {row["control"]: row["offset"] for row in rows if row["control"] is not None} == expected
