"""What the runs over a live topic read, as rows of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records import __version__
from kip848_records.live.kept_log import Read, latest
from kip848_records.tables.specs import AUDIT_RUNS
from kip848_records.times import utc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def partition_history(spark: SparkSession, reads: list[Read]) -> DataFrame:
    """Return the rows of `partition_history`, as `reads` tell them: all that were made."""
    rows = [
        (
            *(read.partition, read.source, read.first_offset, read.until_offset - 1, read.complete_from),
            *(read.head_missing, 0, True),
        )
        for read in latest(reads).values()
    ]
    return spark.createDataFrame(
        rows,
        "partition int, copy string, first_offset bigint, last_offset bigint, complete_from bigint, "
        "head_missing boolean, stale_from bigint, is_base boolean",
    )


def audit_runs(spark: SparkSession, reads: list[Read], after: int) -> DataFrame:
    """Return the rows of `audit_runs` for the runs after one."""
    of_run: dict[int, list[Read]] = {}
    for read in reads:
        if read.run > after:
            of_run.setdefault(read.run, []).append(read)
    rows = [
        (
            *(run, None if reads[0].captured_ms is None else utc(reads[0].captured_ms), [reads[0].source]),
            *(reads[0].dialect, __version__, reads[0].offset_commits, False),
            [(read.partition, read.from_offset, read.until_offset, read.note) for read in reads],
        )
        for run, reads in of_run.items()
    ]
    return spark.createDataFrame(rows, AUDIT_RUNS.schema_without("cluster"))


def inferred(log: DataFrame, reads: list[Read]) -> DataFrame | None:
    """Return the places of the deletions that were inferred; None if none was, which leaves a break (`deletions`)."""
    if not any(read.is_break for read in reads):
        return None
    return log.where("is_inferred").select("partition", "offset")
