"""A segment is read in windows of some MiB: where they lie must not show in the rows."""

import random
import struct
import zlib

import pyarrow as pa
import pytest

from kip848_records.protocol.segments import window as module
from kip848_records.protocol.segments.reader import SEGMENT_SCHEMA, SegmentError, UnsupportedMagicError, read_segment
from tests.protocol.damage import mutate
from tests.protocol.random_segments import random_segment, with_damaged_block, with_damaged_records
from tests.protocol.segment_writer import plain_batch, write_marker
from tests.seeds import daily_seeds, nightly_rows


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch):
    def read(segment: bytes, base_offset: int | None, window: int, **options) -> list[dict] | str:
        """The rows, or what a segment error says."""
        monkeypatch.setattr(module, "GROUP_BYTES", window)
        try:
            found = list(read_segment(segment, base_offset=base_offset, **options))
        except SegmentError as error:
            return f"{type(error).__name__} at {error.position}: {error}"
        return pa.Table.from_batches(found, SEGMENT_SCHEMA).to_pylist()

    return read


def unharmed(_: random.Random, batch: bytes) -> bytes:
    return batch


def changed(rng: random.Random, batch: bytes) -> bytes:
    return mutate(rng, batch, batch)


def doubled_or_lost(rng: random.Random, batch: bytes) -> bytes:
    return batch * rng.choice((0, 2))


def of_other_magic(rng: random.Random, batch: bytes) -> bytes:
    return batch[:16] + rng.choice((b"\0", b"\1", b"\3")) + batch[17:]


def out_of_order(rng: random.Random, batch: bytes) -> bytes:
    (offset,) = struct.unpack_from(">q", batch)
    return struct.pack(">q", offset + rng.choice((-70, -3, -1, 1, 3, 70, 2**41, -(2**41)))) + batch[8:]


DAMAGE = (with_damaged_records, with_damaged_block, changed, doubled_or_lost, of_other_magic, *[out_of_order] * 2)


@pytest.mark.parametrize(("seed", "share"), [("", 8), *nightly_rows((seed, 1) for seed in daily_seeds(2, "windows"))])
@pytest.mark.parametrize(("most", "harmed"), [(50, False), (150, True)])
def test_windows_do_not_show(most: int, harmed: bool, read, seed, share):  # noqa: FBT001
    errors, cases = 0, most // share
    for number in range(cases):
        rng = random.Random(f"windows/{number}{seed}")  # noqa: S311 - not for secrets
        batches = random_segment(rng)
        if harmed:
            batches = [
                *(rng.choice((*DAMAGE, *[unharmed] * 5))(rng, batch) for batch in batches),
                rng.choice((b"", bytes(20), b"garbage" * 20)),
            ]
        segment = b"".join(batches)
        base_offset = rng.choice((None, 0, 1000))
        expected = read(segment, base_offset, 10_000_000)
        for window in (1, 200, 500):
            assert read(segment, base_offset, window, batch_rows=rng.choice((1, 7, 10_000))) == expected
        errors += isinstance(expected, str) or any(row["error"] for row in expected)
    assert errors > cases / 2 if harmed else not errors


@pytest.mark.parametrize("window", [1, 250, 400, 500])
@pytest.mark.parametrize("wrong", range(1, 6))
@pytest.mark.parametrize("by", [-3, 3, 1 << 40])
def test_the_batch_out_of_order_is_blamed_across_windows(window: int, wrong: int, by: int, read):
    pieces = [plain_batch(first) for first in range(0, 21, 3)]
    pieces[wrong] = struct.pack(">q", 3 * wrong + by) + pieces[wrong][8:]
    rows = read(b"".join(pieces), 0, window)
    assert [row["value"] for row in rows if row["error"]] == [pieces[wrong]]
    good = [first + at for first in range(0, 21, 3) if first != 3 * wrong for at in range(3)]
    assert [row["offset"] for row in rows if row["error"] is None] == good


@pytest.mark.parametrize("window", [1, 200, 300, 2000])
def test_markers_decide_across_windows(window: int, read):
    def of(producer: int, offset: int) -> bytes:
        return plain_batch(offset, 1, producer_id=producer, transactional=True)

    segment = of(1, 0) + of(2, 1) + plain_batch(2, 1) + write_marker(3, 1, "abort") + of(1, 4) + plain_batch(5, 1)
    segment += write_marker(6, 2, "commit") + write_marker(7, 1, "commit") + of(2, 8) + plain_batch(9, 1)
    told = " ".join(row["transaction"] for row in read(segment, 0, window))
    assert told == "aborted committed none aborted committed none committed committed pending none"


@pytest.mark.parametrize("window", [1, 400])
def test_a_file_is_refused_before_its_first_row(window: int, monkeypatch: pytest.MonkeyPatch):
    message = struct.pack(">bbqii", 1, 0, 0, -1, -1)
    segment = b"".join(plain_batch(first) for first in range(0, 12, 3))
    segment += struct.pack(">qiI", 12, 4 + len(message), zlib.crc32(message)) + message
    monkeypatch.setattr(module, "GROUP_BYTES", window)
    with pytest.raises(UnsupportedMagicError):
        next(read_segment(segment, base_offset=0))
