"""What was lost to any group of a partition: not what another copy has, and not where a copy just ends."""

from types import SimpleNamespace

import pytest

from kip848_records.log.bases import choose_base
from kip848_records.log.extents import FileRow, Unread, extent
from kip848_records.log.facts import LogFacts
from kip848_records.log.losses import LostRecord, losses, records_of_other_copies
from tests.log_rows import coverage_of, log_of

GROUP, COMMIT = b"\x00\x03\x00\x01g", b"\x00\x01\x00\x01g"


def segments(copy, last, *unread, gap_end=None, repeated=None):
    unread = [Unread(*each) for each in unread]
    files = [FileRow(0, 0, last, gap_end is not None, gap_end and gap_end - 1, gap_end, repeated, unread)]
    return extent(0, copy, files)


def lost(*extents, records=()):
    return losses(extents, choose_base(extents), [LostRecord(0, at, frozenset(copies)) for at, copies in records])


@pytest.mark.parametrize(
    ("unread", "expected"),
    [
        ((3, 6, "bad_crc"), [(3, 5)]),
        ((10, None, "bad_crc"), [(10, 10)]),
        ((10, None, "cut_off"), []),
        # Between neighbours nothing can be missing: a batch that was there twice.
        ((3, 3, "overlapping_offsets"), []),
    ],
)
def test_one_copy(unread, expected):
    assert lost(segments("a", 9, unread)) == expected


@pytest.mark.parametrize("unread", [(3, 6, "bad_crc"), (8, None, "no_batch"), (8, None, "cut_off")])
def test_what_another_copy_has_is_not_lost(unread):
    assert lost(segments("a", 7, unread), segments("b", 9)) == []


def test_what_the_base_left_is_not_lost_though_its_history_starts_later():
    compacted = segments("b", 9, gap_end=6, repeated=8)
    assert lost(segments("a", 5, (3, 4, "bad_crc")), compacted) == []
    assert lost(segments("a", 5, (6, None, "cut_off")), compacted) == []


def test_what_the_base_could_not_read_is_lost():
    assert lost(segments("a", 9, (3, 6, "bad_crc")), segments("b", 9, (4, 6, "bad_crc"))) == [(3, 5)]


def test_a_record_in_error_is_lost_where_no_other_copy_has_it():
    whole, other = segments("a", 9), segments("b", 9)
    assert lost(whole, records=[(5, "a")]) == [(5, 5)]
    assert lost(whole, other, records=[(5, "ab")]) == [(5, 5)]
    assert lost(whole, other, records=[(5, "b")]) == []
    # The base is complete from behind it on, and has what compaction left of it.
    assert lost(segments("a", 4), segments("b", 9, gap_end=6, repeated=8), records=[(3, "a")]) == []


def row(offset, key=GROUP, **fields):
    return {"offset": offset, "key": key, "value": b"", **fields}


def covers(last, copy="a", file_format="parquet", **fields):
    file = {
        "format": file_format,
        "first_offset": 0,
        "last_offset": last,
        "has_gap": False,
        "unread": [],
        "skipped": [],
    }
    return {"offset": last, "file": file | fields, "copies": [copy]}


def first_and_last(engine, rows):
    known = coverage_of(engine, log_of(rows)).partitions[0]
    return known.first_loss, known.last_loss


def test_by_the_rows_of_a_log(engine):
    rows = [row(0), row(9), covers(9)]
    assert first_and_last(engine, rows) == (None, None)
    bad = {"value": b"x", "error": "why"}
    of_any_group = [
        row(at, key, error_code=code, **bad)
        for at, key, code in ((4, None, "not_base64"), (6, GROUP[:3], "key_without_group"))
    ]
    assert first_and_last(engine, [*rows, *of_any_group]) == (4, 6)
    others = [
        row(2, error_code="conflict", **bad),  # of a group that is known
        row(3, COMMIT[:3], error_code="conflict", **bad),
        row(5, None, error_code="other_topic", **bad),
        row(None, None, error_code="incomplete_row", **bad),
        row(7, b"\x00\x18", error_code="conflict", **bad),  # of a type that is not known
    ]
    assert first_and_last(engine, [*rows, *others]) == (None, None)
    complete = coverage_of(engine, log_of([*rows, *of_any_group])).partitions[0].complete_ranges
    assert complete == ((7, 10),)


def test_by_the_rows_of_several_copies(engine):
    rows = [row(0, copies=["a", "b"]), row(9, copies=["a", "b"]), covers(9), covers(9, "b")]
    bad = {"key": None, "value": b"x", "error": "why", "error_code": "not_base64"}
    in_b = {"offset": 4, "copies": ["b"], **bad}
    assert first_and_last(engine, [*rows, row(4, copies=["a"]), in_b]) == (None, None)
    assert first_and_last(engine, [*rows, {"offset": 4, "copies": ["a"], **bad}, in_b]) == (4, 4)


def places(engine, rows):
    return sorted((row.partition, row.offset) for row in engine.collect(rows))


def test_records_that_another_copy_holds(engine):
    bad = {"value": b"x", "error": "why", "error_code": "not_base64"}
    rows = [
        *(row(3, copies=["a"]), row(3, copies=["b"], **bad), row(3, copies=["c"], **bad)),
        *(row(4, copies=["b"], **bad), row(4, copies=["c"], **bad)),
        *(row(5, copies=["a"]), row(5, copies=["b"], partition=1, **bad)),
        # Another partition's losses tell of a group that is not known: `losses` looks at those.
        *(row(6, copies=["a"]), row(6, None, copies=["b"], **bad)),
    ]
    log = engine.relation(log_of(rows))
    held = records_of_other_copies(engine, log)
    assert places(engine, held) == [(0, 3)]
    # No record of the group is lost: the rows in error lose the group.
    kept = engine.collect(LogFacts.replayable(SimpleNamespace(stale=None, held_elsewhere=held), engine, log))
    with_group = {(each.partition, each.offset) for each in kept if each.error_code and each.group_id}
    assert with_group == {(0, 4), (1, 5)}


@pytest.mark.parametrize("key", [GROUP, None])
def test_a_base_does_not_lack_what_it_could_not_read(engine, key):
    """The record is not stale: compaction had left it in the base."""
    bad = {"value": b"x", "error": "why", "error_code": "not_base64"}
    compacted = {"has_gap": True}
    base = [row(6, b"\x00\x03\x00\x01h", copies=["a", "b"]), row(8, b"\x00\x03\x00\x01h", copies=["a", "b"])]
    rows = [
        *(row(2, b"\x00\x03\x00\x01i", copies=["b"]), row(3, copies=["b"]), row(3, key, copies=["a"], **bad)),
        *(row(5, None, copies=["b"], **bad), *base, covers(8, "a", **compacted), covers(8, "b", **compacted)),
    ]
    coverage = coverage_of(engine, log_of(rows))
    assert [copy.copy for copy in coverage.copies if copy.is_base] == ["a"]
    assert places(engine, coverage.stale) == [(0, 2)]
