"""What a segment file covers of its partition's log, told by columns: however its batches are grouped."""

import pytest

from kip848_records.protocol.segments.reader import Segment
from kip848_records.sources import file_coverage, key_hashes
from kip848_records.sources.file_coverage import MISSING, FileCoverage, SegmentFile
from kip848_records.sources.segment_rows import read_file
from tests.protocol.segment_writer import CODECS, Record, plain_batch, plain_records, write_batch, write_marker

BEYOND_ALL_YEARS = 10**18


def unreadable(first: int, count: int = 3) -> bytes:
    """A batch with another CRC than its header's."""
    batch = bytearray(plain_batch(first, count))
    batch[-1] ^= 1
    return bytes(batch)


def covered(segment: bytes, first: int = 0, batch_rows: int = 10_000) -> dict:
    coverage = FileCoverage(SegmentFile(0, first, first))
    for columns in Segment(segment, base_offset=first, batch_rows=batch_rows).groups():
        coverage.add(columns)
    return coverage.row()


def of_file(segment: bytes, base_offset: int = 0) -> dict | None:
    """What the row of a file says."""
    rows = [
        row
        for batch in read_file(memoryview(segment), "f", SegmentFile(7, base_offset, 0))
        for row in batch.to_pylist()
    ]
    files = [row for row in rows if row["files"] is not None]
    assert files == rows[-1:] or not files
    return files[0]["files"][0] | {"offset": files[0]["offset"]} if files else None


@pytest.mark.parametrize("batch_rows", [1, 2, 7, 10_000])
@pytest.mark.parametrize(
    ("batches", "gap_end", "unread", "last"),
    [
        ([plain_batch(4, 5), plain_batch(9, 2)], None, [], 10),
        ([plain_batch(5, 2)], 5, [], 6),
        ([plain_batch(4, 5), plain_batch(12, 2), plain_batch(14, 1)], 12, [], 14),
        # What could not be read may be all that is missing.
        ([plain_batch(4, 5), unreadable(9), plain_batch(12, 2)], None, [(9, 12)], 13),
        ([plain_batch(4, 5), unreadable(9), plain_batch(14, 2)], None, [(9, 14)], 15),
        ([plain_batch(4, 5), unreadable(9), plain_batch(12, 2), unreadable(14, 1)], None, [(9, 12), (14, None)], 13),
        ([unreadable(4, 5), unreadable(9), plain_batch(12, 2)], None, [(4, 12)], 13),
        (
            [plain_batch(4, 5), unreadable(9), write_batch([], base_offset=12, last_offset=13), plain_batch(14)],
            None,
            [(9, 14)],
            16,
        ),
        ([unreadable(4, 5)], None, [(4, None)], None),
    ],
)
def test_where_groups_are_cut_does_not_show(batches, gap_end, unread, last, batch_rows):
    row = covered(b"".join(batches), 4, batch_rows)
    assert (row["last_gap_end"], row["has_gap"], row["last_offset"]) == (gap_end, gap_end is not None, last)
    assert [(each["first_offset"], each["next_offset"]) for each in row["unread"]] == unread
    assert {each["error_code"] for each in row["unread"]} <= {"bad_crc"}


@pytest.mark.parametrize("batch_rows", [1, 2, 7, 10_000])
def test_bytes_are_those_of_batches_with_records(batch_rows):
    """Each once, however many groups it is in; not those of batches that are empty, or not read, or markers."""
    records = plain_records(0, 9)
    large, last = write_batch(records), plain_batch(20, 3)
    empty = write_batch([], base_offset=9, last_offset=12)
    segment = large + empty + unreadable(13) + write_marker(16, 1, "commit") + unreadable(17) + last
    contents = covered(segment, 0, batch_rows)["contents"]
    assert (contents["records"], contents["bytes"], contents["dirty_bytes"]) == (12, *[len(large + last)] * 2)

    cleaned = write_batch([*records[:4], *records[5:]])  # of a batch that the cleaner has been to, a part is behind it
    contents = covered(cleaned, 0, batch_rows)["contents"]
    assert (contents["bytes"], contents["dirty_bytes"], contents["dirty_records"]) == (*[len(cleaned)] * 2, 4)
    contents = covered(plain_batch(0) + write_batch(plain_records(5, 9)), 0, batch_rows)["contents"]
    assert (contents["bytes"] - contents["dirty_bytes"], contents["dirty_records"]) == (len(plain_batch(0)), 9)


