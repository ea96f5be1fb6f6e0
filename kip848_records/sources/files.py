"""What lies at a path, seen through Spark's own file access, so that object stores and volumes work alike."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.errors import AnalysisException, IllegalArgumentException

from kip848_records.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

FORMATS = ("segments", "parquet", "delta", "json")

URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""How a path begins that names its file system."""

_SEGMENT = re.compile(r"\.log$")
_PARQUET = re.compile(r"\.parquet$")
_JSON = re.compile(r"\.(json|jsonl|ndjson)(\.(gz|bz2|zst|zstd|lz4|snappy|deflate))?$")
_PARTITION_FOLDER = re.compile(r"__consumer_offsets-\d+/[^/]+$")
# In a name, not in a scheme such as file: or s3a:
_COLON = re.compile(r"/.*:")
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE\.\w+\] Encountered error while reading file (.*?)\.\s")


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
    if source_format in {None, "segments"}:
        # Brokers keep partitions that they move or delete beside the others, under longer names.
        segments = _list(spark, f"{pattern}/__consumer_offsets-*/*.log") or []
        if segments := [file for file in segments if _PARTITION_FOLDER.search(file)]:
            return Input("segments", path, segments)
    files = _list(spark, pattern)
    if files is None:
        raise InputError.path_not_found(path)
    if source_format in {None, "delta"} and _list(spark, escape_glob(f"{path.rstrip('/')}/_delta_log")):
        return Input("delta", path, files)
    if not files:
        raise InputError.colon_in_path(path) if _COLON.search(path) else InputError.empty_folder(path)
    found = source_format or _recognise(files)
    if found == "delta":
        raise InputError.not_delta(path)
    if found is None:
        raise InputError.not_a_source(path, FORMATS)
    if found == "segments":
        files = [file for file in files if _SEGMENT.search(file)]
    return Input(found, path, files)


@contextmanager
def reading() -> Iterator[None]:
    """Turn Spark's failure to read a file, within the block, into an InputError that names the file."""
    try:
        yield
    except Exception as error:
        # Spark's Python classes do not tell these failures from others: their text does.
        if failure := _UNREADABLE.search(str(error)):
            raise InputError.unreadable(unquote(failure[1])) from error
        raise


def escape_glob(path: str) -> str:
    r"""Return `path` so that Hadoop takes it literally, not as a pattern."""
    return re.sub(r"([\\{}\[\]*?,^])", r"\\\1", path.rstrip("/") or "/")


def _recognise(files: list[str]) -> str | None:
    for name, ending in (("segments", _SEGMENT), ("parquet", _PARQUET), ("json", _JSON)):
        if any(ending.search(file) for file in files):
            return name
    return None


def _list(spark: SparkSession, pattern: str) -> list[str] | None:
    """Return the files that match, in order, hidden ones left out; None where the path does not exist."""
    try:
        files = spark.read.format("binaryFile").load(pattern).inputFiles()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
    except IllegalArgumentException:  # Hadoop cannot look for a pattern below a folder with a colon in its name
        return None
    return sorted(unquote(file) for file in files)
