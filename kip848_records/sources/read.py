"""Copies of `__consumer_offsets`, one or several, read as log rows. `sources.topic` reads live topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.engines.engine import union_of
from kip848_records.sources.copies import drop_copies, merge_copies
from kip848_records.sources.listing import find_copies
from kip848_records.sources.registry import KINDS
from kip848_records.sources.rows import of_copy
from kip848_records.sources.source_kind import ReadOptions
from kip848_records.sources.transactions import with_outcomes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.sources.listing import Copy
    from kip848_records.sources.source_kind import CopyRows


@dataclass(frozen=True)
class LogBatch:
    """The rows of all sources; each source is read once, when an action runs.

    `rows`: log rows (`specs.log_columns.LOG_COLUMNS`), including the coverage rows of files. `copies`: the names of the
    copies. `needs_merge`: the rows may hold an offset more than once, see `merged_rows`. `offset_commits`: whether the
    rows include offset commits; otherwise the files' rows count them.
    """

    rows: Relation
    copies: tuple[str, ...]
    needs_merge: bool
    offset_commits: bool


def read_sources(engine: Engine, copies: Sequence[Copy], *, offset_commits: bool, by_key: bool = False) -> LogBatch:
    """Return the rows of one copy of the log, or of several.

    The reader of a single copy skips records of transactions that it knows to be aborted. `merged_rows` and
    `with_outcomes` resolve the outcomes that only another copy or another file shows. `by_key`: see `ReadOptions`.

    Raises InputError if the columns or files of a copy do not match its format. Files are read when an action runs:
    within `Engine.reading`, a file that cannot be read is an InputError as well.
    """
    several = len(copies) > 1
    options = ReadOptions(offset_commits=offset_commits, aborted=several, coverage=True, by_key=by_key)
    with engine.reading():
        found = _read(engine, copies, options)
    needs_merge = several or any(each.may_overlap for each in found)
    return LogBatch(_union(engine, copies, found), tuple(copy.name for copy in copies), needs_merge, offset_commits)


def merged_rows(engine: Engine, batch: LogBatch) -> Relation:
    """Return a batch's rows, each record once with the names of all copies that hold it.

    Rows that differ at one offset all get the error code `conflict`. A batch that needs a merge may have records of
    aborted transactions (`sources.transactions.without_aborted`).
    """
    if not batch.needs_merge:
        return batch.rows
    if len(batch.copies) == 1:
        return drop_copies(engine, batch.rows)
    rows = batch.rows
    if batch.offset_commits:
        # One copy may show a transaction as open that another shows as aborted.
        rows = with_outcomes(engine, engine.materialize(rows, "copies"))
    return merge_copies(engine, rows)


def read_log(spark: SparkSession, paths: str | Iterable[str], source_format: str | None = None) -> DataFrame:
    """Return the log rows (`specs.log_columns.LOG_COLUMNS`) of the dumps and segment files at one path or several.

    `paths`: files or folders of one format, a broker's data folder, or a folder of several brokers' data folders.
    `source_format`: `segments`, `parquet`, `delta` or `json`; by default the file names decide.

    Each path or broker's folder is a copy of the log: a record in several copies becomes several rows. Offset commits
    and records of aborted transactions are included; the coverage of dumps is not.

    Raises InputError if nothing at a path could be a copy of `__consumer_offsets`.
    """
    from kip848_records.engines.spark.engine import SparkEngine  # noqa: PLC0415 - the other engine needs no PySpark

    rows: DataFrame = read_copies(SparkEngine(spark), paths, source_format)
    return rows


def read_copies(engine: Engine, paths: str | Iterable[str], source_format: str | None = None) -> Relation:
    """Return the log rows (`specs.log_columns.LOG_COLUMNS`) that an engine reads at paths, as `read_log` does."""
    copies = find_copies(engine.listing(), paths, source_format)
    with engine.reading():
        return _union(engine, copies, _read(engine, copies, ReadOptions()))


def _read(engine: Engine, copies: Sequence[Copy], options: ReadOptions) -> list[CopyRows]:
    return [KINDS[copy.format].read(engine, copy, options) for copy in copies]


def _union(engine: Engine, copies: Sequence[Copy], found: Sequence[CopyRows]) -> Relation:
    """Return the rows of all copies, with the names of their copies."""
    return union_of(engine, [of_copy(engine, each.rows, copy.name) for copy, each in zip(copies, found, strict=True)])