def test_what_is_cut_off_and_what_is_no_segment():
    whole, cut = plain_batch(0), plain_batch(3)[:-1]
    expected = {"first_offset": 3, "next_offset": None, "error_code": "cut_off"}
    assert (of_file(whole + cut)["unread"], of_file(whole + cut)["last_offset"]) == ([expected], 2)
    foreign = of_file(b"garbage" * 50, base_offset=9)
    assert foreign["unread"] == [{"first_offset": 9, "next_offset": None, "error_code": "not_a_segment"}]
    assert (foreign["last_offset"], foreign["offset"], foreign["first_offset"]) == (None, 9, 0)


def test_a_file_without_a_byte_is_covered_where_it_begins():
    row = of_file(b"", base_offset=9)
    assert (row["last_offset"], row["offset"], row["base_offset"], row["unread"]) == (None, 9, 9, [])


def test_offsets_that_compaction_removed_at_the_end_are_covered():
    row = of_file(plain_batch(0, 2) + write_batch([], base_offset=2, last_offset=9))
    assert (row["last_offset"], row["last_gap_end"], row["offset"]) == (9, 10, 9)


@pytest.mark.parametrize(
    ("records", "last", "gap_end"),
    [
        ([(0, 5)], 0, None),
        ([(0, 5), (1, BEYOND_ALL_YEARS)], 1, None),
        ([(0, 5), (3, BEYOND_ALL_YEARS)], 3, 3),
        ([(0, 5), (1, -BEYOND_ALL_YEARS), (2, 5)], 2, None),
    ],
)
def test_a_record_whose_time_cannot_be_shown_is_covered(records, last, gap_end):
    """It is in error, and lost to its own group, which its key names."""
    segment = b"".join(write_batch([Record(offset, ms, b"\x00\x03\x00\x01g", b"")]) for offset, ms in records)
    row = of_file(segment)
    assert (row["last_offset"], row["last_gap_end"], row["unread"]) == (last, gap_end, [])


