"""The main job: a copy of `__consumer_offsets`, or a live topic, becomes the log, and the log becomes Delta tables."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kip848_records import __version__
from kip848_records.decode.dialects import check_dialect
from kip848_records.engines.choice import new_engine
from kip848_records.errors import InputError
from kip848_records.log.archive import archive_partitions, replaced_partitions
from kip848_records.log.facts import count_records, log_facts
from kip848_records.log.runs import RunInfo
from kip848_records.log.table import Knowledge, LogTable, unfinished_clusters
from kip848_records.pipeline.captured import check_captured, check_captured_by
from kip848_records.pipeline.names import TOPICS_FILE
from kip848_records.pipeline.options import Audit, AuditOptions
from kip848_records.pipeline.rebuild import rebuild
from kip848_records.pipeline.topic import FinishedRun, RunOptions, TopicRun, check_topic_is_log, read_new_records
from kip848_records.protocol.messages import AUTO, DIALECTS
from kip848_records.sources.files import check_apart
from kip848_records.sources.known_keys import check_is_log
from kip848_records.sources.listing import find_copies
from kip848_records.sources.read import merged_rows, read_sources
from kip848_records.sources.topic.address import is_topic
from kip848_records.sources.topic.errors import TopicError
from kip848_records.tables.errors import TablesError
from kip848_records.tables.log import LOG
from kip848_records.times import utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from kip848_records.engines.engine import Engine
    from kip848_records.log.facts import RecordCounts
    from kip848_records.log.runs import PartitionRead
    from kip848_records.pipeline.progress import Progress
    from kip848_records.sources.topic.live_log import LiveLog


def run_audit(spark: SparkSession | None, options: AuditOptions, progress: Progress) -> Audit:
    """Audit copies of the log, or a live topic, and write the tables at `options.out`; return what was read.

    `spark`: the session that moves the rows; None: this process does, for copies and tables on this machine. `progress`
    receives the progress; `progress.Progress` ignores it.

    Raises InputError if options do not fit together, if a source cannot be read, or if another run is writing to the
    same tables.
    """
    if not options.cluster:
        raise TablesError.empty_cluster()
    check_dialect(options.dialect, known=(*DIALECTS, AUTO))
    engine = new_engine(spark, options.out)
    if any(is_topic(source) for source in options.sources):
        return _audit_live(engine, options, progress)
    if options.checkpoint is not None:
        raise InputError.checkpoint_of_copy()
    return audit_copies(engine, options, progress)


def _audit_live(engine: Engine, options: AuditOptions, progress: Progress) -> Audit:
    if len(options.sources) > 1:
        raise TopicError.not_alone(next(source for source in options.sources if is_topic(source)))
    from kip848_records.engines.spark import SparkEngine  # noqa: PLC0415 - a copy needs none of it
    from kip848_records.sources.topic.admin import READ_COMMITTED, READ_UNCOMMITTED  # noqa: PLC0415 - as above
    from kip848_records.sources.topic.jvm import open_topic  # noqa: PLC0415 - as above
    from kip848_records.sources.topic.live import LiveTopic  # noqa: PLC0415 - as above

    if not isinstance(engine, SparkEngine):
        raise TopicError.needs_spark(options.sources[0])
    topic = open_topic(engine.spark, options.sources[0], options.kafka_config)
    # A coordinator writes only offset commits in transactions. Without them a hanging transaction stops no run.
    isolation = READ_COMMITTED if options.offset_commits else READ_UNCOMMITTED
    return audit_topic(engine, LiveTopic(engine.spark, topic, isolation), options, progress)


def audit_copies(engine: Engine, options: AuditOptions, progress: Progress) -> Audit:
    """Replace the cluster's log by the sources' rows, and rebuild its tables.

    Raises InputError where there is nothing to read, the source is not `__consumer_offsets`, or it was not copied at
    `captured_at`; the log and the tables are as they were then.
    """
    copies = find_copies(engine, options.sources, options.source_format)
    check_apart(engine, copies, options.work_folder)
    with engine.reading():
        check_is_log(engine, copies)
    with _alone(engine, options, progress) as (log, is_resumed):
        before = log.knowledge()
        if before.runs and not before.is_copy:
            raise TablesError.cluster_of_topic(options.cluster, options.out)
        progress.phase("reading", ", ".join(options.sources))
        info = _copy_info(log, before, options)
        version = engine.version(LOG.name)
        try:
            with engine.reading():
                batch = read_sources(engine, copies, offset_commits=options.offset_commits)
                rows, dropped = merged_rows(engine, batch)
                log.replace_by_copy(rows, info)
            facts = log_facts(log, Knowledge([info]))
            _check_copy(facts.counts, options)
        except Exception:
            if engine.version(LOG.name) != version:
                engine.restore(LOG.name, version)
            raise
        progress.advance(facts.counts.records)
        rebuild(log, Knowledge([info]), progress, facts)
        quarantined = _quarantined(log)
    return Audit(
        options=options,
        run=info.run,
        dialect=facts.inputs.dialect,
        captured_at=None if facts.inputs.captured_at is None else utc(facts.inputs.captured_at),
        copies=len(copies),
        records=facts.counts.by_type,
        group_configurations=facts.counts.group_configurations,
        # Readers count the aborted records that they skip; the merge of several copies drops the others.
        aborted=facts.counts.aborted + dropped(),
        quarantined=quarantined,
        resumed=is_resumed,
    )


def audit_topic(engine: Engine, live: LiveLog, options: AuditOptions, progress: Progress) -> Audit:
    """Append to the log what is new in a live topic since the run before, and rebuild the cluster's tables.

    Raises InputError where nothing comes though it must, and where the runs before were of another kind.
    """
    with _alone(engine, options, progress) as (log, is_resumed):
        before = log.knowledge()
        if before.is_copy:
            raise TablesError.cluster_of_copy(options.cluster, options.out)
        _check_same_options(before, options)
        progress.phase("asking", f"{live.name} where it ends")
        ends = live.ends()
        check_captured_by(options.captured_ms, ends.at_ms)
        if replaced := replaced_partitions(log, before, live, ends):
            before = _archive(log, before, replaced, progress)
        progress.phase("reading", f"{live.name}, {len(ends.offsets)} partitions")
        run = _read_topic(TopicRun.following(log, before, live, ends, _run_options(options)), options)
        counts = count_records(log.ask, "log.run >= :first_run AND NOT log.is_inferred", first_run=run.first_run)
        records = {**counts.by_type, **run.offset_commits}
        progress.advance(sum(records.values()))
        facts = rebuild(log, run.knowledge, progress)
        quarantined = _quarantined(log, run.reads) if run.reads else 0
    captured_ms = facts.inputs.captured_at
    return Audit(
        options=options,
        run=run.first_run,
        dialect=facts.inputs.dialect,
        captured_at=None if captured_ms is None else utc(captured_ms),
        copies=1,
        records=records,
        group_configurations=counts.group_configurations,
        aborted=0,
        quarantined=quarantined,
        reads=run.reads,
        skipped=run.skipped,
        resumed=is_resumed,
    )


@contextmanager
def _alone(engine: Engine, options: AuditOptions, progress: Progress) -> Iterator[tuple[LogTable, bool]]:
    """Keep other runs from the tables, and rebuild those of other clusters that do not fit their log.

    Either an older version wrote them, or a run was interrupted. This run rebuilds those of its own cluster anyway;
    the last value says whether its last run was interrupted.
    """
    with engine.alone(options.work_folder):
        outdated, unfinished = engine.prepare(), unfinished_clusters(engine)
        for cluster in sorted({*outdated, *unfinished} - {options.cluster}):
            log = LogTable(engine, cluster)
            if (knowledge := log.knowledge()).runs:
                progress.phase("rebuilding", f"cluster {cluster!r}")
                rebuild(log, knowledge, progress)
        yield LogTable(engine, options.cluster), options.cluster in unfinished


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
        names=names,
    )


def _check_copy(counts: RecordCounts, options: AuditOptions) -> None:
    """Raise InputError if the copy has no records, or cannot have been copied at the time that the user names."""
    if not counts.records and not options.allow_empty:
        raise InputError.no_rows(", ".join(options.sources), counts.first_error)
    check_captured(options.captured_ms, counts.newest_ms)


def _archive(log: LogTable, knowledge: Knowledge, partitions: dict[int, str], progress: Progress) -> Knowledge:
    """Archive partitions that are not those read before, and rebuild the archive's tables; return what is left."""
    archive = archive_partitions(log, knowledge, partitions)
    for partition, why in sorted(partitions.items()):
        progress.note(
            f"partition {partition} is not the one read before: {why}; its history is kept as cluster "
            f"{archive.cluster!r}"
        )
    rebuild(archive, archive.knowledge(), progress)
    return log.knowledge()


