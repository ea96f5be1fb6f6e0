"""The log rows of one audit, read once from their source and kept beside the tables until the audit is done.

Everything after this step reads the landed rows: without offset commits, which are left out unless asked for, about a
twentieth of a log. What the audit has to know of the rest is counted on the way past.
"""

from __future__ import annotations

import re
import shutil
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as F

from kip848_records.errors import InputError
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.sources import reading
from kip848_records.sources.copies import drop_copies
from kip848_records.sources.files import escape_glob
from kip848_records.sources.log import is_record, key_of_types, key_type, without_offset_commits
from kip848_records.times import utc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pyspark.sql import Column, DataFrame, SparkSession

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True)
class Landed:
    """What was landed, and what passed by.

    `log`: the landed rows. `records`: readable records by key type, -1 for those without one; offset commits are
    counted whether they were landed or not. `aborted`: records of aborted transactions. `errors`: rows that the source
    could not read, `first_error` one of their reasons. `newest`: the highest timestamp of a record. `complete_from`: by
    partition, the offset from which on no record is missing; partitions of which that is not known are not in it.
    """

    path: str
    log: DataFrame
    records: dict[int, int]
    aborted: int
    errors: int
    first_error: str | None
    newest: datetime | None
    complete_from: dict[int, int]

    def keep(self, rows: DataFrame, name: str) -> DataFrame:
        """Write `rows` beside the log and return what was written: for what several tables are made of."""
        return _write_and_read(rows, f"{self.path}/{name}")


@contextmanager
def landed(spark: SparkSession, log: DataFrame, out: str, *, offset_commits: bool) -> Iterator[Landed]:
    """Land log rows below the folder `out`, and remove them when the block ends."""
    path = f"{out.rstrip('/')}/_landing/{uuid.uuid4()}"
    if (folder := _local(path)) is not None:
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise InputError.not_writable(out, error.strerror) from None
    try:
        with reading():
            landing = _land(log, path, offset_commits=offset_commits)
        yield landing
    finally:
        _remove(spark, path)


def _land(log: DataFrame, path: str, *, offset_commits: bool) -> Landed:
    seen = Observation("log")
    counted = [count.alias(name) for name, count in _counts().items()]
    passing = log.observe(seen, *counted)
    kept = passing if offset_commits else without_offset_commits(passing).filter(F.col("control").isNull())
    wanted = kept.filter((F.col("transaction") != "aborted") | F.col("error").isNotNull())
    # In the order of keys, so that whoever reads one record type skips the pages of the others.
    rows = _write_and_read(wanted.transform(drop_copies).sortWithinPartitions("key"), f"{path}/log")
    per_type = rows.filter(is_record()).groupBy(F.coalesce(key_type(), F.lit(-1))).count().collect()
    # Where nothing is left of the rows, Spark drops the observation from its plan, and waiting for it never ends.
    counts = log.agg(*counted).collect()[0].asDict() if rows.isEmpty() else seen.get
    commits = {key_type: counts[f"type_{key_type}"] for key_type in OFFSET_COMMIT_TYPES if counts[f"type_{key_type}"]}
    return Landed(
        path=path,
        log=rows,
        records={int(row[0]): int(row[1]) for row in per_type} | commits,
        aborted=counts["aborted"],
        errors=counts["errors"],
        first_error=counts["first_error"],
        newest=None if counts["newest_ms"] is None else utc(counts["newest_ms"]),
        complete_from=dict.fromkeys(_numbers(counts["from_start"]) - _numbers(counts["with_gaps"]), 0),
    )


def _counts() -> dict[str, Column]:
    """What is counted of all rows, before any is dropped."""
    error, control = F.col("error"), F.col("control")
    counts = {f"type_{commit}": F.count_if(is_record() & key_of_types([commit])) for commit in OFFSET_COMMIT_TYPES}
    # No gap by compaction is known where the source cannot tell one from a transaction marker.
    gap = F.coalesce(F.col("compaction_gap"), error.isNull())
    return counts | {
        "aborted": F.count_if(error.isNull() & control.isNull() & (F.col("transaction") == "aborted")),
        "errors": F.count_if(error.isNotNull()),
        "first_error": F.min(error),
        "newest_ms": F.max(F.when(control.isNull(), F.unix_millis("timestamp"))),
        "from_start": _partitions_with(F.col("offset") == 0),
        "with_gaps": _partitions_with(gap | error.isNotNull()),
    }


def _partitions_with(condition: Column) -> Column:
    """Collect the partitions of the rows with a condition, as text: an observation hands over no arrays."""
    return F.array_join(F.collect_set(F.when(condition, F.col("partition").cast("string"))), " ")


def _numbers(text: str) -> set[int]:
    return {int(number) for number in text.split()}


def _write_and_read(rows: DataFrame, path: str) -> DataFrame:
    rows.write.parquet(path)
    return rows.sparkSession.read.schema(rows.schema).parquet(escape_glob(path))


def _local(path: str) -> Path | None:
    """Return a path of this machine; None for the address of an object store or another file system."""
    on_machine = path.removeprefix("file:")
    return None if _SCHEME.match(on_machine) else Path(on_machine)


def _remove(spark: SparkSession, path: str) -> None:
    """Remove what was landed; where files cannot be deleted from here, as on an object store, leave an empty table."""
    if (folder := _local(path)) is not None:
        shutil.rmtree(folder)
        with suppress(OSError):
            folder.parent.rmdir()  # another audit may be landing beside this one
    else:
        spark.createDataFrame([], "removed string").write.mode("overwrite").parquet(path)
