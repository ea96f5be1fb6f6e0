"""Reads good log segments one record at a time: what the columnar reader is compared with."""

import gzip
import struct

import pyarrow as pa

HEADER = struct.Struct(">qiibIhiqqqhii")


def read_rows(segment: bytes, base_offset: int | None) -> list[dict]:
    rows: list[dict] = []
    expected = base_offset
    last_offset = -1
    at = 0
    while at < len(segment):
        base, length, _, magic, _, attributes, last_delta, base_time, max_time, producer, _, _, count = (
            HEADER.unpack_from(segment, at)
        )
        assert magic == 2
        data = decompress(attributes & 7, segment[at + HEADER.size : at + 12 + length])
        at += 12 + length
        cursor = 0
        for _ in range(count):
            size, cursor = varint(data, cursor)
            end = cursor + size
            time_delta, cursor = varint(data, cursor + 1)
            offset_delta, cursor = varint(data, cursor)
            key, cursor = sized(data, cursor)
            value, cursor = sized(data, cursor)
            headers, cursor = varint(data, cursor)
            for _ in range(2 * headers):
                _, cursor = sized(data, cursor)
            assert cursor == end
            row = {
                "offset": base + offset_delta,
                "timestamp": max_time if attributes & 8 else base_time + time_delta,
                "timestamp_type": attributes >> 3 & 1,
                "key": key,
                "value": value,
                "transaction": "pending" if attributes & 16 else "none",
                "compaction_gap": expected is not None and base + offset_delta != expected,
                "producer_id": producer,
                "control": None,
                "error": None,
            }
            if attributes & 32:
                kind = struct.unpack(">hh", key)[1]
                row |= {"key": None, "value": None, "control": ("abort", "commit")[kind]}
                end_transaction([*rows, row], producer, ("aborted", "committed")[kind])
            rows.append(row)
            expected = row["offset"] + 1
        assert cursor == len(data)
        last_offset = base + last_delta
        tail = {"timestamp": max_time, "timestamp_type": attributes >> 3 & 1}
    if segment and (expected is None or last_offset >= expected):
        end = {"offset": last_offset, "key": None, "value": None, "transaction": "none", "compaction_gap": True}
        rows.append(end | tail | {"producer_id": -1, "control": "compacted", "error": None})
    return rows


def end_transaction(rows: list[dict], producer: int, outcome: str) -> None:
    for row in rows:
        if row["producer_id"] == producer and row["transaction"] == "pending":
            row["transaction"] = outcome


def decompress(codec: int, data: bytes) -> bytes:
    if codec == 0 or not data:
        return data
    if codec == 1:
        return gzip.decompress(data)
    if codec == 2:
        return b"".join(map(unsnappy, chunks(data))) if data.startswith(b"\x82SNAPPY") else unsnappy(data)
    return pa.CompressedInputStream(pa.BufferReader(data), {3: "lz4", 4: "zstd"}[codec]).read()


def chunks(data: bytes) -> list[bytes]:
    found = []
    at = 16
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def unsnappy(chunk: bytes) -> bytes:
    size = 0
    for index, byte in enumerate(chunk):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            break
    return pa.Codec("snappy").decompress(chunk, size, asbytes=True)


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value >> 1 ^ -(value & 1), at


def sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = varint(data, at)
    if size < 0:
        return None, at
    return data[at : at + size], at + size
