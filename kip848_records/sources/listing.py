"""Finds the copies of the log at paths, by a listing of files, and recognises their formats by file names."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kip848_records.errors import EXPECTED_SOURCES, InputError
from kip848_records.machine.paths import names_beside
from kip848_records.sources.formats import FILE_NAMES, FORMATS, SEGMENT_NAME, SWAP

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kip848_records.machine.files import Listing

_PARTITION_FOLDER = re.compile(r"__consumer_offsets-\d+/[^/]+$")
# A colon in a name, not in a scheme such as file: or s3a:
_COLON = re.compile(r"/.*:")


@dataclass(frozen=True)
class Copy:
    """One copy of the log; `files` are the paths of a source that is read file by file.

    Its name is the path that the user gave, followed by the broker's folder if that path holds several.
    """

    name: str
    format: str
    files: list[str]


def find_copies(listing: Listing, paths: str | Iterable[str], source_format: str | None = None) -> list[Copy]:
    """Return the copies of the log at one path or several, with their formats recognised if not given.

    Raises InputError for the first path that does not exist, or has nothing of that format.
    """
    if source_format is not None and source_format not in FORMATS:
        raise InputError(f"there is no format '{source_format}'", f"use one of {', '.join(FORMATS)}")
    given = [paths] if isinstance(paths, str) else dict.fromkeys(paths)
    copies = [copy for path in given for copy in _copies_at(listing, path, source_format)]
    return [replace(copy, files=without_replaced(copy.files)) for copy in _join_files(copies)]


def _join_files(copies: list[Copy]) -> list[Copy]:
    """Merge segment files that were named one by one, as by a shell's pattern, into one copy of consecutive files."""
    joined: dict[str, Copy] = {}
    for copy in copies:
        is_file = copy.format == "segments" and len(copy.files) == 1 and SEGMENT_NAME.search(copy.name)
        name = copy.name.rpartition("/")[0] if is_file else copy.name
        before = joined.get(name)
        if not is_file or before is None:
            # A single file keeps the name that the user gave.
            joined[name] = copy
        else:
            joined[name] = Copy(name, "segments", sorted({*before.files, *copy.files}))
    return list(joined.values())


def without_replaced(files: Collection[str]) -> list[str]:
    """Skip each `X.log.swap` that has `X.log` beside it.

    The cleaner replaces segments in three steps (Kafka's `LocalLog.replaceSegments`): it writes the whole result as
    `.swap`, renames the replaced segments to `.deleted`, in order, and renames the result to remove its `.swap`. So if
    the first replaced segment exists, all of them do. If it is gone, the result replaces it, as for a broker that
    starts (`LogLoader.load`). The broker then deletes the remaining replaced segments. They contain the same bytes at
    the same offsets, or more, and are read as well.
    """
    there = set(files)
    return [file for file in files if not (file.endswith(SWAP) and file.removesuffix(SWAP) in there)]


def _copies_at(listing: Listing, path: str, source_format: str | None) -> list[Copy]:
    may_be_segments = source_format in {None, "segments"}
    if may_be_segments and (segments := _segments_below(listing, path)):
        return [Copy(path, "segments", segments)]
    _refuse_tables(listing, path)
    files = listing.files(path)
    if files is None:
        raise InputError.path_not_found(path, names_beside(path))
    if source_format in {None, "delta"} and listing.files(path, "/_delta_log"):
        return [Copy(path, "delta", files)]
    found = source_format or _recognise(files)
    if found == "segments":
        files = [file for file in files if SEGMENT_NAME.search(file)]
    # This check comes last, because it looks into every folder.
    # Topic names in JSON may lie beside the brokers' folders.
    if (not files or found in {None, "json"}) and may_be_segments and (brokers := _brokers_below(listing, path)):
        return brokers
    if not files:
        raise _nothing_to_read(listing, path, source_format)
    if found == "delta":
        raise InputError.not_delta(path)
    if found is None:
        raise InputError(
            f"{path} is not a dump of __consumer_offsets: its file names match no format",
            f"expected {EXPECTED_SOURCES}; if it is one, pass its format with --format {'|'.join(FORMATS)}",
        )
    return [Copy(path, found, files)]


def _refuse_tables(listing: Listing, path: str) -> None:
    """Raise InputError for tables of an audit, for a folder with such folders, and for one of the tables.

    Every audit writes `audit_runs`. This comes first, because Spark cannot list folders of several tables, and because
    the table `log` has all columns of a dump, but not all records.
    """
    hint = "pass the log that was audited; kip848 check, explain and report take one folder of tables"
    if listing.files(path, "/audit_runs/_delta_log"):
        raise InputError(f"{path} holds the tables of an audit, not a log", hint)
    if below := listing.files(path, "/*/audit_runs/_delta_log"):
        folders = dict.fromkeys(file.split("/")[-4] for file in below)
        names = ", ".join(f"{path.rstrip('/')}/{folder}" for folder in folders)
        raise InputError(f"{path} is not a log: it has the tables of an audit in {names}", hint)
    if listing.files(path, "/_delta_log") and listing.files(path, "/../audit_runs/_delta_log"):
        raise InputError(f"{path} is a table of an audit, not a log", hint)


def _nothing_to_read(listing: Listing, path: str, source_format: str | None) -> InputError:
    """Return the error for a folder without a file of the format."""
    if source_format is not None and (listing.files(path) or _segments_below(listing, path)):
        return InputError(
            f"{path} holds no files of the format {source_format}", "pass the format of the files, or omit --format"
        )
    if _COLON.search(path):
        return InputError(
            f"{path} contains a colon, so Spark cannot find __consumer_offsets-<partition> folders below it",
            "rename the folder, or pass the folder of one partition",
        )
    return InputError(f"{path} holds no files to read", f"expected {EXPECTED_SOURCES}")


def _segments_below(listing: Listing, path: str, folders: str = "") -> list[str]:
    # Brokers keep partitions that they move or delete in the same folder, under longer names.
    found = listing.files(path, f"{folders}/__consumer_offsets-*/*.{{log,log{SWAP}}}") or []
    return [file for file in found if _PARTITION_FOLDER.search(file) and SEGMENT_NAME.search(file)]


def _brokers_below(listing: Listing, path: str) -> list[Copy]:
    """Return a copy for each broker's data folder in the folder `path`."""
    segments: dict[str, list[str]] = {}
    for file in _segments_below(listing, path, "/*"):
        segments.setdefault(file.split("/")[-3], []).append(file)
    return [Copy(f"{path.rstrip('/')}/{broker}", "segments", files) for broker, files in segments.items()]


def _recognise(files: list[str]) -> str | None:
    for name, pattern in FILE_NAMES.items():
        if pattern is not None and any(pattern.search(file) for file in files):
            return name
    return None
