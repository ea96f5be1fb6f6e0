"""Anything that holds a copy of `__consumer_offsets`, or several copies, as one DataFrame of log rows."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kip848_records.sources.dump import read_columnar_dump, read_json_dump
from kip848_records.sources.files import Copy, check_apart, find_copies, reading
from kip848_records.sources.log import LOG_SCHEMA
from kip848_records.sources.segments import read_segments, settle_transactions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

__all__ = [
    "Copy",
    "check_apart",
    "ends_of_dumps",
    "find_copies",
    "read_copies",
    "read_log",
    "reading",
    "settle_transactions",
]


def read_log(spark: SparkSession, paths: str | Iterable[str], source_format: str | None = None) -> DataFrame:
    """Return the log rows (`sources.log.LOG_SCHEMA`) of the dumps and segment files at one path or several.

    `source_format` is `segments`, `parquet`, `delta` or `json`; it is recognised by file names unless given. A path may
    also be a folder of several brokers' data folders. Each path or broker's folder is a copy of the log: what several
    copies hold comes as often, until `sources.copies.merge_copies` makes one log of them.

    Raises InputError where there is nothing at a path that could be a copy of `__consumer_offsets`. Files are read when
    an action runs: within `reading()`, one that cannot be read is an InputError as well.
    """
    return read_copies(spark, find_copies(spark, paths, source_format))


def read_copies(spark: SparkSession, copies: Sequence[Copy], *, offset_commits: bool = True) -> DataFrame:
    """Return the log rows of one copy or more, one copy's after another's.

    Without `offset_commits`, sources that Python reads leave them out and count them (`sources.log.LEFT_OUT`): from
    there to Spark they would take most of the time. Where Spark itself reads, it drops them as well as any.
    """
    with reading():
        rows = [
            _read(spark, copy, offset_commits=offset_commits).withColumn("copies", F.array(F.lit(copy.name)))
            for copy in copies
        ]
    return reduce(DataFrame.union, rows)


def ends_of_dumps(spark: SparkSession, copies: Sequence[Copy]) -> list[DataFrame]:
    """Return control rows `start` and `end` (`LOG_SCHEMA`) for each partition of each dump among the copies.

    Segments have such rows. Of a dump they take a look at all its rows, offset commits included.
    """
    dumps = [copy for copy in copies if copy.format != "segments"]
    return [_ends(read_copies(spark, [copy])) for copy in dumps]


def _ends(log: DataFrame) -> DataFrame:
    ends = {"start": F.min("offset"), "end": F.max("offset")}
    told = F.explode(F.array(*(F.struct(F.lit(name).alias("control"), F.col(name).alias("offset")) for name in ends)))
    rows = (
        log.filter(F.col("error").isNull())
        .groupBy("partition", "copies")
        .agg(*(end.alias(name) for name, end in ends.items()))
        .select("partition", "copies", told.alias("told"))
        .select("partition", "copies", "told.*", F.lit("none").alias("transaction"))
    )
    return rows.select(
        *(F.col(f.name) if f.name in rows.columns else F.lit(None).cast(f.dataType).alias(f.name) for f in LOG_SCHEMA)
    )


def _read(spark: SparkSession, copy: Copy, *, offset_commits: bool) -> DataFrame:
    if copy.format == "segments":
        return read_segments(spark, copy.files, offset_commits=offset_commits)
    if copy.format == "json":
        return read_json_dump(spark, copy.name)
    return read_columnar_dump(spark, copy.name, copy.format)
