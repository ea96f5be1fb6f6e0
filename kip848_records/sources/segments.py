"""A broker's own files: log segments of the partitions of `__consumer_offsets`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.errors import InputError
from kip848_records.protocol.batches import SEGMENT_SCHEMA, SegmentError, read_segment
from kip848_records.sources.files import escape_glob
from kip848_records.sources.log import LOG_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession


TOPIC = "__consumer_offsets"
# A partition is an int, an offset a long: the digits that always fit are enough.
_FILE = re.compile(rf"{TOPIC}-(\d{{1,9}})/0*(\d{{1,18}})\.log$")
_TIMESTAMP = pa.timestamp("us", "UTC")


def read_segments(spark: SparkSession, files: list[str]) -> DataFrame:
    """Return the log rows of segment files, `<...>/__consumer_offsets-<partition>/<base offset>.log`.

    A transaction that is open at the end of its file is `pending`: `settle_transactions` looks into the next ones. What
    cannot be read becomes a row with an error that names the file. Raises InputError for a file that is not named so.
    """
    for file in files:
        if not _FILE.search(file):
            raise InputError.not_a_segment(file)
    contents = (
        spark.read.format("binaryFile")
        .load([escape_glob(file) for file in files])
        .select(
            "path",
            F.regexp_extract("path", _FILE.pattern, 1).cast("int").alias("partition"),
            F.regexp_extract("path", _FILE.pattern, 2).cast("bigint").alias("base_offset"),
            "content",
        )
    )
    return contents.mapInArrow(_read_files, LOG_SCHEMA)


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


def _read_files(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for index in range(batch.num_rows):
            path, partition, base_offset = (batch[name][index].as_py() for name in ("path", "partition", "base_offset"))
            content = batch["content"][index].as_buffer()
            try:
                for rows in read_segment(content, base_offset=base_offset):
                    yield _log_rows(rows, path, partition)
            except SegmentError as error:
                unreadable = pa.RecordBatch.from_pylist(
                    [{"offset": base_offset, "transaction": "none", "error": str(error)}], SEGMENT_SCHEMA
                )
                yield _log_rows(unreadable, path, partition)


def _log_rows(rows: pa.RecordBatch, path: str, partition: int) -> pa.RecordBatch:
    count = rows.num_rows
    columns = dict(zip(rows.schema.names, rows.columns, strict=True)) | {
        "topic": pa.repeat(TOPIC, count),
        "partition": pa.repeat(pa.scalar(partition, pa.int32()), count),
        "timestamp": rows["timestamp"].cast(pa.timestamp("ms", "UTC")).cast(_TIMESTAMP),
        "timestampType": rows["timestamp_type"],
        "error": pc.binary_join_element_wise(path, rows["error"], ": "),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in LOG_SCHEMA.names], LOG_SCHEMA.names)
