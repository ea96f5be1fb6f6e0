"""What lies at a path, seen through Spark's own file access, so that object stores and volumes work alike."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from kip848_records.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("segments", "parquet", "delta", "json")

_SEGMENT = re.compile(r"\.log$")
_PARQUET = re.compile(r"\.parquet$")
_JSON = re.compile(r"\.(json|jsonl|ndjson)(\.(gz|bz2|zst|zstd|lz4|snappy|deflate))?$")
_PARTITION_FOLDER = "__consumer_offsets-*"


@dataclass(frozen=True)
class Input:
    """What to read: its format, the path that the user gave and, where files are read one by one, their paths."""

    format: str
    path: str
    files: list[str]


def find_input(spark: SparkSession, path: str, source_format: str | None = None) -> Input:
    """Return what lies at `path`, its format recognised unless named.

    Raises InputError where nothing is there, or nothing of that format.
    """
    if source_format is not None and source_format not in FORMATS:
        raise InputError.unknown_format(source_format, FORMATS)
    pattern = escape_glob(path)
    segments = _list(spark, f"{pattern}/{_PARTITION_FOLDER}/*.log")
    if segments and source_format in {None, "segments"}:
        return Input("segments", path, segments)
    files = _list(spark, pattern)
    if files is None:
        raise InputError.path_not_found(path)
    found = source_format or _recognise(spark, pattern, files)
    if found is None:
        raise InputError.not_a_source(path, FORMATS) if files else InputError.empty_folder(path)
    if found == "segments":
        files = [file for file in files if _SEGMENT.search(file)]
    if not files and found != "delta":
        raise InputError.empty_folder(path)
    return Input(found, path, files)


def escape_glob(path: str) -> str:
    r"""Return `path` so that Hadoop takes it literally, not as a pattern."""
    return re.sub(r"([\\{}\[\]*?,^])", r"\\\1", path.rstrip("/") or "/")


def _recognise(spark: SparkSession, pattern: str, files: list[str]) -> str | None:
    if _list(spark, f"{pattern}/_delta_log/*.json"):
        return "delta"
    for name, ending in (("segments", _SEGMENT), ("parquet", _PARQUET), ("json", _JSON)):
        if any(ending.search(file) for file in files):
            return name
    return None


def _list(spark: SparkSession, pattern: str) -> list[str] | None:
    """Return the files that match, in order, hidden ones left out; None where the path does not exist."""
    try:
        rows = spark.read.format("binaryFile").load(pattern).select("path").collect()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
    return sorted(row.path for row in rows)