class TestFirstRepeatedKey:
    """The second record of a key, outside transactions, and what is missing behind it."""

    def of(self, *keys, first=0, **options):
        return write_batch([Record(first + n, 5, key.encode(), b"") for n, key in enumerate(keys)], **options)

    @pytest.mark.parametrize("batch_rows", [1, 2, 10_000])
    def test_the_first_of_all(self, batch_rows, monkeypatch):
        monkeypatch.setattr(key_hashes, "_AT_ONCE", 2)
        segment = self.of("a", "b", "c") + self.of("d", "b", "a", first=3) + self.of("d", "d", first=6)
        assert covered(segment, batch_rows=batch_rows)["first_repeated_offset"] == 4
        assert covered(self.of("a", "b"), batch_rows=batch_rows)["first_repeated_offset"] is None

    @pytest.mark.parametrize("codec", CODECS)
    def test_a_short_key_at_the_start_of_a_file(self, codec):
        """A hash reads the eight bytes before the end of a key: in a compressed batch there may be fewer."""
        assert covered(self.of("a", "a", codec=codec))["first_repeated_offset"] == 1

    def test_tombstones_count_and_nulls_do_not(self):
        records = [Record(0, 5, None, b""), Record(1, 5, None, b""), Record(2, 5, b"a", b""), Record(3, 5, b"a", None)]
        assert covered(write_batch(records))["first_repeated_offset"] == 3

    @pytest.mark.parametrize("batch_rows", [1, 10_000])
    def test_across_gaps(self, batch_rows):
        segment = self.of("a", "b", "c", "e") + self.of("d", "f", first=6) + self.of("g", "b", first=9)
        row = covered(segment + self.of("h", first=11), batch_rows=batch_rows)
        assert (row["first_repeated_offset"], row["first_missing_offset"], row["last_gap_end"]) == (10, 4, 9)
        assert row["unread"] == []

    @pytest.mark.parametrize("batch_rows", [1, 2, 10_000])
    def test_what_is_missing_behind_it_was_lost(self, batch_rows, monkeypatch):
        segment = self.of("a", "b") + self.of("a", "c", first=3) + self.of("d", first=6) + self.of("e", first=9)
        ends = write_batch([Record(10, 5, b"f", b"")], last_offset=13)
        lost = [(5, 6), (7, 9), (11, 14)]
        row = of_file(segment + ends)
        assert (row["first_repeated_offset"], row["first_missing_offset"], row["last_gap_end"]) == (3, 2, 3)
        assert [(each["first_offset"], each["next_offset"]) for each in row["unread"]] == lost
        assert {each["error_code"] for each in row["unread"]} == {MISSING}
        row = covered(segment, batch_rows=batch_rows)
        assert [(each["first_offset"], each["next_offset"]) for each in row["unread"]] == lost[:2]
        monkeypatch.setattr(file_coverage, "_MOST_LOST", 1)
        row = covered(segment, batch_rows=batch_rows)
        assert [(each["first_offset"], each["next_offset"]) for each in row["unread"]] == [(5, 9)]

    def test_between_unreadable_batches(self):
        segment = self.of("a", "a") + self.of("b", first=4) + unreadable(5) + self.of("c", first=8) + unreadable(9)
        found = [(each["first_offset"], each["next_offset"], each["error_code"]) for each in covered(segment)["unread"]]
        assert found == [(2, 4, MISSING), (5, 8, "bad_crc"), (9, None, "bad_crc")]

    def test_on_the_other_side_of_what_could_not_be_read(self):
        assert (
            covered(self.of("a", "b", "c") + unreadable(3) + self.of("d", "c", first=6))["first_repeated_offset"] == 7
        )

    def test_records_of_transactions_do_not_count(self):
        in_transaction = {"producer_id": 3, "transactional": True}
        segment = self.of("a") + self.of("a", first=1, **in_transaction) + self.of("b", first=2, **in_transaction)
        segment += write_marker(3, 3, "commit") + write_marker(4, 3, "commit") + self.of("b", first=5)
        assert covered(segment)["first_repeated_offset"] is None
        assert covered(segment + self.of("a", first=6))["first_repeated_offset"] == 6

    def test_keys_of_any_size(self):
        """They differ in one byte, in its first, last or any other word, or only in their length."""
        keys = {bytes(size) for size in range(1, 40)}
        for size in range(1, 40):
            keys |= {bytes(at) + b"\1" + bytes(size - at - 1) for at in range(size)}
        records = [Record(offset, 5, key, b"") for offset, key in enumerate(sorted(keys))]
        assert covered(write_batch(records))["first_repeated_offset"] is None
        for key in sorted(keys)[::25]:
            again = write_batch([Record(len(records), 5, key, b"")])
            assert covered(write_batch(records) + again)["first_repeated_offset"] == len(records)

    def test_no_more_keys_are_kept_than_fit(self, monkeypatch):
        monkeypatch.setattr(file_coverage, "_SLOTS", 2)
        monkeypatch.setattr(key_hashes, "_AT_ONCE", 4)
        keys = [f"{number}" for number in range(100)]
        assert covered(self.of(*keys))["first_repeated_offset"] is None
        assert covered(self.of(*keys, keys[-1]))["first_repeated_offset"] == 100
        assert covered(self.of(*keys, keys[0]))["first_repeated_offset"] is None
