"""What Spark does with a log, job by job: reading and decoding against what Spark alone takes for the same rows.

Every job ends in Spark's `noop` sink and has run before, on the smallest log: what starting costs is not in it.
"""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kip848_records.decode import decode_record
from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.protocol.messages import RECORDS
from kip848_records.sources.listing import find_copies
from kip848_records.sources.predicates import IS_RECORD, WITHOUT_OFFSET_COMMITS, key_of_types
from kip848_records.sources.read import read_sources
from kip848_records.spark.session import get_session
from tests.benchmarks.logs import Log, log_of
from tests.benchmarks.results import Measure
from tests.benchmarks.segment_files import CODECS

TURNS = 3


def measure(sizes: Iterable[int], turns: int = TURNS) -> Iterator[Measure]:
    """Yield what the jobs take on the logs of these sizes (millions of rows)."""
    spark = get_session("bench")
    for millions in sizes:
        log = log_of(millions)
        yield from _of_parquet(spark, log, turns)
        yield from _of_segments(spark, log, CODECS if millions == 1 else ("none",), turns)
    spark.stop()


def _of_parquet(spark: SparkSession, log: Log, turns: int) -> Iterator[Measure]:
    bare = spark.read.parquet(str(log.parquet))
    rows = _copies(spark, log.parquet)
    scan, read, kept = best(turns, bare, rows, rows.filter(WITHOUT_OFFSET_COMMITS))
    yield Measure("Parquet: Spark's bare scan", scan, log.rows, log.bytes)
    yield Measure("Parquet: read as log rows", read, log.rows, log.bytes, ratios={"the bare scan": scan / read})
    yield Measure("Parquet: read, without commits", kept, log.rows, log.bytes, ratios={"the bare scan": scan / kept})
    yield from _decoded(rows, scan, log, turns)


def _decoded(rows: DataFrame, scan: float, log: Log, turns: int) -> Iterator[Measure]:
    tables = {record.key_type: record.table for record in RECORDS.values()}
    # Of rows that are landed, as in an audit: without offset commits, in the order of keys.
    for key_type in (5, 7, 8):
        decoded = decode_record(rows, tables[key_type])
        yield _against_identity(f"decode type {key_type}", decoded, rows, [key_type], turns)
    commits = decode_record(rows, tables[1])
    measured = _against_identity("decode offset commits", commits, rows, [1], turns)
    share = measured.rows / log.rows  # of the scan's time, the part of these rows
    measured.ratios["the bare scan"] = scan * share / measured.seconds
    yield measured


def _against_identity(what: str, decoded: DataFrame, rows: DataFrame, types: list[int], turns: int) -> Measure:
    wanted = (
        rows.filter(IS_RECORD).filter(key_of_types(types)).select("partition", "offset", "timestamp", "key", "value")
    )
    same = wanted.mapInArrow(identity, wanted.schema)
    sizes = wanted.agg(F.count("*").alias("rows"), F.sum(F.length("key") + F.coalesce(F.length("value"), F.lit(0))))
    count, size = sizes.collect()[0]
    passed, seconds = best(turns, same, decoded)
    return Measure(what, seconds, count, size, ratios={"an identity mapInArrow": passed / seconds})


def identity(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    """Hand over what is handed over."""
    return batches


def _of_segments(spark: SparkSession, log: Log, codecs: Iterable[str], turns: int) -> Iterator[Measure]:
    for codec in codecs:
        folder = log.segments(codec)
        bare = spark.read.format("binaryFile").load(f"{folder}/*/*.log").select("content")
        kept = _copies(spark, folder).filter(WITHOUT_OFFSET_COMMITS)
        scan, read = best(turns, bare, kept)
        size = sum(file.stat().st_size for file in folder.rglob("*.log"))
        yield Measure(f"segments, {codec}: Spark's bare scan", scan, log.rows, size)
        yield Measure(f"segments, {codec}: read", read, log.rows, log.bytes, ratios={"the bare scan": scan / read})


def _copies(spark: SparkSession, folder: Path) -> DataFrame:
    engine = SparkEngine(spark)
    return read_sources(engine, find_copies(engine.listing(), (str(folder),)), offset_commits=True).rows


def best(turns: int, *frames: DataFrame) -> list[float]:
    """Return the shortest time, in seconds, in which Spark does each of these; they take turns."""
    times = [float("inf")] * len(frames)
    for _ in range(turns + 1):  # the first one is for the compilers
        for place, frame in enumerate(frames):
            start = time.perf_counter()
            frame.write.format("noop").mode("overwrite").save()
            times[place] = min(times[place], time.perf_counter() - start)
    return times
