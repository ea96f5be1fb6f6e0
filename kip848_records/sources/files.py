"""What lies at the paths given, seen through Spark's own file access, so that object stores and volumes work alike."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.errors import IllegalArgumentException, PySparkException

from kip848_records.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pyspark.sql import SparkSession

FORMATS = ("segments", "parquet", "delta", "json")

URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""How a path begins that names its file system."""

_SWAP = ".swap"
_SEGMENT = re.compile(rf"(\.log|(^|/)\d{{20}}\.log\{_SWAP})$")
_PARQUET = re.compile(r"\.parquet$")
_JSON = re.compile(r"\.(json|jsonl|ndjson)(\.(gz|bz2|zst|zstd|lz4|snappy|deflate))?$")
_PARTITION_FOLDER = re.compile(r"__consumer_offsets-\d+/[^/]+$")
# In a name, not in a scheme such as file: or s3a:
_COLON = re.compile(r"/.*:")
# What Java says of a file that the system keeps from Spark, and a Python worker of one that it reads by itself.
_NOT_OPENED = (
    re.compile(r"java\.io\.FileNotFoundException: (.*?) \((Permission denied)\)"),
    re.compile(r"InputError: (.*?) cannot be read: (.*?); "),
)
# What Spark says of a file that it cannot read.
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE\.\w+\] Encountered error while reading file (.*?)\.\s")


@dataclass(frozen=True)
class Copy:
    """One copy of the log; `files` are the paths of what is read file by file.

    Its name is the path that the user gave, and the broker's folder below it where that holds several.
    """

    name: str
    format: str
    files: list[str]


def find_copies(spark: SparkSession, paths: str | Iterable[str], source_format: str | None = None) -> list[Copy]:
    """Return the copies of the log at one path or several, their formats recognised unless named.

    Raises InputError for the first path where nothing is, or nothing of that format.
    """
    if source_format is not None and source_format not in FORMATS:
        raise InputError.unknown_format(source_format, FORMATS)
    given = [paths] if isinstance(paths, str) else dict.fromkeys(paths)
    copies = [copy for path in given for copy in _copies_at(spark, path, source_format)]
    return [replace(copy, files=without_replaced(copy.files)) for copy in _join_files(copies)]


def _join_files(copies: list[Copy]) -> list[Copy]:
    """Make one copy of segment files that were given one by one, as a shell's pattern does: they follow each other."""
    joined: dict[str, Copy] = {}
    for copy in copies:
        is_file = copy.format == "segments" and len(copy.files) == 1 and _SEGMENT.search(copy.name)
        name = copy.name.rpartition("/")[0] if is_file else copy.name
        before = joined.get(name)
        if not is_file or before is None:
            # One file alone keeps the name that the user gave.
            joined[name] = copy
        else:
            joined[name] = Copy(name, "segments", sorted({*before.files, *copy.files}))
    return list(joined.values())


def without_replaced(files: Collection[str]) -> list[str]:
    """Leave out each `X.log.swap` that has `X.log` beside it.

    That is how the cleaner puts its results in place (Kafka's `LocalLog.replaceSegments`): the whole result is there as
    `.swap`, then the segments that it replaces are renamed to `.deleted`, in order, then the result loses its `.swap`.
    So where the first of them is there, all are; where it is gone, the result stands for it, as for a broker that
    starts (`LogLoader.load`). The broker then deletes what is left of the others. They have the same bytes at the same
    offsets, or more, and are read as well.
    """
    there = set(files)
    return [file for file in files if not (file.endswith(_SWAP) and file.removesuffix(_SWAP) in there)]


def _copies_at(spark: SparkSession, path: str, source_format: str | None) -> list[Copy]:
    may_be_segments = source_format in {None, "segments"}
    if may_be_segments and (segments := _segments_below(spark, path)):
        return [Copy(path, "segments", segments)]
    if _holds_tables(spark, path):  # first, for Spark cannot list folders of tables beside each other
        raise InputError.tables_not_log(path)
    files = _list(spark, path)
    if files is None:
        raise InputError.path_not_found(path)
    if source_format in {None, "delta"} and _list(spark, path, "/_delta_log"):
        return [Copy(path, "delta", files)]
    found = source_format or _recognise(files)
    if found == "segments":
        files = [file for file in files if _SEGMENT.search(file)]
    # Last, for it looks into every folder.
    if (not files or found is None) and may_be_segments and (brokers := _brokers_below(spark, path)):
        return brokers
    if not files:
        raise _nothing_to_read(spark, path, source_format)
    if found == "delta":
        raise InputError.not_delta(path)
    if found is None:
        raise InputError.not_a_source(path, FORMATS)
    return [Copy(path, found, files)]


