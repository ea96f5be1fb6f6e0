"""Anything that holds a copy of `__consumer_offsets`, as one DataFrame of log rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.sources.dump import read_columnar_dump, read_json_dump
from kip848_records.sources.files import find_input, reading
from kip848_records.sources.segments import read_segments, settle_transactions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read_log", "reading", "settle_transactions"]


def read_log(spark: SparkSession, path: str, source_format: str | None = None) -> DataFrame:
    """Return the log rows (`sources.log.LOG_SCHEMA`) of the dump or the segment files at `path`.

    `source_format` is `segments`, `parquet`, `delta` or `json`; it is recognised by file names unless given. Raises
    InputError where there is nothing at `path` that could be a copy of `__consumer_offsets`. Files are read when an
    action runs: within `reading()`, one that cannot be read is an InputError as well.
    """
    found = find_input(spark, path, source_format)
    with reading():
        if found.format == "segments":
            return read_segments(spark, found.files)
        if found.format == "json":
            return read_json_dump(spark, path)
        return read_columnar_dump(spark, path, found.format)
