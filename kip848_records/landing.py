"""The log rows of one audit, copied from their source and kept beside the tables until the audit is done.

Everything after this step reads the landed rows: without offset commits, which are left out unless asked for, about a
twentieth of a log. What the audit has to know of the rest is counted on the way past.
"""

from __future__ import annotations

import shutil
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as F

from kip848_records.errors import InputError
from kip848_records.history import copy_history, stale_places, unread_elsewhere, with_continuations
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.protocol.messages.early import GROUP_CONFIGURATION
from kip848_records.sources import reading, settle_transactions
from kip848_records.sources.copies import drop_copies, merge_copies
from kip848_records.sources.files import escape_glob, local_path
from kip848_records.sources.log import (
    is_readable,
    is_record,
    key_ends_after_group,
    key_of_types,
    key_type,
    left_out,
    newest_ms,
    without_offset_commits,
)
from kip848_records.threads import both
from kip848_records.times import utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True)
class Scratch:
    """A folder for what several tables are made of."""

    path: str

    def keep(self, rows: DataFrame, name: str) -> DataFrame:
        """Write `rows` and return what was written, to be read as often as needed."""
        return _write_and_read(rows, f"{self.path}/{name}")

    def keep_any(self, rows: DataFrame, name: str) -> DataFrame | None:
        """Do the same; return None if there are no rows: what is made of them need not be planned."""
        kept = self.keep(rows, name)
        return None if kept.isEmpty() else kept


@dataclass(frozen=True)
class Landed(Scratch):
    """What was landed, and what passed by.

    `log`: the landed rows. `history`: what each copy holds of a partition (`history.copy_history`). `stale`: where rows
    are that `without_stale` drops; None if there is one copy. `records`: readable records by key type, None for those
    without one; offset commits that were not landed are counted as they passed, each copy's. `group_configurations`:
    those of type 8 that are no current assignments. `aborted`: records that their file shows as aborted, each copy's.
    `first_error`: why a row could not be read, for one of them. `newest`: the highest timestamp of a record.
    """

    log: DataFrame
    history: DataFrame
    stale: DataFrame | None
    records: dict[int | None, int]
    group_configurations: int
    aborted: int
    first_error: str | None
    newest: datetime | None

    def without_stale(self, rows: DataFrame) -> DataFrame:
        """Drop rows, by partition and offset, whose keys may have been deleted unseen (`history.stale_places`)."""
        return rows if self.stale is None else rows.join(self.stale, ["partition", "offset"], "left_anti")

    def lost(self, quarantine: DataFrame) -> DataFrame:
        """Leave out what could not be read in other copies than the base (`history.unread_elsewhere`)."""
        if self.stale is None:
            return quarantine
        elsewhere = unread_elsewhere(self.log, self.history).withColumn("elsewhere", F.lit(True))  # noqa: FBT003
        marked = quarantine.join(F.broadcast(elsewhere), ["partition", "offset"], "left")
        return marked.filter("key IS NOT NULL OR elsewhere IS NULL").select(*quarantine.columns)


@contextmanager
def scratch(spark: SparkSession, out: str) -> Iterator[Scratch]:
    """Yield a folder below the folder `out`, which is removed when the block ends.

    Whoever works in `out` is alone there (`tables.writers.only_writer`): so what a killed run has left goes first.
    """
    path = f"{out.rstrip('/')}/_landing/{uuid.uuid4()}"
    if (folder := local_path(spark, path)) is not None:
        shutil.rmtree(folder.parent, ignore_errors=True)
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise InputError.not_writable(out, error.strerror) from None
    try:
        yield Scratch(path)
    finally:
        _remove(spark, path)


@contextmanager
def landed(
    spark: SparkSession, log: DataFrame, out: str, *, copies: Sequence[str], offset_commits: bool
) -> Iterator[Landed]:
    """Land the log rows of these copies below the folder `out`, and remove them when the block ends."""
    with scratch(spark, out) as folder:
        with reading():
            landing = _land(log, folder.path, copies, offset_commits=offset_commits)
        yield landing


