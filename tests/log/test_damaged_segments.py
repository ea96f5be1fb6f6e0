"""A real segment, damaged: what is known to be complete, and what counts as lost to any group."""

import pytest

from kip848_records.log.bases import choose_base
from kip848_records.log.extents import FileRow, Unread, extent
from kip848_records.log.losses import losses
from tests.log.damaged_segments import damaged_segments, rows_of


@pytest.fixture(scope="module")
def segments(captures):
    return damaged_segments(captures)


def held(segment, copy="a"):
    rows = rows_of(segment, copy)
    file = rows[-1]["files"][0]
    unread = [Unread(**each) for each in file["unread"]]
    return extent(2, copy, [FileRow(**{name: file[name] for name in FileRow._fields} | {"unread": unread})])


def lost(*extents):
    return losses(extents, choose_base(extents), [])


@pytest.mark.parametrize("damage", ["whole", "next batch begins", "cut"])
def test_a_copy_of_a_live_log_may_end_within_a_batch(segments, damage):
    damaged, base, _ = segments
    found = held(damaged[damage])
    assert (found.complete_from, found.is_damaged, lost(found)) == (0, False, [])
    assert (found.last_offset == base - 1) == (damage == "cut")


@pytest.mark.parametrize("damage", ["crc", "base offset"])
def test_a_batch_that_cannot_be_read(segments, damage):
    damaged, base, following = segments
    found = held(damaged[damage])
    assert (found.complete_from, lost(found)) == (following, [(base, following - 1)])


@pytest.mark.parametrize("damage", ["length", "large length"])
def test_nothing_is_read_behind_a_length_that_is_wrong(segments, damage):
    damaged, base, _ = segments
    found = held(damaged[damage])
    ((first, last),) = lost(found)
    assert found.last_offset == base - 1
    assert base == first <= last


def test_a_cleaned_end(segments):
    damaged, *_ = segments
    found = held(damaged["compacted"])
    # Of the last records no key is repeated: they may be what the cleaner left.
    assert found.needs_repeated_key
    assert found.gapless_from < found.complete_from <= found.last_offset + 1
    assert lost(found) == []


@pytest.mark.parametrize("damage", ["crc", "base offset", "length", "large length", "cut", "next batch begins"])
@pytest.mark.parametrize("names", ["ab", "ba"])
def test_what_one_copy_lacks_another_may_have(segments, damage, names):
    damaged, *_ = segments
    whole, other = held(damaged["whole"], names[0]), held(damaged[damage], names[1])
    assert lost(whole, other) == []
    assert choose_base([whole, other]).complete_from == 0


@pytest.mark.parametrize("damage", ["crc", "large length", "cut"])
def test_what_compaction_left_is_there_later(segments, damage):
    damaged, *_ = segments
    earlier, later = held(damaged[damage], "a"), held(damaged["compacted"], "b")
    assert choose_base([earlier, later]) is later
    assert lost(earlier, later) == []
