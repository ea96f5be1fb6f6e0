"""A broker's own files: log segments of the partitions of `__consumer_offsets`."""

from __future__ import annotations

import mmap
import os
import re
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructField, StructType

from kip848_records.errors import InputError
from kip848_records.protocol.columnar import Error
from kip848_records.protocol.segments.faults import Fault
from kip848_records.protocol.segments.last_offset import last_offset
from kip848_records.protocol.segments.reader import SEGMENT_SCHEMA, Segment, SegmentError
from kip848_records.protocol.segments.rows import NO_TIMESTAMP_TYPE
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.file_coverage import FileCoverage, SegmentFile
from kip848_records.sources.files import escape_glob
from kip848_records.sources.keys import key_columns, lacks_group
from kip848_records.sources.log import COPY_SCHEMA, FILE_SCHEMA, TOPIC
from kip848_records.sources.record_filter import RecordFilter
from kip848_records.times import can_be_shown
from kip848_records.workers import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.sources.files import Copy
    from kip848_records.sources.kinds import ReadOptions

FORMAT: Final = "segments"
SWAP: Final = ".swap"
"""The suffix of a result that the cleaner is about to put in place."""
FILE_NAME: Final = re.compile(rf"(\.log|(^|/)\d{{20}}\.log\{SWAP})$")
"""Suffixes of files that may be segments."""
# A partition is an int, an offset a long: only as many digits as always fit are accepted.
_FILE = re.compile(rf"{TOPIC}-(\d{{1,9}})/0*(\d{{1,18}})\.log(\.swap)?$")
_LOCAL = re.compile("^file:/+")
_TIMESTAMP = pa.timestamp("us", "UTC")
# The content of a file is a column in Arrow, whose buffer doubles until it fits: it grows to 1 GiB, but not to 2 GiB.
LARGEST_CONTENT_BYTES = 1 << 30
_FIRST_BYTES: Final = 1 << 20
_NO_LEADER_EPOCH: Final = -1
"""Kafka's `RecordBatch.NO_PARTITION_LEADER_EPOCH`."""

# Workers send a file's coverage as an array of one element: a null array costs a record 4 bytes, a null struct as much
# as all its fields.
_WORKER_SCHEMA = StructType(
    [StructField("files", ArrayType(FILE_SCHEMA)) if f.name == "file" else f for f in COPY_SCHEMA]
)
ROWS_SCHEMA: Final = to_arrow_schema(_WORKER_SCHEMA)


def read_segments(spark: SparkSession, copy: Copy, options: ReadOptions) -> DataFrame:
    """Return the rows (`COPY_SCHEMA`) of one copy's segments, `<...>/__consumer_offsets-<partition>/<base offset>.log`.

    A name may end in `.log.swap` (`finding.without_replaced`).
    A transaction that is open at the end of its file is `pending`: `resolve_transactions` looks into the next files.
    Unreadable bytes become a row with an error that names the file. Without `offset_commits` transaction markers are
    skipped too; aborted records are those that the same file shows as aborted. Every file has a coverage row.

    Raises InputError for a file with another name, and for one of 1 GiB or more that is not on a local file system:
    Spark reads those files as a whole.
    """
    for file in copy.files:
        if not _FILE.search(file):
            raise InputError.not_a_segment(file)
    found = spark.read.format("binaryFile").load([escape_glob(file) for file in copy.files])
    columns = ["path"]
    if not _are_local(copy.files):
        _check_sizes(found)
        columns.append("content")
    read = partial(_read_files, segment_files(copy.files), options)
    rows = map_in_arrow(found.select(*columns), read, _WORKER_SCHEMA)
    return rows.withColumn("file", F.get("files", F.lit(0))).select(*COPY_SCHEMA.names)


def may_overlap(copy: Copy) -> bool:
    """Return whether two files of a partition may hold the same offsets, as after an interrupted cleaning.

    The answer is always yes for several files that are not on this machine, because only Spark reads those.
    """
    partition_files: dict[int, list[tuple[int, str]]] = {}
    for path, file in segment_files(copy.files).items():
        partition_files.setdefault(file.partition, []).append((file.base_offset, path))
    several = [sorted(files) for files in partition_files.values() if len(files) > 1]
    if not several or not _are_local(copy.files):
        return bool(several)
    return any(_reaches(path, following) for files in several for (_, path), (following, _) in pairwise(files))


def keys_of(file: str) -> Iterator[pa.Array]:
    """Yield the keys of a local file, those at its start first; raises ValueError for one that is not a segment."""
    data = mapped(file)
    for part in (data[:_FIRST_BYTES], data):
        segment = Segment(part, base_offset=None)
        for columns in segment.groups():
            yield segment.rows(columns, ~columns.is_control)["key"]


def _reaches(path: str, offset: int) -> bool:
    try:
        data = mapped(path)
    except InputError:  # a Connect session may have its files elsewhere; otherwise its workers report the error
        return True
    last = last_offset(data)
    return len(data) > 0 and (last is None or last >= offset)


def _are_local(files: Sequence[str]) -> bool:
    return all(_LOCAL.match(file) for file in files)


def _check_sizes(found: DataFrame) -> None:
    for row in found.filter(F.col("length") > LARGEST_CONTENT_BYTES).select("path").limit(1).collect():
        raise InputError.segment_too_large(row.path)


