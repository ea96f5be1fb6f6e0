"""What a copy holds of a partition by what its files cover: every reason for which records may be missing."""

import pytest

from kip848_records.log.extents import FileRow, Unread, extent, without_filled
from kip848_records.sources.file_coverage import MISSING


def of(base, last, *, gap=None, gap_end=None, repeated=None, unread=(), start=0):  # noqa: PLR0913
    """A segment file; one offset is missing before `gap_end`, or all from `gap` on."""
    missing = gap_end - 1 if gap is None and gap_end is not None else gap
    unread = [Unread(*each) for each in unread]
    return FileRow(base, start, last, gap_end is not None, missing, gap_end, repeated, unread)


def dump(first, last, *, has_gap):
    return FileRow(None, first, last, has_gap, None, None, None, ())


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
        ([of(0, 9, gap_end=4), of(12, 19, gap_end=14)], (20, 14, False)),
        ([of(0, 9, gap_end=10)], (10, 10, False)),
        ([of(0, 9, gap_end=10), of(10, 19)], (20, 10, False)),
        ([of(5, 9, gap_end=7, start=5)], (10, 7, True)),
        # The first repeated key behind it.
        ([of(0, 9, gap_end=4, repeated=6)], (6, 4, False)),
        ([of(0, 9, gap_end=4), of(10, 19, repeated=12), of(20, 29, repeated=21)], (12, 4, False)),
        ([of(0, 9, gap_end=4, repeated=4)], (4, 4, False)),
        ([of(0, 9, gap_end=4), of(12, 19, gap_end=13, repeated=15)], (15, 13, False)),
    ],
)
def test_segments(files, expected):
    assert held(*files) == expected
    assert extent(3, "a", files).unread == ()


def test_a_partition_without_records_is_there_and_complete():
    assert held(of(0, None)) == (0, 0, False)
    assert held(of(7, None, start=7)) == (7, 7, True)
    # A broker begins a file before it writes to it.
    for files in ([of(0, 9), of(10, None)], [of(0, None), of(0, 9)]):
        assert (held(*files), extent(3, "a", files).last_offset) == ((0, 0, False), 9)


@pytest.mark.parametrize(
    ("files", "expected", "lost"),
    [
        # Nothing behind the first repeated key was compacted: a file is missing, or was copied after the cleaner ran.
        ([of(0, 9, repeated=3), of(12, 19, repeated=15)], (12, 12, False), [(10, 12)]),
        ([of(0, 9, repeated=3), of(10, 19, gap=12, gap_end=14)], (14, 14, False), [(12, 14)]),
        ([of(0, 9, gap_end=3, repeated=5), of(12, 19)], (12, 12, False), [(10, 12)]),
        ([of(0, 9, gap_end=3, repeated=5), of(10, 19, gap_end=20)], (20, 20, False), [(19, 20)]),
        (
            [of(0, 9, repeated=3), of(12, 19), of(25, 29, gap=27, gap_end=29)],
            (29, 29, False),
            [(10, 12), (20, 25), (27, 29)],
        ),
        # A file knows what is missing behind its own first repeated key.
        ([of(0, 9, repeated=3, unread=[(5, 7, MISSING)])], (7, 7, False), [(5, 7)]),
        # The cleaner would have left gaps behind those between files.
        ([of(0, 9), of(12, 19)], (12, 12, False), [(10, 12)]),
        ([of(0, 9), of(12, 19, repeated=15)], (12, 12, False), [(10, 12)]),
        ([of(0, 9), of(12, 19), of(25, 29)], (25, 25, False), [(10, 12), (20, 25)]),
        ([of(0, 9, gap_end=4), of(12, 19)], (20, 12, False), [(10, 12)]),
        ([of(0, 9, gap_end=4), of(12, 19, repeated=15)], (15, 12, False), [(10, 12)]),
        ([of(0, 9), of(12, 19, gap_end=14), of(22, 29)], (30, 22, False), [(20, 22)]),
        ([of(3, 9, start=3, repeated=5), of(12, 19)], (12, 12, True), [(10, 12)]),
    ],
)
def test_what_was_lost(files, expected, lost):
    assert held(*files) == expected
    assert sorted(part[:2] for part in extent(3, "a", files).unread) == lost
    assert held(*files[::-1]) == expected


