"""Copies of the logs of `cleaner`, as the rows that the package reads: of segment files, or of Spark's Kafka source."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kip848_records.sources.file_coverage import SegmentFile
from kip848_records.sources.segment_rows import read_file
from kip848_records.specs.log_columns import FILE, LOG_COLUMNS
from tests.log.cleaner import Batch, Log, marker
from tests.log.random_walk import data_records
from tests.log_rows import keyed
from tests.protocol.segment_writer import Record

COMMIT_KEYS = (b"\x00\x00", b"\x00\x01")


@dataclass(frozen=True)
class LogCopy:
    """A copy of one partition; without `shows_gaps` it is rows of the Kafka source, else segment files."""

    partition: int
    name: str
    log: Log
    shows_gaps: bool

    def rows(self) -> Iterator[dict[str, Any]]:
        rows = self._segment_rows() if self.shows_gaps else self._kafka_rows()
        return (row | {"copies": [self.name]} for row in rows)

    def offsets(self) -> set[int]:
        batches = self.log.batches()
        return {record.offset for batch in batches for record in batch.records if self.shows_gaps or not batch.marker}

    def _segment_rows(self) -> Iterator[dict[str, Any]]:
        for segment in self.log.segments:
            if data := segment.data():  # Spark skips empty files
                file = SegmentFile(self.partition, segment.base_offset, self.log.segments[0].base_offset)
                for rows in read_file(memoryview(data), "file", file):
                    for row in rows.to_pylist():
                        yield row | {"file": (row.pop("files") or [None])[0]}

    def _kafka_rows(self) -> Iterator[dict[str, Any]]:
        records = list(data_records(self.log))
        for record in records:
            yield dict.fromkeys(LOG_COLUMNS.names) | {
                "key": record.key,
                "value": record.value,
                "partition": self.partition,
                "offset": record.offset,
                "timestamp": record.timestamp * 1000,
                "timestamp_type": 0,
                "transaction": "unknown" if is_commit(record.key) else "none",
                **keyed(record.key),
            }
        if records:
            yield dump_row(self.partition, [record.offset for record in records])


def dump_row(partition: int, offsets: list[int]) -> dict[str, Any]:
    """What a dump with records at these offsets covers of a partition."""
    first, last = min(offsets), max(offsets)
    file = {"format": "parquet", "first_offset": first, "last_offset": last, "unread": [], "skipped": []}
    file["has_gap"] = len(set(offsets)) < last - first + 1
    row = {"partition": partition, "offset": last, "file": dict.fromkeys(field.name for field in FILE) | file}
    return dict.fromkeys(LOG_COLUMNS.names) | row


def is_commit(key: bytes | None) -> bool:
    return key is not None and key[:2] in COMMIT_KEYS


def batch_of(row: dict[str, Any]) -> Batch:
    """A batch of one row of segment files."""
    at = round(row["timestamp"].timestamp() * 1000)
    if row["control"]:
        return marker(row["offset"], at, row["producer_id"], row["control"])
    record = Record(row["offset"], at, row["key"], row["value"])
    return Batch(row["offset"], row["offset"], (record,), row["producer_id"])


def log_rows(rows: Iterable[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), LOG_COLUMNS)
