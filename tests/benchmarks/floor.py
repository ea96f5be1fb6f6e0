"""What sessions and tables take by themselves, and audits of no work. No audit into these tables is sooner done."""

import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, TimestampType

from kip848_records.engines.spark.tables import DeltaTables
from kip848_records.queries.spark import read
from kip848_records.sources.predicates import WITHOUT_OFFSET_COMMITS
from kip848_records.sources.read import read_log
from kip848_records.spark.session import get_session
from kip848_records.spark.threads import for_each_parallel
from kip848_records.tables.registry import TABLES
from tests.benchmarks.processes import Used, run

SUMMARIZED = ("epoch_timeline", "group_state", "partition_handover", "rebalance_lag")
"""The tables that a summary shows."""


def floor(out: Path, names: Iterable[str]) -> Used:
    """Return what a process of its own takes to create the tables that are missing, and to add a row to each named."""
    code = "import sys; from tests.benchmarks.floor import write; write(*sys.argv[1:])"
    return run([sys.executable, "-c", code, str(out), *names])


def no_work(out: Path, names: Iterable[str], *, reads: str) -> Used:
    """Return what an audit takes that works out nothing, in a process of its own.

    It lands the records of these segment files, brings those of a partition together for workers that hand them on,
    writes what `floor` does, and reads a few rows of each table that a summary shows.
    """
    code = "import sys; from tests.benchmarks.floor import hand_on; hand_on(*sys.argv[1:])"
    return run([sys.executable, "-c", code, str(out), reads, *names])


def commits(out: Path) -> dict[str, int]:
    """Return how many commits each table has."""
    return {log.parent.name: len(list(log.glob("*.json"))) for log in out.glob("*/_delta_log")}


def filled(out: Path) -> list[str]:
    """Return the tables that an audit into a new folder wrote rows to."""
    return [name for name, count in commits(out).items() if count > 1]


def write(out: str, *names: str) -> None:
    """Write what `floor` measures into the folder `out`."""
    spark = get_session("bench")
    for_each_parallel(partial(_fill, spark, out, names), TABLES)
    spark.stop()


def hand_on(out: str, reads: str, *names: str) -> None:
    """Do what `no_work` measures, in the folder `out`."""
    spark = get_session("bench")
    log = read_log(spark, [reads]).filter(WITHOUT_OFFSET_COMMITS)
    log = log.select("partition", "offset", "timestamp", "key", "value")
    log.write.parquet(f"{out}/landed")
    landed = spark.read.schema(log.schema).parquet(f"{out}/landed")
    together = landed.repartition("partition").sortWithinPartitions("partition", "offset")
    told = together.mapInArrow(lambda batches: batches, log.schema)
    tables = [partial(_fill, spark, out, names, name) for name in TABLES]
    for_each_parallel(lambda work: work(), [lambda: told.write.parquet(f"{out}/told"), *tables])
    for_each_parallel(lambda name: read(spark, out, name).limit(10).collect(), SUMMARIZED)
    spark.stop()


def _fill(spark: SparkSession, out: str, names: Iterable[str], name: str) -> None:
    DeltaTables(spark, out).create(TABLES[name])
    if name in names:
        _row(spark, name).write.mode("append").format("delta").save(f"{out}/{name}")


def _row(spark: SparkSession, name: str) -> DataFrame:
    columns = TABLES[name].columns
    return spark.range(1).select(*(_some(each.type, required=each.required).alias(each.name) for each in columns))


def _some(kind: DataType, *, required: bool) -> Column:
    if not required:
        return F.lit(None).cast(kind)
    if isinstance(kind, ArrayType):
        return F.array().cast(kind)
    return F.lit(0 if isinstance(kind, TimestampType) else "0").cast(kind)
