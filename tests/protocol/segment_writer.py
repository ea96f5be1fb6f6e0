"""Writes log segments of record batches v2, one record at a time: the plain inverse of what the package reads."""

import gzip
import struct
from dataclasses import dataclass

import google_crc32c
import pyarrow as pa

CODECS = ("none", "gzip", "snappy", "lz4", "zstd", "snappy-raw")
MARKER_TYPES = ("abort", "commit")


@dataclass(frozen=True)
class Record:
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


def plain_records(first: int, count: int, size: int = 20) -> list[Record]:
    return [Record(offset, 1000 + offset, b"key %d" % offset, b"v" * size) for offset in range(first, first + count)]


def plain_batch(first: int, count: int = 3, **options) -> bytes:
    return write_batch(plain_records(first, count), **options)


def write_batch(  # noqa: PLR0913
    records: list[Record],
    *,
    base_offset: int | None = None,
    last_offset: int | None = None,
    codec: str = "none",
    producer_id: int = -1,
    producer_epoch: int | None = None,
    transactional: bool = False,
    control: bool = False,
    delete_horizon: int | None = None,
    log_append_time: int | None = None,
    leader_epoch: int = 0,
) -> bytes:
    """Leave out both offsets for a batch that nothing is missing from."""
    base_offset = records[0].offset if base_offset is None else base_offset
    last_offset = records[-1].offset if last_offset is None else last_offset
    first_timestamp = records[0].timestamp if records else -1
    base_timestamp = first_timestamp if delete_horizon is None else delete_horizon
    newest = max((record.timestamp for record in records), default=-1)
    attributes = (
        ("none", "gzip", "snappy", "lz4", "zstd").index(codec.removesuffix("-raw"))
        | (log_append_time is not None) << 3
        | transactional << 4
        | control << 5
        | (delete_horizon is not None) << 6
    )
    body = b"".join(write_record(record, base_offset, base_timestamp) for record in records)
    checked = struct.pack(
        ">hiqqqhii",
        attributes,
        last_offset - base_offset,
        base_timestamp,
        newest if log_append_time is None else log_append_time,
        producer_id,
        producer_epoch if producer_epoch is not None else 0 if producer_id >= 0 else -1,
        -1,
        len(records),
    ) + compress(codec, body)
    return frame(base_offset, checked, leader_epoch=leader_epoch)


def frame(base_offset: int, checked: bytes, magic: int = 2, leader_epoch: int = 0) -> bytes:
    """Put the head of a batch, with a right CRC, before the bytes that the CRC covers."""
    crc = google_crc32c.value(checked)
    return struct.pack(">qiibI", base_offset, 9 + len(checked), leader_epoch, magic, crc) + checked


def write_marker(offset: int, producer_id: int, kind: str, timestamp: int = 0) -> bytes:
    key = struct.pack(">hh", 0, MARKER_TYPES.index(kind))
    record = Record(offset, timestamp, key, struct.pack(">hi", 0, 7))
    return write_batch([record], producer_id=producer_id, transactional=True, control=True)


def write_record(record: Record, base_offset: int, base_timestamp: int) -> bytes:
    fields = b"\x00" + varint(record.timestamp - base_timestamp) + varint(record.offset - base_offset)
    fields += sized(record.key) + sized(record.value) + varint(len(record.headers))
    fields += b"".join(sized(key) + sized(value) for key, value in record.headers)
    return sized(fields)


def sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def varint(value: int) -> bytes:
    """Zigzag."""
    left = value << 1 ^ value >> 63
    out = bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def compress(codec: str, data: bytes) -> bytes:
    if codec == "none":
        return data
    if codec == "gzip":
        return gzip.compress(data, mtime=0)
    if codec == "snappy-raw":
        return pa.Codec("snappy").compress(data, asbytes=True)
    if codec == "snappy":
        # Java clients write chunks of 32 KiB; smaller ones here, for a batch to have several.
        chunks = [compress("snappy-raw", data[at : at + 1000]) for at in range(0, len(data), 1000)]
        return b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01" + b"".join(
            struct.pack(">i", len(chunk)) + chunk for chunk in chunks
        )
    if codec == "lz4":
        # Kafka refuses the linked blocks that Arrow writes, and Java clients write independent ones of 64 KiB.
        blocks = [
            pa.Codec("lz4_raw").compress(data[at : at + 65536], asbytes=True) for at in range(0, len(data), 65536)
        ]
        framed = b"".join(struct.pack("<I", len(block)) + block for block in blocks)
        return b"\x04\x22\x4d\x18\x60\x40\x82" + framed + bytes(4)
    # As a stream, like Java: the frame does not say how much it holds.
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()
