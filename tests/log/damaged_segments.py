"""A real segment, damaged in one of its batches, which stands before two thirds of it."""

import struct

from kip848_records.sources.file_coverage import SegmentFile
from kip848_records.sources.segment_rows import read_file
from kip848_records.specs.log_columns import TOPIC
from tests.log.cleaner import Log
from tests.log.copies import batch_of
from tests.protocol.plain_segments import batches_of


def damaged_segments(captures):
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