def segment_files(files: Iterable[str]) -> dict[str, SegmentFile]:
    """Return the partition and offset in the name of each file, by its path without the scheme of local files."""
    found = {file: (int(m[1]), int(m[2])) for file in files if (m := _FILE.search(file))}
    first: dict[int, int] = {}
    for partition, base_offset in sorted(found.values()):
        first.setdefault(partition, base_offset)
    return {_plain(file): SegmentFile(partition, base, first[partition]) for file, (partition, base) in found.items()}


def _plain(path: str) -> str:
    return _LOCAL.sub("/", path)  # Spark writes one slash in some places and three in others


def _read_files(
    files: Mapping[str, SegmentFile], options: ReadOptions, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for index in range(batch.num_rows):
            path = batch["path"][index].as_py()
            is_local = "content" not in batch.schema.names
            content = mapped(path) if is_local else batch["content"][index].as_buffer()
            record_filter = RecordFilter(offset_commits=options.offset_commits, aborted=options.aborted)
            yield from read_file(content, path, files[_plain(path)], record_filter)


def mapped(path: str) -> memoryview:
    """Return the bytes of a local file without copying; raises InputError with a text that `reading` recognises."""
    try:
        with open(_plain(path), "rb") as file:  # noqa: PTH123 - as Spark wrote it
            is_empty = not os.fstat(file.fileno()).st_size  # an empty file cannot be mapped
            return memoryview(b"" if is_empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise InputError.not_opened(path, error.strerror) from error


def read_file(
    content: memoryview | pa.Buffer, path: str, file: SegmentFile, record_filter: RecordFilter | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one file, with `files` instead of `file`; the last row is the file's coverage.

    Without a filter every record becomes a row.
    """
    coverage = FileCoverage(file)
    chosen = record_filter or RecordFilter(offset_commits=True, aborted=True)
    try:
        segment = Segment(content, base_offset=file.base_offset)
    except SegmentError as error:
        coverage.add_unread(file.base_offset, error.fault)
        yield _log_rows(_refused(file, error), path, file.partition)
    else:
        for columns in segment.groups():
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
    if coverage.last_offset is not None or coverage.unread:
        yield _file_row(file, {"name": path, "format": FORMAT, **coverage.row(), **chosen.row()})


def _refused(file: SegmentFile, error: SegmentError) -> pa.RecordBatch:
    fields = {"error_code": error.fault.value, "error": str(error)}
    row = {"offset": file.base_offset, "timestamp_type": NO_TIMESTAMP_TYPE, "transaction": "none", **fields}
    return pa.RecordBatch.from_pylist([row], SEGMENT_SCHEMA)


def _file_row(file: SegmentFile, fields: Mapping[str, Any]) -> pa.RecordBatch:
    last_offset = fields["last_offset"]
    newest = fields["newest_skipped"]
    known = {
        "partition": pa.array([file.partition], pa.int32()),
        "offset": pa.array([file.base_offset if last_offset is None else last_offset], pa.int64()),
        "files": pa.array([[{**fields, "newest_skipped": newest and newest * 1000}]], ROWS_SCHEMA.field("files").type),
    }
    return _full_rows(known, 1)


def _log_rows(rows: pa.RecordBatch, path: str, partition: int) -> pa.RecordBatch:
    count = rows.num_rows
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    millis = rows["timestamp"]
    shown = pa.array(can_be_shown(pc.fill_null(millis, 0).to_numpy()))
    key_type, group_id = key_columns(rows["key"])
    code, error = _errors(rows, shown, key_type, group_id)
    columns |= {
        "partition": pa.repeat(pa.scalar(partition, pa.int32()), count),
        "timestamp": pc.if_else(shown, millis, None).cast(pa.timestamp("ms", "UTC")).cast(_TIMESTAMP),
        "timestamp_type": _without(rows["timestamp_type"], NO_TIMESTAMP_TYPE),
        "leader_epoch": _without(rows["leader_epoch"], _NO_LEADER_EPOCH),
        "key_type": key_type,
        "group_id": group_id,
        "error_code": code,
        "error": pc.binary_join_element_wise(path, error, ": "),
    }
    return _full_rows(columns, count)


def _errors(rows: pa.RecordBatch, shown: pa.Array, key_type: pa.Array, group_id: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the code and the text of each row's error, null for readable records and markers."""
    code, error = rows["error_code"], rows["error"]
    is_record = pc.and_(pc.is_null(code), pc.is_null(rows["control"]))
    found = (
        (pc.invert(shown), ErrorCode.TIMESTAMP_OUT_OF_RANGE, "timestamp out of range"),
        (pc.and_(is_record, pc.is_null(key_type)), ErrorCode.KEY_WITHOUT_TYPE, f"key: {Error.MISSING_KEY.reason}"),
        (pc.and_(is_record, lacks_group(key_type, group_id)), ErrorCode.KEY_WITHOUT_GROUP, "key: no group id"),
    )
    for wrong, value, text in found:
        if pc.any(wrong).as_py():
            is_first = pc.and_(wrong, pc.is_null(code))
            code, error = pc.if_else(is_first, value.value, code), pc.if_else(is_first, text, error)
    return code, error


def _without(column: pa.Array, nothing: int) -> pa.Array:
    return pc.if_else(pc.equal(column, nothing), None, column)


def _full_rows(columns: Mapping[str, pa.Array], count: int) -> pa.RecordBatch:
    """Return rows of the workers' schema; missing columns are null."""
    full = [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in ROWS_SCHEMA]
    return pa.RecordBatch.from_arrays(full, ROWS_SCHEMA.names)
