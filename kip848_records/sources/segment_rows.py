"""The rows of a broker's own files, log segments of the partitions of `__consumer_offsets`, read without Spark."""

from __future__ import annotations

import mmap
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.errors import InputError
from kip848_records.machine.paths import without_scheme
from kip848_records.protocol.columns import TIMES
from kip848_records.protocol.segments.faults import Fault
from kip848_records.protocol.segments.reader import SEGMENT_SCHEMA, Segment, SegmentError
from kip848_records.protocol.segments.rows import NO_PRODUCER_EPOCH, NO_TIMESTAMP_TYPE
from kip848_records.sources.file_coverage import FileCoverage, SegmentFile
from kip848_records.sources.formats import SEGMENTS
from kip848_records.sources.record_filter import RecordFilter
from kip848_records.sources.rows import ROWS_SCHEMA, first_errors, full_rows
from kip848_records.specs.log_columns import TOPIC
from kip848_records.times import NO_TIMESTAMP_MS, can_be_shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# A partition is an int, an offset a long: only as many digits as always fit are accepted.
FILE_PATH: Final = re.compile(rf"{TOPIC}-(\d{{1,9}})/0*(\d{{1,18}})\.log(\.swap)?$")
"""The end of a segment file's path: its partition and its base offset."""
_FIRST_BYTES: Final = 1 << 20
COPIED_BYTES: Final = 64 << 20
"""Larger files are mapped: some are as large as memory."""
_MILLIS: Final = pa.timestamp("ms", "UTC")
_NO_LEADER_EPOCH: Final = -1
"""Kafka's `RecordBatch.NO_PARTITION_LEADER_EPOCH`."""


def segment_files(files: Iterable[str]) -> dict[str, SegmentFile]:
    """Return the partition and offset in the name of each file, by its path without the scheme of local files."""
    found = {file: (int(m[1]), int(m[2])) for file in files if (m := FILE_PATH.search(file))}
    first: dict[int, int] = {}
    for partition, base_offset in sorted(found.values()):
        first.setdefault(partition, base_offset)
    return {
        without_scheme(file): SegmentFile(partition, base, first[partition])
        for file, (partition, base) in found.items()
    }


def keys_of(file: str) -> Iterator[pa.Array]:
    """Yield the keys of a local file, those at its start first; raises ValueError for one that is not a segment."""
    for read in (first_bytes, content_of):
        segment = Segment(read(file), base_offset=None)
        for columns in segment.groups():
            yield segment.rows(columns, ~columns.is_control)["key"]


def first_bytes(path: str) -> memoryview:
    """Return some bytes at the start of a local file."""
    with _opened(path) as file:
        return memoryview(file.read(_FIRST_BYTES))


def last_bytes(path: str, size: int) -> memoryview:
    """Return so many bytes at the end of a local file."""
    with _opened(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - size))
        return memoryview(file.read(size))


def content_of(path: str) -> memoryview:
    """Return the bytes of a local file; those of a large one are mapped, see `check_length`."""
    with _opened(path) as file:
        if os.fstat(file.fileno()).st_size <= COPIED_BYTES:
            return memoryview(file.read())
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """Open a local file; raises InputError with a text that `reading` recognises."""
    try:
        with open(without_scheme(path), "rb") as file:  # noqa: PTH123 - as Spark wrote it
            yield file
    except OSError as error:
        raise InputError.not_opened(path, error.strerror) from error


def check_length(content: memoryview | pa.Buffer, path: str) -> None:
    """Raise InputError if a mapped file has become shorter. To read behind its end would end the process (SIGBUS)."""
    found = content.obj if isinstance(content, memoryview) else None
    if isinstance(found, mmap.mmap) and found.size() < len(found):
        raise InputError(
            f"{path} cannot be read: it became shorter meanwhile, as its broker truncated it",
            "read it again, or copy the log first",
        )


def read_file(
    content: memoryview | pa.Buffer,
    path: str,
    file: SegmentFile,
    record_filter: RecordFilter | None = None,
    *,
    by_key: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one file, with `files` instead of `file`; the last row is the file's coverage.

    Without a filter every record becomes a row. `by_key`: its coverage has what is in it by key.
    """
    coverage = FileCoverage(file, by_key=by_key)
    chosen = record_filter or RecordFilter(offset_commits=True, aborted=True)
    try:
        segment = Segment(content, base_offset=file.base_offset)
    except SegmentError as error:
        coverage.add_unread(file.base_offset, error.fault)
        yield _log_rows(_refused(file, error), path, file.partition)
    else:
        for columns in segment.groups():
            check_length(content, path)
            coverage.add(columns)
            rows = segment.rows(columns, chosen.choose(columns))
            if rows.num_rows:
                yield _log_rows(rows, path, file.partition)
            # The next batch may be as large.
            del columns, rows
        if segment.compacted_end is not None:
            coverage.end_compacted(int(segment.compacted_end.last_offset[0]))
        if (rows := segment.tail_rows()).num_rows:
            coverage.add_unread(rows["offset"][0].as_py(), Fault(rows["error_code"][0].as_py()))
            yield _log_rows(rows, path, file.partition)
    check_length(content, path)
    # A file without a byte has a row as well: the copy has its partition, which is empty.
    if coverage.last_offset is not None or coverage.unread or not len(content):
        fields = {"name": path, "format": SEGMENTS, **coverage.row(), **chosen.row()}
        yield _file_row(file, fields, None if coverage.by_key is None else coverage.by_key.array())


def _refused(file: SegmentFile, error: SegmentError) -> pa.RecordBatch:
    fields = {"error_code": error.fault.value, "error": str(error)}
    row = {"offset": file.base_offset, "timestamp_type": NO_TIMESTAMP_TYPE, "transaction": "none", **fields}
    return pa.RecordBatch.from_pylist([row], SEGMENT_SCHEMA)


def _file_row(file: SegmentFile, fields: Mapping[str, Any], by_key: pa.Array | None) -> pa.RecordBatch:
    last_offset = fields["last_offset"]
    newest = fields["newest_skipped"]
    known = {
        "partition": pa.array([file.partition], pa.int32()),
        "offset": pa.array([file.base_offset if last_offset is None else last_offset], pa.int64()),
        "files": pa.array([[{**fields, "newest_skipped": newest and newest * 1000}]], ROWS_SCHEMA.field("files").type),
        **({} if by_key is None else {"by_key": by_key}),
    }
    return full_rows(known, 1)


def _log_rows(rows: pa.RecordBatch, path: str, partition: int) -> pa.RecordBatch:
    count = rows.num_rows
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    millis = rows["timestamp"]
    shown = can_be_shown(pc.fill_null(millis, 0).to_numpy())
    columns |= {
        "partition": pa.repeat(pa.scalar(partition, pa.int32()), count),
        "timestamp": _without(pc.if_else(pa.array(shown), millis, None), NO_TIMESTAMP_MS).cast(_MILLIS).cast(TIMES),
        "timestamp_type": _without(rows["timestamp_type"], NO_TIMESTAMP_TYPE),
        "producer_epoch": _without(rows["producer_epoch"], NO_PRODUCER_EPOCH),
        "leader_epoch": _without(rows["leader_epoch"], _NO_LEADER_EPOCH),
    }
    columns |= first_errors(columns, count, is_shown=shown)
    columns["error"] = pc.binary_join_element_wise(path, columns["error"], ": ")
    return full_rows(columns, count)


def _without(column: pa.Array, nothing: int) -> pa.Array:
    return pc.if_else(pc.equal(column, nothing), None, column)
