"""Copies of the logs of `cleaner`, as the rows that the package reads: of segment files, or of Spark's Kafka source."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kip848_records.sources.coverage import Place
from kip848_records.sources.log import COPY_SCHEMA
from kip848_records.sources.segments import read_file
from tests.history.cleaner import Log
from tests.history.random_walk import data_records

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
                place = Place(self.partition, segment.base_offset, self.log.segments[0].base_offset)
                for rows in read_file(memoryview(data), "file", place):
                    yield from rows.to_pylist()

    def _kafka_rows(self) -> Iterator[dict[str, Any]]:
        for record in data_records(self.log):
            yield dict.fromkeys(COPY_SCHEMA.names) | {
                "key": record.key,
                "value": record.value,
                "topic": "__consumer_offsets",
                "partition": self.partition,
                "offset": record.offset,
                "timestamp": record.timestamp * 1000,
                "timestampType": 0,
                "transaction": "unknown" if is_commit(record.key) else "none",
            }


def is_commit(key: bytes | None) -> bool:
    return key is not None and key[:2] in COMMIT_KEYS


_ARROW_TYPES = {"binary": pa.binary(), "int": pa.int32(), "bigint": pa.int64(), "timestamp": pa.timestamp("us", "UTC")}
_ARROW_TYPES |= {"boolean": pa.bool_(), "string": pa.string()}


def log_rows(spark: SparkSession, rows: Iterable[dict[str, Any]]) -> DataFrame:
    fields = [(field.name, _ARROW_TYPES[field.dataType.simpleString()]) for field in COPY_SCHEMA]
    schema = pa.schema([*fields, ("copies", pa.list_(pa.string()))])
    return spark.createDataFrame(pa.Table.from_pylist(list(rows), schema))
