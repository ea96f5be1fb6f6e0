"""What was read from a live topic so far, kept as it was: the table `log`, of which all other tables are made.

A run appends its rows in one commit, together with what it read of each partition. So rows and offsets cannot disagree,
whenever a run is killed, and the tables can be made anew at any time.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.sources.log import LOG_SCHEMA, TOPIC
from kip848_records.tables.delta import ClusterTables, append
from kip848_records.tables.errors import TablesError
from kip848_records.tables.places import read
from kip848_records.tables.specs import AUDIT_RUNS, LOG, READ_SCHEMA
from kip848_records.timeline import PartitionHistory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Read:
    """What a run read of a partition, and what is known of the partition's history since its first run.

    The run read what was there from ``from_offset`` to before ``until_offset``. ``last_ms`` is the time of the record
    just before that, if one stood there: by it the next run sees that it goes on from there. ``note`` says what was out
    of the ordinary. The partition's first run began at ``first_offset``.

    A stretch is a part of the log in which compaction removed nothing between two runs. This one began at
    ``stretch_from``; ``is_gapless`` if no offset was missing in it. ``first_pair``: the second of the first two records
    of one key in it, see `history.copy_history`. ``witness``: the first of the last two. As long as it is there nothing
    behind the second has been cleaned.

    Before ``kept_from`` only what the state there is made of was kept, and what the timelines tell ends at
    ``kept_since_ms`` or later, see `live.retention`; None: everything was kept.
    ``is_break``: tombstones may have been removed since the run before, unseen.
    ``is_pruning``: it read nothing, and says from where on the log is kept.
    """

    run: int
    source: str
    topic_id: str
    version: str
    dialect: str
    offset_commits: bool
    read_ms: int
    captured_ms: int | None
    partition: int = 0
    from_offset: int = 0
    until_offset: int = 0
    last_ms: int | None = None
    note: str | None = None
    first_offset: int = 0
    stretch_from: int = 0
    is_gapless: bool = True
    first_pair: int | None = None
    witness: int | None = None
    kept_from: int = 0
    kept_since_ms: int | None = None
    is_pruning: bool = False
    is_break: bool = False

    @property
    def complete_from(self) -> int | None:
        """From which offset on no record is missing; None where nobody can tell."""
        known = self.stretch_from if self.is_gapless else self.first_pair
        return None if known is None else max(known, self.kept_from)

    @property
    def head_missing(self) -> bool:
        """Whether the start of the log was gone before it was ever read."""
        return self.first_offset > 0


@dataclass(frozen=True)
class KeptLog(ClusterTables):
    """The rows that were read of one cluster's topic."""

    @property
    def application(self) -> str:
        """Return the name under which Delta keeps the last run that each table has."""
        return f"kip848 {self.cluster}"

    def reads(self) -> list[Read]:
        """Return what each run read of each partition, in the order of runs: empty if nothing was ever read."""
        if not self.is_there(LOG.name):
            return []
        # By a column that every mark has Delta leaves out the files of records; by the struct it would read all.
        marks = self.read(LOG.name).where("read.source IS NOT NULL")
        rows = marks.select("run", "partition", "read.*").collect()
        return [Read(**row.asDict()) for row in sorted(rows, key=lambda row: (row.run, row.partition))]

    def next_run(self, reads: list[Read]) -> int:
        """Return the number of the run after `reads`: none is given twice, though all that was read be set aside."""
        finished = self.read(AUDIT_RUNS.name).agg(F.max("run")).first() if self.is_there(AUDIT_RUNS.name) else None
        last = max((read.run for read in reads), default=0)
        return max(last, (finished[0] if finished else 0) or 0) + 1

    def rows(self) -> DataFrame:
        """Return the records, as log rows (`sources.log.LOG_SCHEMA`), with ``run, group_id, is_inferred``."""
        records = self.read(LOG.name).where("read IS NULL")
        return as_log_rows(records, "run", "group_id", "is_inferred")

    def append(self, rows: DataFrame | None, reads: list[Read]) -> list[Read]:
        """Add one run's records, and what it read; return what all runs read, in their order.

        Raises InputError if another run has added the same one.
        """
        run = reads[0].run
        marks = self.spark.createDataFrame(
            [(read.partition, read.until_offset, _struct(read)) for read in reads],
            "partition int, offset bigint, read " + READ_SCHEMA.simpleString(),
        ).withColumn("is_inferred", F.lit(False))  # noqa: FBT003
        every = (self.spark.createDataFrame([], LOG.schema) if rows is None else rows).unionByName(
            marks, allowMissingColumns=True
        )
        append(self, LOG, every.withColumn("run", F.lit(run)), self.application, run)
        # Delta leaves out, in silence, what has the number of a run that is there already.
        so_far = self.reads()
        if [read for read in so_far if read.run == run] != sorted(reads, key=lambda read: read.partition):
            raise TablesError.other_writer(self.out)
        return so_far


def unfinished_clusters(spark: SparkSession, out: str) -> set[str]:
    """Return the clusters of live topics whose last run is not in `audit_runs`: their tables may not fit together."""
    tables = ClusterTables(spark, out, "")
    if not tables.is_there(LOG.name):
        return set()

    def last_runs(table: str) -> dict[str, int]:
        rows = read(spark, out, table).groupBy("cluster").agg(F.max("run").alias("run"))
        return {row.cluster: row.run for row in rows.collect()}

    told = last_runs(AUDIT_RUNS.name) if tables.is_there(AUDIT_RUNS.name) else {}
    return {cluster for cluster, run in last_runs(LOG.name).items() if told.get(cluster) != run}


def as_log_rows(records: DataFrame, *others: str) -> DataFrame:
    """Return records of the kept log, or such as are to be in it, as log rows (`sources.log.LOG_SCHEMA`)."""
    known = {name: F.col(name) for name in records.columns} | {"topic": F.lit(TOPIC)}
    columns = (known.get(f.name, F.lit(None)).cast(f.dataType).alias(f.name) for f in LOG_SCHEMA)
    return records.select(*columns, *others)


def latest(reads: list[Read]) -> Mapping[int, Read]:
    """Return the last of each partition's reads."""
    return {read.partition: read for read in reads}


def histories_by(reads: list[Read]) -> dict[int, PartitionHistory]:
    """Return what reads, in their order, tell of each partition's history."""
    of_partitions: dict[int, list[Read]] = {}
    for each in reads:
        of_partitions.setdefault(each.partition, []).append(each)
    return {
        partition: PartitionHistory(
            stretches=_stretches(of_it),
            head_missing=of_it[-1].head_missing,
            last_offset=of_it[-1].until_offset - 1,
            breaks=tuple(read.from_offset for read in of_it if read.is_break),
        )
        for partition, of_it in of_partitions.items()
    }


def _stretches(reads: list[Read]) -> tuple[tuple[int, int], ...]:
    """Return the stretches of a partition of which everything is known: the last read of each tells most of it."""
    last_of_each = {read.stretch_from: read for read in reads}.values()
    kept_from = reads[-1].kept_from
    spans = (
        (max(read.complete_from, kept_from), read.until_offset)
        for read in last_of_each
        if read.complete_from is not None
    )
    return tuple((first, until) for first, until in spans if first < until)


def _struct(read: Read) -> tuple[object, ...]:
    fields = asdict(read)
    return tuple(fields[name] for name in READ_SCHEMA.names)
