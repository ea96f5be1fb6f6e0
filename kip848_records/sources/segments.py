"""A broker's own files: log segments of the partitions of `__consumer_offsets`."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from kip848_records.errors import InputError
from kip848_records.machine.paths import is_file_uri, without_scheme
from kip848_records.protocol.segments.last_offset import LARGEST_BATCH_BYTES, last_offset
from kip848_records.sources.record_filter import RecordFilter
from kip848_records.sources.rows import ROWS_SCHEMA, as_log_rows
from kip848_records.sources.segment_rows import FILE_PATH, content_of, last_bytes, read_file, segment_files
from kip848_records.sources.source_kind import CopyRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from kip848_records.engines.engine import Engine
    from kip848_records.sources.file_coverage import SegmentFile
    from kip848_records.sources.listing import Copy
    from kip848_records.sources.source_kind import ReadOptions


def read_segments(engine: Engine, copy: Copy, options: ReadOptions) -> CopyRows:
    """Return the rows of a copy's segments, `<...>/__consumer_offsets-<partition>/<base offset>.log`.

    A name may end in `.log.swap` (`listing.without_replaced`).
    A transaction that is open at the end of its file is `pending`: `resolve_transactions` looks into the next files.
    Unreadable bytes become a row with an error that names the file. Without `offset_commits` transaction markers are
    skipped too; aborted records are those that the same file shows as aborted. Every file has a coverage row.

    Raises InputError for a file with another name, and for one that is too large for its file system (`Engine.files`).
    """
    for file in copy.files:
        if not FILE_PATH.search(file):
            raise InputError(
                f"{file} is not a segment of __consumer_offsets: its name does not match",
                "expected __consumer_offsets-<partition>/<base offset>.log, as brokers name them",
            )
    read = partial(read_files, segment_files(copy.files), options, None)
    rows = as_log_rows(engine, engine.map(read, engine.files(copy), ROWS_SCHEMA))
    return CopyRows(rows, may_overlap=not options.coverage or _may_overlap(copy))


def _may_overlap(copy: Copy) -> bool:
    """Return whether two files of a partition may hold the same offsets, as after an interrupted cleaning.

    The answer is always yes for several files that are not on this machine, because only Spark reads those.
    """
    partition_files: dict[int, list[tuple[int, str]]] = {}
    for path, file in segment_files(copy.files).items():
        partition_files.setdefault(file.partition, []).append((file.base_offset, path))
    several = [sorted(files) for files in partition_files.values() if len(files) > 1]
    if not several or not all(map(is_file_uri, copy.files)):
        return bool(several)
    return any(_reaches(path, following) for files in several for (_, path), (following, _) in pairwise(files))


def _reaches(path: str, offset: int) -> bool:
    try:
        data = last_bytes(path, LARGEST_BATCH_BYTES)
    except InputError:  # a Connect session may have its files elsewhere; otherwise its workers report the error
        return True
    last = last_offset(data)
    return len(data) > 0 and (last is None or last >= offset)


def read_files(
    files: Mapping[str, SegmentFile], options: ReadOptions, topic: str | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files, by `sources.segment_rows.read_file`.

    Rows name their file by its path; of a live topic, whose name is `topic`, as its brokers do.
    """
    for batch in batches:
        for index in range(batch.num_rows):
            path = batch["path"][index].as_py()
            is_local = "content" not in batch.schema.names
            content = content_of(path) if is_local else batch["content"][index].as_buffer()
            if not len(content) and not options.coverage:
                continue
            record_filter = RecordFilter(offset_commits=options.offset_commits, aborted=options.aborted)
            file = files[without_scheme(path)]
            shown = path if topic is None else f"{topic}-{file.partition}/{file.base_offset:020}.log"
            yield from read_file(content, shown, file, record_filter, by_key=options.by_key)
