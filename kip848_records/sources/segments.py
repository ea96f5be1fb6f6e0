"""A broker's own files: log segments of the partitions of `__consumer_offsets`."""

from __future__ import annotations

import mmap
import os
import re
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.errors import InputError
from kip848_records.protocol.segments.reader import SEGMENT_SCHEMA, SegmentError, read_segment
from kip848_records.protocol.segments.rows import COMPACTED
from kip848_records.sources.coverage import Coverage, Place
from kip848_records.sources.files import escape_glob
from kip848_records.sources.left_out import LeftOut
from kip848_records.sources.log import COPY_SCHEMA, TOPIC
from kip848_records.times import can_be_shown
from kip848_records.workers import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.protocol.segments.rows import Chooser, GroupColumns

# A partition is an int, an offset a long: the digits that always fit are enough.
_FILE = re.compile(rf"{TOPIC}-(\d{{1,9}})/0*(\d{{1,18}})\.log(\.swap)?$")
_LOCAL = re.compile("^file:/+")
_TIMESTAMP = pa.timestamp("us", "UTC")
# The content of a file comes as a column of Arrow's, whose buffer doubles until it fits: up to 1 GiB, and not to 2 GiB.
LARGEST_CONTENT_BYTES = 1 << 30


def read_segments(spark: SparkSession, files: list[str], *, offset_commits: bool = True) -> DataFrame:
    """Return the rows (`COPY_SCHEMA`) of one copy's segments, `<...>/__consumer_offsets-<partition>/<base offset>.log`.

    A name may end in `.log.swap` (`sources.files.without_replaced`).
    A transaction that is open at the end of its file is `pending`: `settle_transactions` looks into the next ones. What
    cannot be read becomes a row with an error that names the file. Without `offset_commits` they and the markers of
    transactions are left out, and rows `left out` count them. Raises InputError for a file that is not named so,
    and for one of 1 GiB or more that is not on a local file system: there Spark hands over whole files.
    """
    for file in files:
        if not _FILE.search(file):
            raise InputError.not_a_segment(file)
    found = spark.read.format("binaryFile").load([escape_glob(file) for file in files])
    columns = ["path"]
    if not all(_LOCAL.match(file) for file in files):
        _check_sizes(found)
        columns.append("content")
    read = partial(_read_files, places(files), offset_commits)
    return map_in_arrow(found.select(*columns), read, COPY_SCHEMA)


def _check_sizes(found: DataFrame) -> None:
    for row in found.filter(F.col("length") > LARGEST_CONTENT_BYTES).select("path").limit(1).collect():
        raise InputError.segment_too_large(row.path)


def places(files: list[str]) -> dict[str, Place]:
    """Return the place of each file, by its path without the scheme of this machine's files."""
    found = {file: (int(m[1]), int(m[2])) for file in files if (m := _FILE.search(file))}
    first: dict[int, int] = {}
    for partition, base_offset in sorted(found.values()):
        first.setdefault(partition, base_offset)
    return {_plain(file): Place(partition, base, first[partition]) for file, (partition, base) in found.items()}


def _plain(path: str) -> str:
    return _LOCAL.sub("/", path)  # Spark writes one slash in one place and three in another