def _read_topic(run: TopicRun, options: AuditOptions) -> FinishedRun:
    from kip848_records.pipeline.stream import stream_new_records  # noqa: PLC0415 - a copy needs none of it
    from kip848_records.sources.topic.live import LiveTopic  # noqa: PLC0415 - as above

    check_topic_is_log(run)
    if options.checkpoint is not None and isinstance(run.live, LiveTopic):
        return stream_new_records(run, run.live, options.checkpoint)
    return read_new_records(run)


def _run_options(options: AuditOptions) -> RunOptions:
    return RunOptions(
        dialect=options.dialect,
        offset_commits=options.offset_commits,
        captured_ms=options.captured_ms,
        allow_empty=options.allow_empty,
        record_tables=options.record_tables,
        names=options.topics or {},
    )


def _check_same_options(before: Knowledge, options: AuditOptions) -> None:
    """Raise InputError where a run would decode otherwise than those before it: one table would hold two kinds."""
    if not before.runs:
        return
    last = before.runs[-1]
    if options.dialect not in {AUTO, last.dialect} or options.offset_commits != last.offset_commits:
        raise TablesError.other_options(last.dialect, offset_commits=last.offset_commits)


def _quarantined(log: LogTable, reads: Sequence[PartitionRead] = ()) -> int:
    """Return how many of the rows that a run read are in quarantine; without `reads`: how many there are in all."""
    is_read = " OR ".join(
        f"(quarantine.partition = {read.partition} AND quarantine.offset >= {read.from_offset} "
        f"AND quarantine.offset < {read.until_offset})"
        for read in reads
    )
    return log.count("quarantine", is_read or "true")
