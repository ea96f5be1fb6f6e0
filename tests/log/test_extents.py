"""What a copy holds of a partition by what its files cover: every reason for which records may be missing."""

import pytest

from kip848_records.log.extents import FileRow, Unread, extent


def of(base, last, *, gap_end=None, repeated=None, unread=(), start=0):  # noqa: PLR0913
    """A segment file."""
    return FileRow(base, start, last, gap_end is not None, gap_end, repeated, [Unread(*each) for each in unread])


def dump(first, last, *, has_gap):
    return FileRow(None, first, last, has_gap, None, None, ())


def held(*files):
    """complete_from, gapless_from and log_start_missing."""
    found = extent(3, "a", files)
    assert (found.partition, found.copy) == (3, "a")
    return found.complete_from, found.gapless_from, found.log_start_missing


CRC, CUT = "bad_crc", "cut_off"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # A log that nothing was removed from; the files come in any order.
        ([of(0, 9, repeated=2)], (0, 0, False)),
        ([of(10, 19), of(0, 9), of(20, 20)], (0, 0, False)),
        # Its first files are gone, and nothing was compacted.
        ([of(5, 9, start=5)], (5, 5, True)),
        ([of(5, 9, start=5), of(10, 12, start=5)], (5, 5, True)),
        # A gap in a file, between files, and at the end.
        ([of(0, 9, gap_end=4)], (10, 4, False)),
        ([of(0, 9), of(12, 19)], (20, 12, False)),
        ([of(0, 9, gap_end=10)], (10, 10, False)),
        ([of(0, 9, gap_end=10), of(10, 19)], (20, 10, False)),
        ([of(5, 9, gap_end=7, start=5)], (10, 7, True)),
        # The first repeated key behind it.
        ([of(0, 9, gap_end=4, repeated=6)], (6, 4, False)),
        ([of(0, 9, gap_end=4), of(10, 19, repeated=12), of(20, 29, repeated=21)], (12, 4, False)),
        ([of(0, 9, gap_end=4, repeated=4)], (4, 4, False)),
        # One before the last gap proves nothing of what was copied later.
        ([of(0, 9, repeated=3), of(12, 19, repeated=15)], (15, 12, False)),
        ([of(0, 9, repeated=3), of(10, 19, gap_end=14)], (20, 14, False)),
    ],
)
def test_segments(files, expected):
    assert held(*files) == expected


@pytest.mark.parametrize(
    ("files", "expected", "until"),
    [
        ([of(0, 9, unread=[(3, 6, CRC)])], (6, 6, False), 6),
        ([of(0, 9, unread=[(3, 6, CRC), (8, 9, CRC)])], (9, 9, False), 9),
        # At the end it is no gap: the copy ends before it.
        ([of(0, 9, unread=[(10, None, CUT)])], (0, 0, False), 0),
        # But if another file follows, it is.
        ([of(0, 9, unread=[(10, None, CUT)]), of(15, 19)], (15, 15, False), 15),
        ([of(0, 9), of(10, None, unread=[(10, None, CRC)]), of(15, 19)], (15, 15, False), 15),
        # Compaction, too, may have been at work.
        ([of(0, 9, gap_end=4, repeated=7, unread=[(5, 6, CRC)])], (7, 6, False), 6),
        ([of(0, 9, gap_end=2, repeated=3, unread=[(5, 6, CRC)])], (6, 6, False), 6),
        ([of(0, 9, gap_end=2, unread=[(5, 6, CRC)])], (10, 6, False), 6),
        # A first file that cannot be read at all hides where the log starts.
        ([of(0, None, unread=[(0, None, CRC)]), of(10, 19)], (10, 10, True), 10),
    ],
)
def test_what_could_not_be_read(files, expected, until):
    assert held(*files) == expected
    assert extent(3, "a", files).unread_until == until
    assert extent(3, "a", files).is_damaged == (until > 0)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (dump(0, 9, has_gap=False), (0, 0, False)),
        # What is missing may be markers of transactions.
        (dump(0, 9, has_gap=True), (10, None, False)),
        # What was before its start may have been compacted away, or never been read.
        (dump(4, 9, has_gap=False), (10, 4, None)),
        (dump(4, 9, has_gap=True), (10, None, None)),
    ],
)
def test_dumps(file, expected):
    assert held(file) == expected
    repeated = extent(3, "a", [file]).with_repeated(6)
    assert repeated.complete_from == (6 if expected[0] else 0)


def test_nothing_that_could_be_read():
    assert extent(0, "a", [of(0, None, unread=[(0, None, CRC)])]) is None
    assert extent(0, "a", [dump(0, None, has_gap=True)]) is None


def test_where_history_goes_on_no_state_need_be_known():
    found = extent(0, "a", [of(0, 9, gap_end=4, repeated=6)])
    assert (found.complete_from, found.continues_from) == (6, 4)
    assert extent(0, "a", [dump(4, 9, has_gap=True)]).with_repeated(7).continues_from == 7


def test_a_lost_record_ends_what_is_complete():
    found = extent(0, "a", [dump(0, 9, has_gap=False)])
    assert found.with_lost_record(3).complete_from == 4
    assert found.with_lost_record(9) == found
