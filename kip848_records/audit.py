"""The main job: from a copy of `__consumer_offsets` to Delta tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.decode import decode
from kip848_records.decode.schemas import OFFSET_COMMIT_TABLE
from kip848_records.errors import InputError
from kip848_records.history import known_history
from kip848_records.landing import Landed, landed
from kip848_records.protocol.messages import RECORDS
from kip848_records.replay import latest_state
from kip848_records.sources import read_log, settle_transactions
from kip848_records.tables.delta import read_table, write_tables
from kip848_records.timeline import epoch_timeline, group_events, judge, last_states
from kip848_records.topics import topic_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

_TIMELINE_TYPES = (2, 3, 4, 5, 6, 7, 8, 16)


@dataclass(frozen=True)
class AuditOptions:
    """What to audit, and how. `captured_at` is when the log was copied: by default, the newest time in it."""

    source: str
    out: str
    source_format: str | None = None
    cluster: str = "default"
    topics: Mapping[str, str] | None = None
    captured_at: datetime | None = None
    offset_commits: bool = False
    allow_empty: bool = False


@dataclass(frozen=True)
class Audit:
    """A finished audit: its tables are written. `records` and `aborted` count what was read (`landing.Landed`)."""

    options: AuditOptions
    captured_at: datetime | None
    records: Mapping[int | None, int]
    aborted: int


def run_audit(spark: SparkSession, options: AuditOptions, progress: Callable[[str], None]) -> Audit:
    """Read the source once and replace the cluster's rows in every table by what it says.

    `progress` is told, in words, what is going on. Raises InputError where there is nothing to read; no table has been
    touched then.
    """
    if not options.cluster:
        raise InputError.empty_cluster()
    log = read_log(spark, options.source, options.source_format)
    progress(f"reading {options.source}")
    with landed(spark, log, options.out, offset_commits=options.offset_commits) as landing:
        count = sum(landing.records.values())
        if not count and not options.allow_empty:
            raise InputError.no_rows(options.source, landing.first_error)
        progress(f"decoding {count:,} records")
        _write_records(spark, options, landing, progress)
        progress("judging groups")
        _write_timelines(spark, options, landing, progress)
    return Audit(options, options.captured_at or landing.newest, landing.records, landing.aborted)


def _write_records(
    spark: SparkSession, options: AuditOptions, landing: Landed, progress: Callable[[str], None]
) -> None:
    log = settle_transactions(landing.log) if options.offset_commits else landing.log
    decoded = decode(log, offset_commits=options.offset_commits)
    present = {record.table for record in RECORDS.values() if landing.records.get(record.key_type)}
    tables: dict[str, DataFrame | None] = {
        table: rows if table in present else None for table, rows in decoded.records.items()
    }
    tables.setdefault(OFFSET_COMMIT_TABLE, None)
    tables |= {
        "latest_state": latest_state(log),
        "quarantine": decoded.quarantine,
        "unknown_record": decoded.unknown_record,
        "topic_name": topic_names(spark, decoded.records, options.topics or {}),
    }
    write_tables(spark, options.out, options.cluster, tables, lambda name: progress(f"wrote {name}"))


def _write_timelines(
    spark: SparkSession, options: AuditOptions, landing: Landed, progress: Callable[[str], None]
) -> None:
    names = [RECORDS[key_type].table for key_type in _TIMELINE_TYPES]
    tables = {name: read_table(spark, options.out, name, options.cluster) for name in names}
    history = known_history(landing.log).withColumn("cluster", F.lit(options.cluster))
    judged = landing.keep(group_events(tables, history).transform(judge), "judged")
    timelines = {"epoch_timeline": epoch_timeline(judged), "group_state": last_states(judged)}
    write_tables(spark, options.out, options.cluster, timelines, lambda name: progress(f"wrote {name}"))
