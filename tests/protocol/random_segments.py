"""Writes random log segments, as brokers and their cleaner leave them, and damages them."""

import random
import struct
from functools import cache

from tests.protocol.damage import LENGTHS, mutate
from tests.protocol.plain_segments import CRC_COVERS_FROM, HEADER, batches_of, decompress
from tests.protocol.samples import TESTS
from tests.protocol.segment_writer import (
    CODECS,
    Record,
    compress,
    frame,
    sized,
    varint,
    write_batch,
    write_marker,
    write_record,
)

COUNT_AT = HEADER.size - 4
BASE_OFFSETS = (0, 1000, 2**40)


def random_segment(rng: random.Random) -> list[bytes]:
    """Return the batches of a segment, in order: real ones or random ones."""
    if rng.random() < 0.3:
        batches = rng.choice(captured_batches())
        first = rng.randrange(len(batches))
        return list(batches[first : first + rng.choice((1, 3, 10))])
    offset = rng.choice(BASE_OFFSETS)
    batches = []
    for _ in range(rng.randrange(10)):
        offset += rng.choice((0, 0, 0, 5))
        batch, covered = random_batch(rng, offset)
        batches.append(batch)
        offset += covered
    return batches


def random_batch(rng: random.Random, offset: int) -> tuple[bytes, int]:
    """Return a batch and how many offsets it covers."""
    producer = rng.randint(-1, 2)
    if producer >= 0 and rng.random() < 0.4:
        return write_marker(offset, producer, rng.choice(("abort", "commit")), random_time(rng)), 1
    covered = rng.choice((1, 1, 2, 3, 6, 70))
    kept = rng.choice((1, 1, 0.8, 0))
    records = [random_record(rng, offset + at) for at in range(covered) if rng.random() < kept]
    batch = write_batch(
        records,
        base_offset=offset,
        last_offset=offset + covered - 1,
        codec=rng.choice(CODECS) if records else "none",
        producer_id=producer,
        producer_epoch=rng.choice((None, 7, 0x7FFF)) if producer >= 0 else None,
        transactional=producer >= 0 and rng.random() < 0.5,
        delete_horizon=random_time(rng) if rng.random() < 0.2 else None,
        log_append_time=random_time(rng) if rng.random() < 0.2 else None,
    )
    return batch, covered


def random_record(rng: random.Random, offset: int) -> Record:
    headers = tuple((rng.randbytes(2), rng.choice((None, b"", b"h" * 70))) for _ in range(rng.choice((0, 0, 0, 1, 2))))
    return Record(offset, random_time(rng), random_bytes(rng), random_bytes(rng), headers)


def random_time(rng: random.Random) -> int:
    return rng.choice((-1, 0, 1, 3, rng.randrange(2**41)))


def random_bytes(rng: random.Random) -> bytes | None:
    size = rng.choice((-1, 0, 1, 20, 135))
    return None if size < 0 else rng.randbytes(size)


@cache
def captured_batches() -> list[list[bytes]]:
    """The batches of the segments of real brokers, a list a segment."""
    segments = [path.read_bytes() for path in sorted((TESTS / "captures").glob("*/segments/*/*.log"))]
    return [batches for segment in segments if (batches := batches_of(segment))]


def with_damaged_records(rng: random.Random, batch: bytes) -> bytes:
    """A batch with a right CRC around records that are damaged inside the compression, or miscounted."""
    attributes = int.from_bytes(batch[21:23], "big")
    records = decompress(attributes & 7, batch[HEADER.size :])
    records = mutate(rng, records, records)
    head = bytearray(batch[CRC_COVERS_FROM : HEADER.size])
    count_at = COUNT_AT - CRC_COVERS_FROM
    if rng.random() < 0.2:
        count = int.from_bytes(head[count_at:], "big") + rng.choice((-1, 1, 2**30))
        head[count_at:] = rng.choice((max(count, -1), -1, 2**31 - 1, 0)).to_bytes(4, "big", signed=True)
    if rng.random() < 0.1:
        head[1] ^= rng.choice((8, 16, 32, 64))
    if rng.random() < 0.05:
        head[2:6] = struct.pack(">i", rng.choice((0, -1, -(2**31))))
    return frame(int.from_bytes(batch[:8], "big"), bytes(head) + recompress(attributes & 7, records))


def with_odd_records(rng: random.Random, batch: bytes) -> bytes:
    """A batch with a right CRC around other records, written field by field, some against the rules."""
    base = int.from_bytes(batch[:8], "big")
    covered = int.from_bytes(batch[23:27], "big") + 1
    odd = rng.choice((0, 0.02, 0.1))
    kept = sorted(rng.sample(range(covered), rng.randint(1, min(covered, 5))))
    records = [odd_record(rng, random_record(rng, at), odd) for at in kept]
    head = batch[CRC_COVERS_FROM + 2 : COUNT_AT] + len(records).to_bytes(4, "big")
    codec = rng.randrange(5)
    attributes = int.from_bytes(batch[CRC_COVERS_FROM : CRC_COVERS_FROM + 2], "big") & ~7 | codec
    return frame(base, attributes.to_bytes(2, "big") + head + recompress(codec, b"".join(records)))


def odd_record(rng: random.Random, record: Record, odd: float) -> bytes:
    """A record whose offset and timestamp are deltas; `odd` is the chance of each field to be wrong or strange."""

    def number(value: int) -> bytes:
        return rng.choice((*LENGTHS, *map(varint, (-2, -1, 1, 2**31)))) if rng.random() < odd else varint(value)

    def content(data: bytes | None) -> bytes:
        if rng.random() < odd:
            data = None
        return number(-1 if data is None else len(data)) + (data or b"")

    if not odd:
        return write_record(record, 0, 0)
    attributes = rng.choice((b"\x00", b"\xff"))
    fields = attributes + number(record.timestamp) + number(record.offset) + content(record.key) + content(record.value)
    fields += number(len(record.headers)) + b"".join(content(key) + content(value) for key, value in record.headers)
    return number(len(fields)) + fields if rng.random() < odd else sized(fields)


def with_damaged_block(rng: random.Random, batch: bytes) -> bytes:
    """A batch with a right CRC around a block that is damaged as it lies there, compressed or not."""
    block = mutate(rng, batch[HEADER.size :], batch)
    return frame(int.from_bytes(batch[:8], "big"), batch[CRC_COVERS_FROM : HEADER.size] + block)


def with_wrong_crc(rng: random.Random, batch: bytes) -> bytes:
    """A batch with a bit that is not as it was written: any but those of its offsets, its length and its magic."""
    at = rng.choice((rng.choice((21, 22)), rng.randrange(43, 51), rng.randrange(17, 21), rng.randrange(27, len(batch))))
    return batch[:at] + bytes([batch[at] ^ 1 << rng.randrange(8)]) + batch[at + 1 :]


def recompress(codec: int, records: bytes) -> bytes:
    """An empty block stays empty: the reader takes it for no records."""
    return compress(("none", "gzip", "snappy", "lz4", "zstd")[codec], records) if records else records
