"""The audit of a live topic: what is new is appended to the log, and the log becomes Delta tables."""

from __future__ import annotations

from contextlib import closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from kip848_records.log.archive import archive_partitions, replaced_partitions
from kip848_records.log.facts import count_records
from kip848_records.log.runs import EndOffset
from kip848_records.pipeline.around import alone, quarantined
from kip848_records.pipeline.captured import check_captured_by
from kip848_records.pipeline.end_offsets import with_earlier
from kip848_records.pipeline.options import Audit, AuditOptions
from kip848_records.pipeline.rebuild import rebuild
from kip848_records.pipeline.topic import TopicRun, check_topic_is_log, read_new_records
from kip848_records.protocol.messages import AUTO
from kip848_records.queries.engines import EMBEDDED
from kip848_records.sources.topic.address import open_topic
from kip848_records.sources.topic.client import READ_COMMITTED, READ_UNCOMMITTED, Brokers
from kip848_records.sources.topic.fetched import FetchedTopic
from kip848_records.specs.tables import COMMIT_PROGRESS
from kip848_records.tables.errors import TablesError
from kip848_records.times import known_time

if TYPE_CHECKING:
    from kip848_records.engines.embedded.engine import EmbeddedEngine
    from kip848_records.engines.engine import Engine
    from kip848_records.engines.spark.engine import SparkEngine
    from kip848_records.log.table import Knowledge, LogTable
    from kip848_records.pipeline.progress import Progress
    from kip848_records.sources.topic.live_log import LiveLog


_OWNED: Final = """
SELECT DISTINCT topic, partition FROM commit_progress
WHERE cluster = :cluster AND owner = 'member' AND released_offset IS NULL
ORDER BY topic, partition
"""


def audit_live(engine: Engine, options: AuditOptions, progress: Progress, group: str | None = None) -> Audit:
    """Audit the topic that the options name; `group`: replay this group only.

    Raises InputError as `audit_topic`, or if no broker answers.
    """
    # A coordinator writes only offset commits in transactions. Without them a hanging transaction stops no run.
    isolation = READ_COMMITTED if options.offset_commits else READ_UNCOMMITTED
    given, source, config = options.brokers, options.sources[0], options.kafka_config
    with nullcontext(given) if given else closing(Brokers.of(open_topic(source, config))) as brokers:
        live = live_log(engine, brokers, isolation, options.partition_of)
        return audit_topic(engine, live, options, progress, group)


def live_log(engine: Engine, brokers: Brokers, isolation: str, partition_of: str | None = None) -> LiveLog:
    """Return a topic as an engine reads it.

    `isolation`: of Spark, which sees no markers; the other engine reads everything, with the markers. `partition_of`:
    a group whose partition is enough.
    """
    if engine.name == EMBEDDED:
        return FetchedTopic(brokers, READ_UNCOMMITTED, partition_of, cast("EmbeddedEngine", engine))
    from kip848_records.sources.topic.spark_topic import SparkTopic  # noqa: PLC0415 - the other engine needs no PySpark

    return SparkTopic(brokers, isolation, partition_of, cast("SparkEngine", engine))


def audit_topic(
    engine: Engine, live: LiveLog, options: AuditOptions, progress: Progress, group: str | None = None
) -> Audit:
    """Append to the log what is new in a live topic since the run before, and rebuild the cluster's tables.

    `group`: replay this group only, into tables that no other run reads.

    Raises InputError where nothing comes though it must, and where the runs before were of another kind.
    """
    with alone(engine, options, progress) as (log, is_resumed):
        before = log.knowledge()
        if before.is_copy:
            raise TablesError(
                f"the tables of cluster {options.cluster!r} in {options.out} hold a copy of the log",
                "pass another --cluster or --out for a live topic",
            )
        _check_same_options(before, options)
        progress.phase("asking", f"{live.name} where it ends")
        # Asked before the log is read: a later commit may be of a message that was not there yet.
        topic_ends = with_earlier(options.end_offsets or _asked_ends(log, live, options), before.runs)
        ends = live.ends()
        check_captured_by(options.captured_ms, ends.at_ms)
        if replaced := replaced_partitions(log, before, live, ends):
            before = _archive(log, before, replaced, progress)
        counted = len(ends.offsets) if ends.only_one_of is None else f"1 of {ends.only_one_of}"
        progress.phase("reading", f"{live.name}, {counted} partitions")
        following = TopicRun.following(log, before, live, ends, replace(options, end_offsets=topic_ends))
        check_topic_is_log(following)
        run = read_new_records(following)
        counts = count_records(log.ask, "log.run = :run AND NOT log.is_inferred", run=following.number)
        records = {**counts.by_type, **run.offset_commits}
        progress.advance(sum(records.values()))
        facts = rebuild(log, run.knowledge, progress, group=group)
        count = quarantined(log, run.reads) if run.reads else 0
    return Audit(
        options=options,
        run=following.number,
        dialect=facts.inputs.dialect,
        captured_at=known_time(facts.inputs.captured_at),
        copies=1,
        records=records,
        aborted=0,
        quarantined=count,
        reads=run.reads,
        skipped=run.skipped,
        resumed=is_resumed,
    )


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


def _asked_ends(log: LogTable, live: LiveLog, options: AuditOptions) -> tuple[EndOffset, ...]:
    """Return where the partitions end that had an owner when the run before ended; none without such a run."""
    if not options.offset_commits or not log.is_there(COMMIT_PROGRESS.name):
        return ()
    owned = log.ask(_OWNED, COMMIT_PROGRESS.name)
    ends = live.end_offsets([(row.topic, row.partition) for row in owned]) if owned else []
    return tuple(EndOffset(*each) for each in ends)


def _check_same_options(before: Knowledge, options: AuditOptions) -> None:
    """Raise InputError where a run would decode otherwise than those before it: one table would hold two kinds."""
    if not before.runs:
        return
    last = before.runs[-1]
    if options.dialect not in {AUTO, last.dialect} or options.offset_commits != last.offset_commits:
        how = f"--dialect {last.dialect}, {'with' if last.offset_commits else 'without'} --offset-commits"
        raise TablesError(f"earlier runs had {how}", "use the same options, or pass another --cluster or --out")
