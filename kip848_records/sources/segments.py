"""A broker's own files: log segments of the partitions of `__consumer_offsets`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.errors import InputError
from kip848_records.protocol.segments.reader import SEGMENT_SCHEMA, SegmentError, read_segment
from kip848_records.sources.files import escape_glob
from kip848_records.sources.log import LOG_SCHEMA, TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession


# A partition is an int, an offset a long: the digits that always fit are enough.
_FILE = re.compile(rf"{TOPIC}-(\d{{1,9}})/0*(\d{{1,18}})\.log$")
_TIMESTAMP = pa.timestamp("us", "UTC")
# What Python and Spark can show: years 1 to 9999, in ms.
_FIRST_TIME, _LAST_TIME = -62_135_596_800_000, 253_402_300_799_999


def read_segments(spark: SparkSession, files: list[str]) -> DataFrame:
    """Return the log rows of segment files, `<...>/__consumer_offsets-<partition>/<base offset>.log`.

    A transaction that is open at the end of its file is `pending`: `settle_transactions` looks into the next ones. What
    cannot be read becomes a row with an error that names the file. Raises InputError for a file that is not named so.
    """
    for file in files:
        if not _FILE.search(file):
            raise InputError.not_a_segment(file)
    contents = spark.read.format("binaryFile").load([escape_glob(file) for file in files]).select("path", "content")
    return contents.mapInArrow(partial(_read_files, _places(files)), LOG_SCHEMA)


@dataclass(frozen=True)
class _Place:
    """Where a file stands in its partition; `next_offset` is the base offset of the file that follows."""

    partition: int
    base_offset: int
    next_offset: int | None
    is_first: bool


def _places(files: list[str]) -> dict[str, _Place]:
    """Return the place of each file, by its path without the scheme of this machine's files."""
    found = sorted((int(m[1]), int(m[2]), file) for file in files if (m := _FILE.search(file)))
    places = {}
    for index, (partition, base_offset, file) in enumerate(found):
        following = found[index + 1] if index + 1 < len(found) else None
        next_offset = following[1] if following and following[0] == partition else None
        is_first = index == 0 or found[index - 1][0] != partition
        places[_plain(file)] = _Place(partition, base_offset, next_offset, is_first)
    return places


def _plain(path: str) -> str:
    return re.sub("^file:/+", "/", path)  # Spark writes one slash in one place and three in another


def settle_transactions(log: DataFrame) -> DataFrame:
    """Give rows that are pending at the end of their file the outcome that a later file's marker tells.

    A transaction's records share the outcome of the next marker of their producer in the partition.
    """
    is_open = (F.col("transaction") == "pending") & F.col("error").isNull()
    is_marker = F.col("control").eqNullSafe("commit") | F.col("control").eqNullSafe("abort")
    onwards = (
        Window.partitionBy("topic", "partition", "producer_id")
        .orderBy("offset")
        .rowsBetween(Window.currentRow, Window.unboundedFollowing)
    )
    marker = F.first(F.when(is_marker, F.col("control")), ignorenulls=True).over(onwards)
    outcome = F.when(marker == "commit", "committed").when(marker == "abort", "aborted").otherwise("pending")
    settled = (
        log.filter(is_open | is_marker)
        .withColumn("outcome", outcome)
        .withColumn("transaction", F.when(is_marker, F.col("transaction")).otherwise(F.col("outcome")))
        .select(*log.columns)
    )
    return log.filter(~(is_open | is_marker)).unionByName(settled)


def _read_files(places: dict[str, _Place], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for index in range(batch.num_rows):
            path = batch["path"][index].as_py()
            place = places[_plain(path)]
            coverage = _Coverage(place)
            for rows in _read_file(batch["content"][index].as_buffer(), place.base_offset):
                coverage.add(rows)
                yield _log_rows(rows, path, place.partition)
            yield _log_rows(coverage.rows(), path, place.partition)


def _read_file(content: pa.Buffer, base_offset: int) -> Iterator[pa.RecordBatch]:
    try:
        yield from read_segment(content, base_offset=base_offset)
    except SegmentError as error:
        unreadable = {"offset": base_offset, "transaction": "none", "error": str(error)}
        yield pa.RecordBatch.from_pylist([unreadable], SEGMENT_SCHEMA)


class _Coverage:
    """What a file's rows cover: where its last gap ends, and whether it reaches the file that comes next."""

    def __init__(self, place: _Place) -> None:
        self.place = place
        self.end = place.base_offset
        self.last_gap: int | None = None
        self.unread = False

    def add(self, rows: pa.RecordBatch) -> None:
        offsets = rows["offset"].to_numpy()
        unread = rows["error"].is_valid().to_numpy(zero_copy_only=False)
        behind_unread = np.concatenate([[self.unread], unread[:-1]])
        gaps = rows["compaction_gap"].to_numpy(zero_copy_only=False).astype(bool) | behind_unread
        if len(found := offsets[gaps & ~unread]):
            self.last_gap = int(found[-1])
        if len(good := offsets[~unread]):
            self.end = int(good[-1]) + 1
        self.unread = bool(unread[-1]) if len(unread) else self.unread

    def rows(self) -> pa.RecordBatch:
        """Return control rows: `truncated` where nothing leads up to the file, `gap` where its last gap ends."""
        base_offset, next_offset = self.place.base_offset, self.place.next_offset
        told = {"truncated": base_offset if self.place.is_first and base_offset > 0 else None, "gap": self.last_gap}
        if next_offset is not None and self.end < next_offset:
            told["gap"] = next_offset
        rows = [
            {"offset": offset, "transaction": "none", "compaction_gap": control == "gap", "control": control}
            for control, offset in told.items()
            if offset is not None
        ]
        return pa.RecordBatch.from_pylist(rows, SEGMENT_SCHEMA)


def _log_rows(rows: pa.RecordBatch, path: str, partition: int) -> pa.RecordBatch:
    count = rows.num_rows
    millis = rows["timestamp"]
    shown = pc.and_(pc.greater_equal(millis, _FIRST_TIME), pc.less_equal(millis, _LAST_TIME))
    out_of_range = pc.if_else(pc.fill_null(pc.invert(shown), False), "timestamp out of range", None)  # noqa: FBT003
    columns = dict(zip(rows.schema.names, rows.columns, strict=True)) | {
        "topic": pa.repeat(TOPIC, count),
        "partition": pa.repeat(pa.scalar(partition, pa.int32()), count),
        "timestamp": pc.if_else(shown, millis, None).cast(pa.timestamp("ms", "UTC")).cast(_TIMESTAMP),
        "timestampType": rows["timestamp_type"],
        "error": pc.binary_join_element_wise(path, pc.coalesce(rows["error"], out_of_range), ": "),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in LOG_SCHEMA.names], LOG_SCHEMA.names)
