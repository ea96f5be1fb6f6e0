"""What sessions and tables take by themselves: a row in each table, of no work. No audit into these is sooner done."""

import sys
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, TimestampType

from kip848_records.session import get_session
from kip848_records.tables.places import create, save
from kip848_records.tables.specs import TABLES
from kip848_records.threads import several
from tests.benchmarks.processes import Used, run


def floor(out: Path, names: Iterable[str], *, reads: str = "") -> Used:
    """Return what a process of its own takes to create the tables that are missing, and to add a row to each named.

    Its session is set up for what it would read.
    """
    code = "import sys; from tests.benchmarks.floor import write; write(*sys.argv[1:])"
    return run([sys.executable, "-c", code, str(out), reads, *names])


def commits(out: Path) -> dict[str, int]:
    """Return how many commits each table has."""
    return {log.parent.name: len(list(log.glob("*.json"))) for log in out.glob("*/_delta_log")}


def write(out: str, reads: str, *names: str) -> None:
    """Write what `floor` measures into the folder `out`."""
    spark = get_session("bench", [reads] if reads else [])

    def fill(name: str) -> None:
        create(spark, out, TABLES[name])
        if name in names:
            save(_row(spark, name).write.mode("append"), out, name)

    several(fill, TABLES)
    spark.stop()


def _row(spark: SparkSession, name: str) -> DataFrame:
    columns = TABLES[name].columns
    return spark.range(1).select(*(_some(each.type, required=each.required).alias(each.name) for each in columns))


def _some(kind: DataType, *, required: bool) -> Column:
    if not required:
        return F.lit(None).cast(kind)
    if isinstance(kind, ArrayType):
        return F.array().cast(kind)
    return F.lit(0 if isinstance(kind, TimestampType) else "0").cast(kind)
