"""The main job: from a copy of `__consumer_offsets` to Delta tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from kip848_records import __version__
from kip848_records.decode import decode, decode_together
from kip848_records.decode.dialects import AUTO, check_dialect, choose_dialect
from kip848_records.errors import InputError
from kip848_records.history import known_history
from kip848_records.landing import Landed, landed
from kip848_records.protocol.messages import DIALECTS, KAFKA, RECORDS
from kip848_records.protocol.messages.early import GROUP_CONFIGURATION
from kip848_records.replay import latest_state
from kip848_records.sources import ends_of_dumps, find_copies, read_copies, settle_transactions
from kip848_records.tables.delta import write_tables
from kip848_records.tables.specs import AUDIT_RUNS, RECORD_TABLES
from kip848_records.timeline import EVENT_TABLES, group_events, lost_records, partition_losses, timelines
from kip848_records.topics import topic_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pyspark.sql import SparkSession


DEFAULT_CLUSTER = "default"

_CLOCKS_DIFFER_BY = timedelta(minutes=10)
"""How far the clock of a broker may run ahead of that of the user, generously."""


@dataclass(frozen=True)
class AuditOptions:
    """What to audit, and how.

    `dialect` is who wrote the log, a name in `protocol.messages.DIALECTS`, or `auto`: told by what decodes.
    `captured_at` is when the log was copied: by default, the newest time in it. `kafka_config` is the file of the
    client's settings for a live topic among the sources.
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


@dataclass(frozen=True)
class Audit:
    """A finished audit: its tables are written. `landing.Landed` says what the counts of what was read mean."""

    options: AuditOptions
    dialect: str
    captured_at: datetime | None
    copies: int
    records: Mapping[int | None, int]
    group_configurations: int
    aborted: int


def run_audit(spark: SparkSession, options: AuditOptions, progress: Callable[[str], None]) -> Audit:
    """Land the sources' rows and replace the cluster's rows in every table by what they say.

    Segments are read once, dumps once more for where they end. `progress` is told, in words, what is going on. Raises
    InputError where there is nothing to read, or it was not copied at `captured_at`; no table has been touched then.
    """
    if not options.cluster:
        raise InputError.empty_cluster()
    check_dialect(options.dialect, known=(*DIALECTS, AUTO))
    copies = find_copies(spark, options.sources, options.source_format)
    log = reduce(DataFrame.unionByName, [read_copies(spark, copies), *ends_of_dumps(spark, copies)])
    progress(f"reading {', '.join(options.sources)}")
    names = [copy.name for copy in copies]
    with landed(spark, log, options.out, copies=names, offset_commits=options.offset_commits) as landing:
        count = sum(landing.records.values())
        if not count and not options.allow_empty:
            raise InputError.no_rows(", ".join(options.sources), landing.first_error)
        captured_at = _captured_at(options, landing)
        dialect = _dialect(options, landing, progress)
        progress(f"decoding {count:,} records")
        tables = _tables(spark, options, dialect, landing, captured_at)
        run = _run(spark, options, dialect, captured_at)
        # While the tables are not of one audit, none of them is said to be there.
        for part in ({AUDIT_RUNS.name: None}, tables, {AUDIT_RUNS.name: run}):
            write_tables(spark, options.out, options.cluster, part, lambda name: progress(f"wrote {name}"))
    return Audit(
        options=options,
        dialect=dialect,
        captured_at=captured_at,
        copies=len(copies),
        records=landing.records,
        group_configurations=landing.group_configurations,
        aborted=landing.aborted,
    )


def _captured_at(options: AuditOptions, landing: Landed) -> datetime | None:
    """Return when the log was copied; raises InputError if the user names a time at which it cannot have been."""
    if options.captured_at and landing.newest and options.captured_at < landing.newest - _CLOCKS_DIFFER_BY:
        raise InputError.captured_before_its_end(options.captured_at, landing.newest)
    return options.captured_at or landing.newest


def _dialect(options: AuditOptions, landing: Landed, progress: Callable[[str], None]) -> str:
    if options.dialect != AUTO:
        return options.dialect
    choice = choose_dialect(landing.log)
    progress(str(choice))
    return choice.name


def _tables(
    spark: SparkSession, options: AuditOptions, dialect: str, landing: Landed, captured_at: datetime | None
) -> Mapping[str, DataFrame | None]:
    """Return every table's rows, None where there are none. What several tables are made of is kept beside the log."""
    log = settle_transactions(landing.log) if options.offset_commits else landing.log
    present = {record.table for record in DIALECTS[dialect].records if landing.records.get(record.key_type)}
    if not landing.group_configurations:
        present.discard(GROUP_CONFIGURATION.table)
    decoded = decode(log, dialect=dialect, offset_commits=options.offset_commits, tables=present)
    quarantine = landing.keep(decoded.quarantine, "quarantine")
    topics = landing.keep(topic_names(spark, decoded.records, options.topics or {}), "topics")
    return {
        **dict.fromkeys(RECORD_TABLES),
        **decoded.records,
        "latest_state": latest_state(landing.without_stale(log), dialect=dialect),
        "partition_history": landing.history,
        "quarantine": quarantine,
        "unknown_record": decoded.unknown_record if landing.records.keys() - {None, *RECORDS} else None,
        "topic_name": topics,
        **timelines(_events(landing, dialect, quarantine), topics, captured_at, landing.keep),
    }


def _run(spark: SparkSession, options: AuditOptions, dialect: str, captured_at: datetime | None) -> DataFrame:
    row = (captured_at, list(options.sources), dialect, __version__)
    return spark.createDataFrame([row], "captured_at timestamp, sources array<string>, dialect string, version string")


def _events(landing: Landed, dialect: str, quarantine: DataFrame) -> DataFrame:
    """Return the rows of `group_events`; what was lost is looked at only if something was."""
    records = decode_together(landing.without_stale(landing.log), EVENT_TABLES, dialect=dialect)
    history = known_history(landing.history)
    if quarantine.isEmpty():
        return group_events(records, history)
    losses = landing.keep(partition_losses(quarantine, history), "losses")
    return group_events(records, history, lost_records(quarantine), losses)
