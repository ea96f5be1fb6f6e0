"""The main job: from a copy of `__consumer_offsets` to Delta tables."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kip848_records import __version__
from kip848_records.decode.dialects import AUTO, check_dialect, choose_dialect
from kip848_records.derive import (
    Known,
    decode_present,
    group_tables,
    has_unknown,
    partition_histories,
    with_inferred,
)
from kip848_records.errors import InputError
from kip848_records.history import known_history
from kip848_records.landing import Landed, Scratch, count_records, landed, scratch
from kip848_records.live.kept_log import KeptLog, Read, latest
from kip848_records.live.run import Reading, Run, Wanted, check_captured, check_captured_by, read_on
from kip848_records.live.set_aside import replaced_partitions, set_aside
from kip848_records.live.streaming import stream_on
from kip848_records.live.update import Names, bring_up_to_date
from kip848_records.protocol.messages import DIALECTS, KAFKA
from kip848_records.replay import latest_state
from kip848_records.sources import check_apart, ends_of_dumps, find_copies, read_copies, settle_transactions
from kip848_records.sources.topic import READ_COMMITTED, READ_UNCOMMITTED, LiveTopic, is_topic, open_topic
from kip848_records.sources.topic.errors import TopicError
from kip848_records.tables.delta import ClusterTables, write_audit
from kip848_records.tables.errors import TablesError
from kip848_records.tables.existing import is_of_copy, prepare_tables
from kip848_records.tables.places import work_folder
from kip848_records.tables.specs import AUDIT_RUNS, RECORD_TABLES
from kip848_records.tables.writers import only_writer
from kip848_records.threads import both
from kip848_records.times import utc
from kip848_records.topics import topic_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import SparkSession

    from kip848_records.live.topic import LiveLog


DEFAULT_CLUSTER = "default"


@dataclass(frozen=True)
class AuditOptions:
    """What to audit, and how.

    `out` is where the tables are, a folder or `tables.places.schema_place`; with the latter, `scratch` is a folder for
    what is kept until the audit is done, which no other audit uses meanwhile. `dialect` is who wrote the log, a name in
    `protocol.messages.DIALECTS`, or `auto`: told by what decodes. `captured_at` is when the log was copied: by default,
    the newest time in it. `kafka_config` is the file of the client's settings for a live topic, and `checkpoint` a
    folder, if that is to be read as a stream.
    """

    sources: tuple[str, ...]
    out: str
    source_format: str | None = None
    dialect: str = KAFKA.name
    cluster: str = DEFAULT_CLUSTER
    topics: Mapping[str, str] | None = None
    captured_at: datetime | None = None
    offset_commits: bool = False
    allow_empty: bool = False
    kafka_config: str | None = None
    checkpoint: str | None = None
    scratch: str | None = None

    @property
    def work_folder(self) -> str:
        """The folder for what is kept until the audit is done; raises InputError if there is none."""
        return work_folder(self.out, self.scratch)


@dataclass(frozen=True)
class Audit:
    """A finished audit: its tables are written. `landing.Landed` says what the counts of what was read mean.

    `quarantined`: the rows that this audit could not read or decode. `reads`: of a live topic, what this run read of
    each partition. `left_out`: records of groups that Spark's own readers left behind.
    """

    options: AuditOptions
    dialect: str
    captured_at: datetime | None
    copies: int
    records: Mapping[int | None, int]
    group_configurations: int
    aborted: int
    quarantined: int = 0
    reads: Sequence[Read] = ()
    left_out: int = 0


def run_audit(spark: SparkSession, options: AuditOptions, progress: Callable[[str], None]) -> Audit:
    """Audit copies of the log, or a live topic, into tables; `progress` is told, in words, what is going on.

    Raises InputError for options that do not fit together, for what cannot be read, and while another run writes to the
    same tables.
    """
    if not options.cluster:
        raise TablesError.empty_cluster()
    check_dialect(options.dialect, known=(*DIALECTS, AUTO))
    if not any(is_topic(source) for source in options.sources):
        if options.checkpoint is not None:
            raise InputError.checkpoint_of_copy()
        return audit_copies(spark, options, progress)
    if len(options.sources) > 1:
        raise TopicError.not_alone(next(source for source in options.sources if is_topic(source)))
    topic = open_topic(spark, options.sources[0], options.kafka_config)
    # Only offset commits are ever written in transactions. Who does not ask for them reads on behind one that hangs.
    isolation = READ_COMMITTED if options.offset_commits else READ_UNCOMMITTED
    return audit_topic(spark, LiveTopic(spark, topic, isolation), options, progress)


def audit_copies(spark: SparkSession, options: AuditOptions, progress: Callable[[str], None]) -> Audit:
    """Land the sources' rows and replace the cluster's rows in every table by what they say.

    Segments are read once, dumps once more for where they end. Raises InputError where there is nothing to read, or it
    was not copied at `captured_at`; no row of a table has changed then.
    """
    copies = find_copies(spark, options.sources, options.source_format)
    check_apart(spark, copies, options.work_folder)
    log = reduce(
        DataFrame.unionByName,
        [read_copies(spark, copies, offset_commits=options.offset_commits), *ends_of_dumps(spark, copies)],
    )
    progress(f"reading {', '.join(options.sources)}")
    names = [copy.name for copy in copies]
    with ExitStack() as during:
        during.enter_context(only_writer(spark, options.work_folder))
        # Before all is read, which may take hours.
        prepare_tables(spark, options.out)
        if KeptLog(spark, options.out, options.cluster).reads():
            raise TablesError.cluster_of_topic(options.cluster, options.out)
        copied = landed(spark, log, options.work_folder, copies=names, offset_commits=options.offset_commits)
        landing = during.enter_context(copied)
        count = sum(landing.records.values())
        if not count and not options.allow_empty:
            raise InputError.no_rows(", ".join(options.sources), landing.first_error)
        captured_at = _captured_at(options, landing)
        dialect = _dialect(options, landing.log, progress)
        progress(f"decoding {count:,} records")
        records, timelines = _tables(spark, options, dialect, landing, captured_at)
        quarantined = 0 if records["quarantine"] is None else records["quarantine"].count()
        run = _run(spark, options, dialect, captured_at)
        tables = ClusterTables(spark, options.out, options.cluster)
        write_audit(tables, records, timelines, run, lambda name: progress(f"wrote {name}"))
    return Audit(
        options=options,
        dialect=dialect,
        captured_at=captured_at,
        copies=len(copies),
        records=landing.records,
        group_configurations=landing.group_configurations,
        aborted=landing.aborted,
        quarantined=quarantined,
    )


def audit_topic(spark: SparkSession, live: LiveLog, options: AuditOptions, progress: Callable[[str], None]) -> Audit:
    """Read what is new in a live topic since the run before, and bring the cluster's tables up to date.

    Raises InputError where nothing comes though it must, and where the runs before were of another kind.
    """
    kept = KeptLog(spark, options.out, options.cluster)
    with only_writer(spark, options.work_folder), scratch(spark, options.work_folder) as folder:
        prepare_tables(spark, options.out)
        reads = kept.reads()
        if is_of_copy(spark, options.out, options.cluster):
            raise TablesError.cluster_of_copy(options.cluster, options.out)
        _check_options(reads, options)
        progress(f"asking {live.name} where it ends")
        ends = live.ends()
        wanted = _wanted(options)
        check_captured_by(wanted.captured_ms, ends.at_ms)
        names = Names(options.topics or {}, ends.topic_names)
        if replaced := replaced_partitions(kept, live, latest(reads), ends):
            bring_up_to_date(kept, reads, names, folder, progress)
            set_aside(kept, replaced, progress)
            reads = kept.reads()
        progress(f"reading {live.name}, {len(ends.offsets)} partitions")
        run = _read(Reading.of(kept, reads, live, ends, wanted), folder, options.checkpoint)
        log = kept.rows().where((F.col("run") >= run.first_run) & ~F.col("is_inferred"))
        counts, configurations = count_records(log)
        progress(f"decoding {sum(counts.values()):,} records of run {run.reads[0].run}")
        bring_up_to_date(kept, run.so_far, names, folder, progress, read_from=run.first_run)
        quarantined = _quarantined(kept, run.reads)
    last = run.reads[-1]
    return Audit(
        options=options,
        dialect=last.dialect,
        captured_at=None if last.captured_ms is None else utc(last.captured_ms),
        copies=1,
        records={**counts, **run.offset_commits},
        group_configurations=configurations,
        aborted=0,
        quarantined=quarantined,
        reads=run.reads,
        left_out=run.left_out,
    )


def _read(reading: Reading, folder: Scratch, checkpoint: str | None) -> Run:
    if checkpoint is not None and isinstance(reading.live, LiveTopic):
        return stream_on(reading, reading.live, folder, checkpoint)
    return read_on(reading, folder)


def _check_options(reads: Sequence[Read], options: AuditOptions) -> None:
    """Raise InputError where a run would decode otherwise than those before it: one table would hold two kinds."""
    if reads and (
        options.dialect not in {AUTO, reads[-1].dialect} or options.offset_commits != reads[-1].offset_commits
    ):
        raise TablesError.other_options(reads[-1].dialect, offset_commits=reads[-1].offset_commits)


def _quarantined(kept: KeptLog, reads: Sequence[Read]) -> int:
    """Return how many of the rows that a run read are in quarantine."""
    places = [(read.partition, read.from_offset, read.until_offset) for read in reads]
    read = kept.spark.createDataFrame(places, "partition int, first bigint, until bigint")
    quarantine = kept.read("quarantine").join(F.broadcast(read), "partition")
    return quarantine.where("offset >= first AND offset < until").count()


def _wanted(options: AuditOptions) -> Wanted:
    return Wanted(options.dialect, options.offset_commits, _ms(options.captured_at), options.allow_empty)


def _ms(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)


def _captured_at(options: AuditOptions, landing: Landed) -> datetime | None:
    """Return when the log was copied; raises InputError if the user names a time at which it cannot have been."""
    check_captured(_ms(options.captured_at), _ms(landing.newest))
    return options.captured_at or landing.newest


def _dialect(options: AuditOptions, log: DataFrame, progress: Callable[[str], None]) -> str:
    if options.dialect != AUTO:
        return options.dialect
    choice = choose_dialect(log)
    progress(str(choice))
    return choice.name


def _tables(
    spark: SparkSession, options: AuditOptions, dialect: str, landing: Landed, captured_at: datetime | None
) -> tuple[Mapping[str, DataFrame | None], Callable[[], Mapping[str, DataFrame]]]:
    """Return every table's rows, None where there are none; those of timelines as what makes them.

    What several tables are made of is kept beside the log.
    """
    log = settle_transactions(landing.log) if options.offset_commits else landing.log
    counts, offset_commits = (landing.records, landing.group_configurations), options.offset_commits
    decoded = decode_present(log, dialect, *counts, offset_commits=offset_commits)
    quarantine, topics = both(
        lambda: landing.keep_any(decoded.quarantine, "quarantine"),
        lambda: landing.keep(topic_names(spark, decoded.records, options.topics or {}), "topics"),
    )
    lost = None if quarantine is None else landing.lost(quarantine)
    known = Known(partition_histories(known_history(landing.history)), lost, topics, captured_at)
    records = {
        **dict.fromkeys(RECORD_TABLES),
        **with_inferred(decoded.records),
        "latest_state": latest_state(landing.without_stale(log), dialect=dialect),
        "partition_history": landing.history,
        "quarantine": quarantine,
        "unknown_record": decoded.unknown_record if has_unknown(landing.records) else None,
        "topic_name": topics,
    }
    return records, lambda: group_tables(landing.without_stale(landing.log), dialect, known, landing.keep)


def _run(spark: SparkSession, options: AuditOptions, dialect: str, captured_at: datetime | None) -> DataFrame:
    row = (1, captured_at, list(options.sources), dialect, __version__, options.offset_commits, False, None)
    return spark.createDataFrame([row], AUDIT_RUNS.schema_without("cluster"))
