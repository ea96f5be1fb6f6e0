"""A real segment, damaged: what is known to be complete, and what counts as lost to any group."""

import struct

import pytest

from kip848_records.log.bases import choose_base
from kip848_records.log.extents import FileRow, Unread, extent
from kip848_records.log.losses import losses
from kip848_records.sources.file_coverage import SegmentFile
from kip848_records.sources.log_columns import TOPIC
from kip848_records.sources.segment_rows import read_file
from tests.log.cleaner import Log
from tests.log.copies import batch_of
from tests.protocol.plain_segments import batches_of


@pytest.fixture(scope="module")
def segments(captures):
    """One partition's segment, by what is damaged in one of its batches, and the offsets of that one and the next."""
    (file,) = (captures / "kafka-4.3.1" / "segments" / f"{TOPIC}-2").glob("*.log")
    batches = batches_of(file.read_bytes())
    third = len(batches) // 3
    before, bad, behind = b"".join(batches[:third]), batches[third], b"".join(batches[third + 1 :])
    base, length = struct.unpack_from(">qi", bad)
    (following,) = struct.unpack_from(">q", behind)
    damaged = {
        "whole": before + bad + behind,
        "crc": before + bad[:-1] + bytes([bad[-1] ^ 1]) + behind,
        "base offset": before + struct.pack(">q", base | 1 << 40) + bad[8:] + behind,
        "length": before + struct.pack(">qi", base, length ^ 1 << 4) + bad[12:] + behind,
        "large length": before + struct.pack(">qi", base, length ^ 1 << 24) + bad[12:] + behind,
        "cut": before + bad[:30],
        "compacted": compacted(before + bad + behind, batches[-8]),
        "next batch begins": before + bad + behind + bytes(5),
    }
    return damaged, base, following


def compacted(segment, until):
    """What the cleaner leaves of a segment that it reads up to a batch."""
    log = Log()
    for row in rows_of(segment)[:-1]:
        log.append(batch_of(row))
    (to,) = struct.unpack_from(">q", until)
    log.clean(to, now=0)
    return log.segments[0].data()


def rows_of(segment, copy="a"):
    return [row for batch in read_file(memoryview(segment), copy, SegmentFile(2, 0, 0)) for row in batch.to_pylist()]


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