def test_a_key_that_files_share():
    """The log finds it: it lies before those that each file finds."""
    found = extent(3, "a", [of(0, 9), of(12, 19, gap=14, gap_end=18, repeated=19), of(22, 29)])
    assert (found.complete_from, found.gaps) == (22, ((10, 12, False), (14, 18, True)))
    earlier = found.with_repeated(13)
    assert (earlier.complete_from, sorted(part[:2] for part in earlier.unread)) == (22, [(10, 12), (14, 18), (20, 22)])
    # Some of the gaps of the file lie behind it: which ones, its coverage does not tell.
    within = found.with_repeated(16)
    assert (within.complete_from, sorted(part[:2] for part in within.unread)) == (22, [(17, 18), (20, 22)])


def test_files_that_overlap_were_not_cleaned_together():
    """What the cleaner left and a file from before it: a key that the older one repeats is no proof."""
    found = extent(3, "a", [of(0, 19, gap=1, gap_end=18), of(10, 19, repeated=12)])
    assert (found.complete_from, found.unread) == (20, ())
    assert (
        extent(3, "a", [of(0, 19, gap=1, gap_end=18), of(10, 29, repeated=12), of(30, 39, repeated=31)]).complete_from
        == 31
    )


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


def segments(copy, *files):
    return extent(3, copy, files)


def lost(*extents):
    return [[part[:2] for part in sorted(each.unread)] for each in without_filled(extents)]


def test_a_file_that_does_not_tell_where_its_first_gap_starts():
    """Rows of `log` from before the column: the gap may start with the file."""
    old = FileRow(0, 0, 79, True, None, 50, None, ())  # noqa: FBT003 - the columns in order
    found = extent(3, "a", [old])
    assert (found.gaps, found.complete_from) == (((0, 50, True),), 80)


class TestCopiesThatFillLosses:
    """What one copy lost, the others may hold."""

    first = segments("a", of(0, 9, repeated=3), of(20, 39))
    second = segments("b", of(0, 19, repeated=3), of(30, 39))

    def test_each_lost_another_part(self):
        assert lost(self.first) == [[(10, 20)]]
        assert lost(self.first, self.second) == [[], []]
        assert [each.complete_from for each in without_filled([self.first, self.second])] == [0, 0]

    def test_both_lost_the_same(self):
        third = segments("c", of(0, 9, repeated=3), of(15, 39))
        assert lost(self.first, third) == [[(10, 20)], [(10, 15)]]

    def test_several_together(self):
        third = segments("c", of(15, 17, repeated=16, start=15))
        fourth = segments("d", of(17, 25, repeated=18, start=17))
        assert lost(self.first, segments("b", of(0, 14, repeated=3)), third, fourth) == [[], [], [], []]
        assert lost(self.first, segments("b", of(0, 13, repeated=3)), third, fourth) == [[(10, 20)], [], [], []]

    def test_what_compaction_left_is_not_all(self):
        compacted = segments("c", of(0, 39, gap=2, gap_end=15, repeated=38))
        assert lost(self.first, compacted) == [[(10, 20)], []]

    def test_a_loss_before_the_complete_part_stays(self):
        """The records of others do not count there, so the state at the first repeated key lacks them."""
        base = segments("b", of(0, 17, gap_end=4), of(42, 45, repeated=44))
        whole = segments("a", of(18, 41, start=18))
        assert lost(whole, base) == [[], [(18, 42)]]
        assert lost(segments("a", of(0, 41)), segments("b", of(0, 17), of(42, 45))) == [[], []]

    def test_what_could_not_be_read(self):
        damaged = segments("c", of(0, 39, repeated=3, unread=[(12, 14, CRC)]))
        assert lost(self.first, damaged) == [[(10, 20)], [(12, 14)]]
        assert lost(self.second, damaged) == [[], []]

    def test_rows_of_the_kafka_source(self):
        whole, with_gaps = (extent(3, "d", [dump(5, 29, has_gap=each)]) for each in (False, True))
        assert lost(self.first, whole) == [[], []]
        assert lost(self.first, with_gaps) == [[(10, 20)], []]
        # It may lack the same records: a part of it may be missing.
        assert lost(self.first, with_gaps.with_repeated(8)) == [[(10, 20)], []]
        assert lost(self.first, whole.with_lost_record(12)) == [[(10, 20)], []]