def _land(log: DataFrame, path: str, copies: Sequence[str], *, offset_commits: bool) -> Landed:
    seen = Observation("log")
    counted = [count.alias(name) for name, count in _counts().items()]
    passing = log.observe(seen, *counted)
    is_marker = F.coalesce(F.col("control").isin("commit", "abort"), F.lit(False))  # noqa: FBT003
    kept = passing if offset_commits else without_offset_commits(passing).filter(~is_marker)
    if len(copies) == 1:
        wanted = _without_aborted(kept).drop("copies").transform(drop_copies)
        wanted = wanted.withColumn("copies", F.array(F.lit(copies[0])))
    else:
        # What one copy shows as open, another may show as aborted.
        settled = settle_transactions(_write_and_read(kept, f"{path}/copies")) if offset_commits else kept
        wanted = settled.transform(merge_copies).transform(_without_aborted)
    # In the order of keys, so that whoever reads one record type skips the pages of the others.
    rows = _write_and_read(wanted.sortWithinPartitions("key"), f"{path}/log")
    (history, stale), (per_type, configurations) = both(
        lambda: _kept_history(rows, path, several=len(copies) > 1), lambda: count_records(rows)
    )
    # Where nothing is left of the rows, Spark drops the observation from its plan, and waiting for it never ends.
    counts = log.agg(*counted).collect()[0].asDict() if rows.isEmpty() else seen.get
    passed = {} if offset_commits else {commit: counts[f"type_{commit}"] for commit in OFFSET_COMMIT_TYPES}
    return Landed(
        path=path,
        log=rows,
        history=history,
        stale=stale,
        records=per_type | {commit: n for commit, n in passed.items() if n},
        group_configurations=configurations,
        aborted=counts["aborted"],
        first_error=counts["first_error"],
        newest=None if counts["newest_ms"] is None else utc(counts["newest_ms"]),
    )


def count_records(rows: DataFrame) -> tuple[dict[int | None, int], int]:
    """Return how many readable records there are of each key type, and how many group configurations of type 8."""
    is_configuration = key_of_types([GROUP_CONFIGURATION.key_type]) & key_ends_after_group()
    counted = (
        rows.filter(is_record())
        .groupBy(key_type().alias("key_type"))
        .agg(F.count("*").alias("records"), F.count_if(is_configuration).alias("configurations"))
        .collect()
    )
    return {row.key_type: row.records for row in counted}, sum(row.configurations for row in counted)


def _kept_history(rows: DataFrame, path: str, *, several: bool) -> tuple[DataFrame, DataFrame | None]:
    """Return the history of the copies, and, if there are several, which rows are stale."""
    copied = copy_history(rows)
    history = _write_and_read(with_continuations(copied, rows) if several else copied, f"{path}/history")
    return history, _write_and_read(stale_places(rows, history), f"{path}/stale") if several else None


def _without_aborted(log: DataFrame) -> DataFrame:
    """Drop the records of aborted transactions; their markers stay: they settle what another file left open."""
    return log.filter(~(is_readable() & (F.col("transaction") == "aborted")))


def _counts() -> dict[str, Column]:
    """What is counted of all rows, before any is dropped; a row may stand for several that its source has dropped."""
    records = F.when(is_readable(), F.lit(1)).otherwise(left_out())
    is_aborted = F.col("transaction") == "aborted"
    counts = {f"type_{commit}": F.when(~is_aborted & key_of_types([commit]), records) for commit in OFFSET_COMMIT_TYPES}
    counts["aborted"] = F.when(is_aborted, records)
    return {name: F.coalesce(F.sum(count), F.lit(0)) for name, count in counts.items()} | {
        "first_error": F.min("error"),
        "newest_ms": newest_ms(),
    }


def _write_and_read(rows: DataFrame, path: str) -> DataFrame:
    rows.write.parquet(path)
    return rows.sparkSession.read.schema(rows.schema).parquet(escape_glob(path))


def _remove(spark: SparkSession, path: str) -> None:
    """Remove what was landed; where files cannot be deleted from here, as on an object store, leave an empty table."""
    if (folder := local_path(spark, path)) is not None:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            folder.parent.rmdir()
    else:
        spark.createDataFrame([], "removed string").write.mode("overwrite").parquet(path)
