"""Reads log segments whose records may be damaged, one record at a time: what the columnar reader is compared with.

The batches themselves are whole: `batches_of` goes by the length that each says it has.
"""

import gzip
import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import google_crc32c
import pyarrow as pa

HEADER = struct.Struct(">qiibIhiqqqhii")
CRC_COVERS_FROM = 21
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 8, 16, 32
MARKERS = {0: ("abort", "aborted"), 1: ("commit", "committed")}


class BadBatchError(Exception):
    pass


@dataclass
class PlainBatch:
    """A batch; `records` is None where its CRC is wrong, or where they do not parse exactly."""

    base: int
    attributes: int
    last_delta: int
    base_time: int
    max_time: int
    producer: int
    producer_epoch: int
    leader_epoch: int
    records: list[dict[str, Any]] | None
    is_damaged: bool = False

    @classmethod
    def parse(cls, data: bytes) -> "PlainBatch":
        base, _, epoch, _, *rest = HEADER.unpack_from(data)
        crc, attributes, last_delta, base_time, max_time, producer, producer_epoch, _, count = rest
        batch = cls(base, attributes, last_delta, base_time, max_time, producer, producer_epoch, epoch, None)
        if google_crc32c.value(data[CRC_COVERS_FROM:]) != crc:
            batch.is_damaged = True
            return batch
        try:
            batch.records = batch.parse_records(decompress(attributes & 7, data[HEADER.size :]), count)
        except BadBatchError:
            batch.records = None
        return batch

    def parse_records(self, data: bytes, count: int) -> list[dict[str, Any]]:
        expect(0 <= count * 7 <= len(data))
        expect(self.last_delta >= 0)
        reader = RecordReader(data)
        found = [self.parse_record(reader) for _ in range(count)]
        expect(reader.at == len(data))
        offsets = [record["offset"] for record in found]
        expect(all(a < b for a, b in pairwise(offsets)))
        expect(all(self.base <= offset <= self.base + self.last_delta for offset in offsets))
        return found

    def parse_record(self, reader: "RecordReader") -> dict[str, Any]:
        fields = RecordReader(reader.take(reader.varint(5)))
        fields.take(1)
        time_delta, offset_delta = fields.varint(10), fields.varint(5)
        expect(time_delta != -(2**63))  # the reader's mark of a varint that is too long; nobody writes it
        key, value = fields.sized(), fields.sized()
        for _ in range(fields.size(smallest=0)):
            fields.take(fields.size(smallest=0))
            fields.sized()
        expect(fields.at == len(fields.data))
        time = self.max_time if self.attributes & LOG_APPEND_TIME else wrapped(self.base_time + time_delta)
        return {"offset": self.base + offset_delta, "timestamp": time, "key": key, "value": value}

    def marker(self) -> str | None:
        """What a control batch says of its producer's transaction: the last record of it has the last word."""
        if not self.attributes & CONTROL:
            return None
        return MARKERS.get(control_type(self.records[-1]["key"]), ("", "unknown"))[1] if self.records else "unknown"


class RecordReader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        expect(0 <= size <= len(self.data) - self.at)
        self.at += size
        return self.data[self.at - size : self.at]

    def varint(self, most_bytes: int) -> int:
        value = 0
        for place in range(most_bytes):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return wrapped((value & 2**64 - 1) >> 1 ^ -(value & 1))
        raise BadBatchError

    def size(self, smallest: int) -> int:
        size = self.varint(5)
        expect(size >= smallest)
        return size

    def sized(self) -> bytes | None:
        size = self.size(smallest=-1)
        return None if size < 0 else self.take(size)


def batches_of(segment: bytes) -> list[bytes]:
    batches = []
    while segment:
        size = 12 + int.from_bytes(segment[8:12], "big")
        batches.append(segment[:size])
        segment = segment[size:]
    return batches


def plain_rows(batches: list[bytes], base_offset: int | None) -> list[dict[str, Any]]:
    """The rows of a segment of these batches, whose offsets do not overlap; `error` is a bool."""
    parsed = [PlainBatch.parse(batch) for batch in batches]
    rows: list[dict[str, Any]] = []
    expected = reached = base_offset
    for place, batch in enumerate(parsed):
        if batch.records is None:
            rows.append(error_row(batches[place], reached))
            expected = None
            continue
        reached = end_of(batch) + 1
        outcome = outcome_of(parsed, place)
        for record in batch.records:
            control = None
            if batch.attributes & CONTROL:
                control = MARKERS.get(control_type(record["key"]), ("unknown", ""))[0]
                record |= {"key": None, "value": None}
            gap = expected is not None and record["offset"] > expected
            rows.append(record | row_of(batch, outcome, control, gap=gap))
            expected = record["offset"] + 1
    if parsed and parsed[-1].records is not None and (expected is None or expected <= end_of(parsed[-1])):
        last = {"offset": end_of(parsed[-1]), "timestamp": parsed[-1].max_time, "key": None, "value": None}
        rows.append(
            last | row_of(parsed[-1], "none", "compacted", gap=True) | {"producer_id": -1, "producer_epoch": -1}
        )
    return rows


def row_of(batch: PlainBatch, transaction: str, control: str | None, *, gap: bool) -> dict[str, Any]:
    return {
        "timestamp_type": int(batch.attributes & LOG_APPEND_TIME > 0),
        "transaction": transaction,
        "compaction_gap": gap,
        "producer_id": batch.producer,
        "producer_epoch": batch.producer_epoch,
        "leader_epoch": batch.leader_epoch,
        "control": control,
        "error": False,
    }


def error_row(data: bytes, reached: int | None) -> dict[str, Any]:
    """What a batch that cannot be read leaves: its bytes, and its base offset, or behind what it must be."""
    base, *_, last_delta, _, _, _, _, _, count = HEADER.unpack_from(data)
    has_odd_header = min(base, last_delta, count) < 0 or base + last_delta >= 2**63
    row = row_of(PlainBatch(base, 0, 0, 0, 0, -1, -1, 0, None), "none", None, gap=False)
    offset = reached if has_odd_header and reached is not None else base
    read = {"offset": offset, "timestamp": None, "timestamp_type": -1, "key": None, "value": data, "error": True}
    return row | read | {"leader_epoch": None}


def outcome_of(batches: list[PlainBatch], place: int) -> str:
    """The next marker of its producer decides a transaction; a marker has the outcome that it decides.

    Unless a batch in between is damaged: nobody knows whose marker that was.
    """
    batch = batches[place]
    if not batch.attributes & (TRANSACTIONAL | CONTROL):
        return "none"
    for at in range(place, len(batches)):
        if batches[at].producer == batch.producer and (marker := batches[at].marker()):
            is_hidden = any(between.is_damaged for between in batches[place:at])
            return "unknown" if is_hidden else marker
    return "pending"


def control_type(key: bytes | None) -> int:
    return -1 if key is None or len(key) < 4 else struct.unpack_from(">H", key, 2)[0]


def end_of(batch: PlainBatch) -> int:
    return batch.base + batch.last_delta


def wrapped(value: int) -> int:
    """A 64-bit number, as two's complement has it."""
    return (value + 2**63) % 2**64 - 2**63


def expect(fact: bool) -> None:  # noqa: FBT001
    if not fact:
        raise BadBatchError


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