def settle_transactions(log: DataFrame) -> DataFrame:
    """Give rows that are pending at the end of their file the outcome that a later file's marker tells.

    A transaction's records share the outcome of the next marker of their producer in the partition, and in the copy:
    in another one that marker may have been removed, and the next be that of a later transaction. The outcome is
    `unknown` where that marker cannot be read, or where something before it cannot, which may have been one.
    """
    in_error = F.col("error").isNotNull()
    is_open = (F.col("transaction") == "pending") & ~in_error
    is_marker = F.coalesce(F.col("control").isin("commit", "abort", "unknown"), F.lit(False))  # noqa: FBT003
    # From the end backwards, so that what follows a row has been seen: Spark starts a frame to the last row anew for
    # each row.
    backwards = Window.partitionBy("copies", "partition").orderBy(F.desc("offset"))
    of_producer = Window.partitionBy("copies", "topic", "partition", "producer_id").orderBy(F.desc("offset"))
    marker = F.last(F.when(is_marker, F.struct("control", "offset")), ignorenulls=True).over(of_producer)
    next_error = F.last(F.when(in_error, F.col("offset")), ignorenulls=True).over(backwards)
    is_hidden = F.col("next_error") < F.col("marker.offset")
    outcome = (
        F.when(is_hidden, "unknown")
        .when(F.col("marker.control") == "commit", "committed")
        .when(F.col("marker.control") == "abort", "aborted")
        .otherwise(F.when(F.col("marker").isNotNull(), "unknown").otherwise("pending"))
    )
    settled = (
        log.filter(is_open | is_marker | in_error)
        .withColumn("next_error", next_error)
        .filter(is_open | is_marker)
        .withColumn("marker", marker)
        .withColumn("transaction", F.when(is_marker, F.col("transaction")).otherwise(outcome))
        .select(*log.columns)
    )
    return log.filter(~(is_open | is_marker)).unionByName(settled)


def _read_files(
    places: dict[str, Place],
    offset_commits: bool,  # noqa: FBT001 - a partial has it in its place
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for index in range(batch.num_rows):
            path = batch["path"][index].as_py()
            is_local = "content" not in batch.schema.names
            content = mapped(path) if is_local else batch["content"][index].as_buffer()
            yield from read_file(content, path, places[_plain(path)], offset_commits=offset_commits)


def mapped(path: str) -> memoryview:
    """Return the bytes of a local file without a copy of them; raises InputError, in words that `reading` knows."""
    try:
        with open(_plain(path), "rb") as file:  # noqa: PTH123 - as Spark wrote it
            is_empty = not os.fstat(file.fileno()).st_size  # which cannot be mapped
            return memoryview(b"" if is_empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise InputError.not_opened(path, error.strerror) from error


def read_file(
    content: memoryview | pa.Buffer, path: str, place: Place, *, offset_commits: bool = True
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one file, and then the control rows that say what they cover and what was left out."""
    coverage, left_out = Coverage(place), LeftOut()

    def choose(columns: GroupColumns) -> NDArray[np.bool_] | None:
        coverage.add(columns)
        return None if offset_commits else left_out.choose(columns)

    for rows in _rows_or_error(content, place.base_offset, choose):
        if rows["control"][-1].as_py() == COMPACTED:  # it stands on the last offset that is missing
            coverage.end_compacted(rows["offset"][-1].as_py())
        yield _log_rows(rows, path, place.partition)
    told = pa.RecordBatch.from_pylist([*coverage.rows(), *left_out.rows()], SEGMENT_SCHEMA)
    yield _log_rows(told, path, place.partition)


def _rows_or_error(content: memoryview | pa.Buffer, base_offset: int, choose: Chooser) -> Iterator[pa.RecordBatch]:
    try:
        yield from read_segment(content, base_offset=base_offset, choose=choose)
    except SegmentError as error:
        unreadable = {"offset": base_offset, "transaction": "none", "error": str(error)}
        yield pa.RecordBatch.from_pylist([unreadable], SEGMENT_SCHEMA)


def _log_rows(rows: pa.RecordBatch, path: str, partition: int) -> pa.RecordBatch:
    count = rows.num_rows
    millis = rows["timestamp"]
    shown = pa.array(can_be_shown(pc.fill_null(millis, 0).to_numpy()))
    out_of_range = pc.if_else(shown, None, "timestamp out of range")
    columns = dict(zip(rows.schema.names, rows.columns, strict=True)) | {
        "topic": pa.repeat(TOPIC, count),
        "partition": pa.repeat(pa.scalar(partition, pa.int32()), count),
        "timestamp": pc.if_else(shown, millis, None).cast(pa.timestamp("ms", "UTC")).cast(_TIMESTAMP),
        "timestampType": rows["timestamp_type"],
        "error": pc.binary_join_element_wise(path, pc.coalesce(rows["error"], out_of_range), ": "),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in COPY_SCHEMA.names], COPY_SCHEMA.names)
