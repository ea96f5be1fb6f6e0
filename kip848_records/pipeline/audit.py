"""The main job: a copy of `__consumer_offsets`, or a live topic, becomes the log, and the log becomes Delta tables."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kip848_records import __version__
from kip848_records.decode.dialects import check_dialect
from kip848_records.engines.choice import new_engine
from kip848_records.errors import InputError
from kip848_records.log.facts import log_facts
from kip848_records.log.runs import RunInfo
from kip848_records.log.table import Knowledge, LogTable
from kip848_records.pipeline.around import alone, quarantined
from kip848_records.pipeline.captured import check_captured
from kip848_records.pipeline.end_offsets import with_earlier
from kip848_records.pipeline.names import TOPICS_FILE
from kip848_records.pipeline.options import Audit, AuditOptions
from kip848_records.pipeline.rebuild import rebuild
from kip848_records.protocol.messages import AUTO, DIALECTS
from kip848_records.sources.known_keys import check_is_log
from kip848_records.sources.listing import find_copies
from kip848_records.sources.outputs import check_apart
from kip848_records.sources.read import merged_rows, read_sources
from kip848_records.sources.topic.address import is_topic
from kip848_records.sources.topic.errors import TopicError
from kip848_records.tables.errors import TablesError
from kip848_records.tables.log import LOG
from kip848_records.times import known_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from kip848_records.engines.engine import Engine
    from kip848_records.log.facts import LogFacts, RecordCounts
    from kip848_records.pipeline.progress import Progress
    from kip848_records.sources.listing import Copy


def run_audit(spark: SparkSession | None, options: AuditOptions, progress: Progress, group: str | None = None) -> Audit:
    """Audit copies of the log, or a live topic, and write the tables at `options.out`; return what was read.

    `spark`: the session that moves the rows; None: this process does, for tables on this machine. `progress` receives
    the progress; `progress.Progress` ignores it. `group`: replay only this group, which is enough for a question about
    it. No later reader could know that the tables lack other groups: `options.out` must be a folder without tables,
    which only the caller reads.

    Raises InputError if options do not fit together, if a source cannot be read, if another run is writing to the
    same tables, or if `group` is given and there are tables already.
    """
    return audit_into(new_engine(spark, options.out), options, progress, group)


def audit_into(engine: Engine, options: AuditOptions, progress: Progress, group: str | None = None) -> Audit:
    """Audit as `run_audit` does, with an engine whose tables only the caller reads.

    Raises InputError as `run_audit`.
    """
    if not options.cluster:
        raise TablesError.empty_cluster()
    check_dialect(options.dialect, known=(*DIALECTS, AUTO))
    if group is not None and engine.tables.is_there(LOG.name):
        raise TablesError(
            f"an audit of one group would replace the tables in {options.out}", "pass a folder without tables"
        )
    if not any(map(is_topic, options.sources)):
        return audit_copies(engine, options, progress, group)
    if len(options.sources) > 1:
        raise TopicError.not_alone(next(filter(is_topic, options.sources)))
    from kip848_records.pipeline.live import audit_live  # noqa: PLC0415 - the client of brokers takes a while

    return audit_live(engine, options, progress, group)


def audit_copies(engine: Engine, options: AuditOptions, progress: Progress, group: str | None = None) -> Audit:
    """Replace the cluster's log by the sources' rows, and rebuild its tables; `group`: replay this group only.

    Raises InputError where there is nothing to read, the source is not `__consumer_offsets`, or it was not copied at
    `captured_at`; the log and the tables are as they were then.
    """
    copies = find_copies(engine.listing(), options.sources, options.source_format)
    check_apart(engine, copies, options.work_folder)
    with engine.reading():
        check_is_log(engine, copies)
    with alone(engine, options, progress) as (log, is_resumed):
        before = log.knowledge()
        if before.runs and not before.is_copy:
            raise TablesError(
                f"the tables of cluster {options.cluster!r} in {options.out} hold the runs of a live topic",
                "pass another --cluster or --out for a copy",
            )
        progress.phase("reading", ", ".join(options.sources))
        info = _copy_info(log, before, options)
        facts, dropped = _replace_log(log, copies, info, options)
        progress.advance(facts.counts.records)
        rebuild(log, Knowledge([info]), progress, facts, group)
        count = quarantined(log)
    return Audit(
        options=options,
        run=info.run,
        dialect=facts.inputs.dialect,
        captured_at=known_time(facts.inputs.captured_at),
        copies=len(copies),
        records=facts.counts.by_type,
        # Readers count the aborted records that they skip; the merge of several copies drops the others.
        aborted=facts.counts.aborted + dropped,
        quarantined=count,
        resumed=is_resumed,
    )


def _replace_log(log: LogTable, copies: Sequence[Copy], info: RunInfo, options: AuditOptions) -> tuple[LogFacts, int]:
    """Replace the log by the rows of copies; return the facts about it, and the number of aborted records dropped.

    If that fails, or the rows are not what the options say, the log has its former version.
    """
    engine, tables = log.engine, log.engine.tables
    version = tables.version(LOG.name)
    ours: int | None = 0 if version is None else version
    try:
        with engine.reading():
            batch = read_sources(engine, copies, offset_commits=options.offset_commits, by_key=options.topic_content)
            dropped = log.replace_by_copy(merged_rows(engine, batch), info, has_aborted=batch.needs_merge)
        ours = tables.version(LOG.name)
        facts = log_facts(log, Knowledge([info]))
        _check_copy(facts.counts, options)
    except Exception:
        # Without a lock, a later version than this run's is that of another run, which goes on.
        if version != tables.version(LOG.name) == ours:
            tables.restore(LOG.name, version)
        raise
    return facts, dropped


def _copy_info(log: LogTable, before: Knowledge, options: AuditOptions) -> RunInfo:
    names = tuple((topic_id, topic, TOPICS_FILE) for topic_id, topic in (options.topics or {}).items())
    return RunInfo(
        run=log.next_run(before),
        is_copy=True,
        sources=options.sources,
        version=__version__,
        dialect=options.dialect,
        offset_commits=options.offset_commits,
        read_ms=time.time_ns() // 1_000_000,
        captured_ms=options.captured_ms,
        record_tables=options.record_tables,
        topic_content=options.topic_content,
        names=names,
        limits=options.limits,
        offsets_retention_ms=options.offsets_retention_ms,
        end_offsets=with_earlier(options.end_offsets, before.runs),
    )


def _check_copy(counts: RecordCounts, options: AuditOptions) -> None:
    """Raise InputError if the copy has no records, or cannot have been copied at the time that the user names."""
    if not counts.records and not options.allow_empty:
        raise InputError.no_rows(", ".join(options.sources), counts.first_error)
    check_captured(options.captured_ms, counts.newest_ms)