def _nothing_to_read(spark: SparkSession, path: str, source_format: str | None) -> InputError:
    """Return what to say of a folder without a file of the format."""
    if source_format is not None and (_list(spark, path) or _segments_below(spark, path)):
        return InputError.no_file_of_format(path, source_format)
    return InputError.colon_in_path(path) if _COLON.search(path) else InputError.empty_folder(path)


def _holds_tables(spark: SparkSession, path: str) -> bool:
    """Return whether the tables of an audit are at `path`: all audits have `audit_runs`."""
    runs = "/audit_runs/_delta_log"
    folder = local_path(spark, f"{path.rstrip('/')}{runs}")
    return bool(_list(spark, path, runs)) if folder is None else folder.is_dir()


def _segments_below(spark: SparkSession, path: str, folders: str = "") -> list[str]:
    # Brokers keep partitions that they move or delete beside the others, under longer names.
    found = _list(spark, path, f"{folders}/__consumer_offsets-*/*.{{log,log{_SWAP}}}") or []
    return [file for file in found if _PARTITION_FOLDER.search(file) and _SEGMENT.search(file)]


def _brokers_below(spark: SparkSession, path: str) -> list[Copy]:
    """Return a copy for each folder at `path` that is a broker's data folder."""
    segments: dict[str, list[str]] = {}
    for file in _segments_below(spark, path, "/*"):
        segments.setdefault(file.split("/")[-3], []).append(file)
    return [Copy(f"{path.rstrip('/')}/{broker}", "segments", files) for broker, files in segments.items()]


def local_path(spark: SparkSession, path: str) -> Path | None:
    """Return where `path` lies on this machine; None if it is one of an object store or another file system."""
    if path.startswith("file:"):
        return Path(path.removeprefix("file:"))
    jsc = getattr(spark, "_jsc", None)  # a Connect session has none, and may run anywhere
    default = jsc.hadoopConfiguration().get("fs.defaultFS") if jsc is not None else ""
    return Path(path) if default.startswith("file:") and not URI.match(path) else None


def check_apart(spark: SparkSession, copies: Iterable[Copy], out: str) -> None:
    """Raise InputError where what is written to the folder `out` would be read with a dump, the next time.

    Of a folder with segment files nothing else is read.
    """
    for copy in copies:
        if copy.format != "segments" and _is_below(spark, out, copy.name):
            raise InputError.tables_in_dump(out, copy.name)


def _is_below(spark: SparkSession, path: str, folder: str) -> bool:
    local, local_folder = local_path(spark, path), local_path(spark, folder)
    if local is not None and local_folder is not None:
        return local.resolve().is_relative_to(local_folder.resolve())
    return f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")


@contextmanager
def reading() -> Iterator[None]:
    """Turn Spark's failure to read, within the block, into an InputError, one that names the file if that is known."""
    try:
        yield
    except Exception as error:
        # Spark's Python classes do not tell these failures from others: their text does.
        for form in _NOT_OPENED:
            if failure := form.search(str(error)):
                raise InputError.not_opened(unquote(failure[1]), failure[2]) from error
        if failure := _UNREADABLE.search(str(error)):
            raise InputError.unreadable(unquote(failure[1])) from error
        if "java.lang.OutOfMemoryError" in str(error):
            raise InputError.out_of_memory() from error
        raise


def escape_glob(path: str) -> str:
    r"""Return `path` so that Hadoop takes it literally, not as a pattern."""
    return re.sub(r"([\\{}\[\]*?,^])", r"\\\1", path.rstrip("/") or "/")


def _recognise(files: list[str]) -> str | None:
    for name, ending in (("segments", _SEGMENT), ("parquet", _PARQUET), ("json", _JSON)):
        if any(ending.search(file) for file in files):
            return name
    return None


def _list(spark: SparkSession, path: str, below: str = "") -> list[str] | None:
    """Return the files at a path that match the pattern `below` it, in order, no hidden ones; None for no path."""
    try:
        files = spark.read.format("binaryFile").load(f"{escape_glob(path)}{below}").inputFiles()
    except IllegalArgumentException:  # Hadoop cannot look for a pattern below a folder with a colon in its name
        return None
    except PySparkException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        if error.getCondition() == "CONFLICTING_DIRECTORY_STRUCTURES":
            raise InputError.mixed_folders(path) from None
        raise
    return sorted(unquote(file) for file in files)
