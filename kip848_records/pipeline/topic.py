"""One run over a live topic: the records that it reads, and the facts about the log since the previous run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kip848_records import __version__
from kip848_records.decode.dialects import choose_dialect
from kip848_records.engines.engine import union_of
from kip848_records.errors import InputError
from kip848_records.log.continuity import continued, probed_partitions, with_repeated_keys
from kip848_records.log.deletions import (
    DEFAULT_DELETE_RETENTION_MS,
    DeletionSearch,
    inferred_tombstones,
    without_inferred,
)
from kip848_records.log.runs import PartitionRead, RunInfo, last_reads, one_partition_of
from kip848_records.pipeline.captured import check_captured
from kip848_records.pipeline.names import LIVE, TOPICS_FILE
from kip848_records.protocol.dialects import DISPUTED_TYPES
from kip848_records.protocol.messages import AUTO, KAFKA
from kip848_records.sources.predicates import IS_PENDING, NEWEST_MS, key_of_types
from kip848_records.sources.topic.live_log import TopicRows
from kip848_records.sources.transactions import with_outcomes
from kip848_records.tables.log import LOG

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kip848_records.engines.engine import Relation
    from kip848_records.log.table import Knowledge, LogTable
    from kip848_records.pipeline.options import AuditOptions
    from kip848_records.sources.topic.ends import Ends
    from kip848_records.sources.topic.live_log import LiveLog

_PENDING: Final = f"""
SELECT log.partition, min(log.offset) AS first FROM {{log}} AS log WHERE {IS_PENDING} GROUP BY log.partition
"""  # noqa: S608 - a constant
_MARKERS: Final = """
SELECT rows.* FROM {rows} AS rows
ANTI JOIN (SELECT log.partition, log.offset FROM {log} AS log WHERE log.control IS NOT NULL) AS known
    ON rows.partition = known.partition AND rows.offset = known.offset
WHERE rows.control IS NOT NULL
"""
_DELETED: Final = """
SELECT deleted.partition, count(*) AS keys, max(deleted.offset) AS last
FROM {deleted} AS deleted GROUP BY deleted.partition
"""
_WITH_DELETED: Final = (
    "SELECT rows.*, false AS is_inferred FROM {rows} AS rows UNION ALL SELECT * FROM {deleted} AS deleted"
)
_NEWEST: Final = f"SELECT rows.partition, {NEWEST_MS} AS ms FROM {{rows}} AS rows GROUP BY rows.partition"  # noqa: S608


@dataclass(frozen=True)
class TopicRun:
    """The input of a run: the facts of earlier runs, the topic, its present ends, the options, and the run's number.

    The facts are read once. So two runs at the same time have one number, and Delta takes only the first.
    """

    log: LogTable
    live: LiveLog
    ends: Ends
    options: AuditOptions
    knowledge: Knowledge
    number: int

    @classmethod
    def following(
        cls, log: LogTable, knowledge: Knowledge, live: LiveLog, ends: Ends, options: AuditOptions
    ) -> TopicRun:
        """Return the run after those of `knowledge`."""
        return cls(log, live, ends, options, knowledge, log.next_run(knowledge))

    @property
    def before(self) -> Mapping[int, PartitionRead]:
        """The last read of each partition."""
        return last_reads(self.knowledge.reads)

    @property
    def last_run(self) -> RunInfo | None:
        """The previous run."""
        return self.knowledge.runs[-1] if self.knowledge.runs else None

    def new_ranges(self) -> dict[int, tuple[int, int]]:
        """Return the new offsets of each partition: from the end of the previous run, else from the log's start.

        There are none if that run read behind an open transaction, and this one stops before it.
        """
        before = self.before
        starts = {
            partition: before[partition].until_offset if partition in before else start
            for partition, (start, _) in self.ends.offsets.items()
        }
        return {
            partition: (starts[partition], max(starts[partition], end))
            for partition, (_, end) in self.ends.offsets.items()
        }

    def filled_ranges(self) -> dict[int, tuple[int, int]]:
        """Return those of the new ranges that are not empty."""
        return {partition: (first, until) for partition, (first, until) in self.new_ranges().items() if first < until}


@dataclass(frozen=True)
class FinishedRun:
    """The result of a run.

    `reads`: of each partition. `offset_commits`: those that were only counted, by type. `skipped`: records of groups of
    Spark's readers. `knowledge`: the facts of all runs, including this one.
    """

    reads: Sequence[PartitionRead]
    offset_commits: Mapping[int | None, int]
    skipped: int
    knowledge: Knowledge


def check_topic_is_log(run: TopicRun) -> None:
    """Raise InputError for a topic other than `__consumer_offsets` at its first read.

    The check precedes the copy of rows: records of another topic are written into no table.
    """
    filled = run.filled_ranges()
    if filled and not run.before:
        with run.live.reading():
            run.live.check_is_log(filled)


def read_new_records(run: TopicRun) -> FinishedRun:
    """Read the new records of each partition, and append them to the log in one commit.

    Raises InputError if expected rows are missing, as Spark skips internal topics by default, or if the topic was not
    read at the user's time.
    """
    filled = run.filled_ranges()
    staged = TopicRows()
    if filled:
        with run.live.reading():
            staged = run.live.stage(filled, offset_commits=run.options.offset_commits, by_key=run.options.topic_content)
    return _commit(run, staged)


def _commit(run: TopicRun, staged: TopicRows) -> FinishedRun:
    """Append the staged rows, all that are new up to `ends`, to the log in one commit."""
    before, rows, ranges = run.before, staged.rows, run.new_ranges()
    # Later runs may find only transaction markers and compacted offsets.
    if not sum(staged.seen.values()) and not before and not run.options.allow_empty:
        raise InputError.no_rows(run.live.name, None)
    check_captured(run.options.captured_ms, staged.newest_ms)
    known = captured(run.ends, _asked_ms(run), before, _newest_ms(run, staged))
    fresh = [
        PartitionRead(
            run=run.number,
            partition=partition,
            from_offset=first,
            until_offset=until,
            note=_note(run.ends, partition, until, is_added=bool(before) and partition not in before),
            last_ms=staged.last_ms.get(partition),
            first_offset=first,
            range_from=first,
            is_gapless=first == until or partition in staged.gapless,
            captured_ms=known[partition],
            is_read_to_end=run.ends.is_end(partition, until),
        )
        for partition, (first, until) in ranges.items()
    ]
    # The probe is checked after the rows were read: a probe that exists now existed during the whole read.
    grown = [partition for partition, (first, until) in ranges.items() if first < until]
    probed = probed_partitions(run.log, run.live, before, grown, run.ends)
    reads = [continued(read, before.get(read.partition), is_probed=read.partition in probed) for read in fresh]
    reads = with_repeated_keys(run.log, rows, reads, staged.first_repeated)
    reads, rows = _with_undecided(run, reads), _with_markers(run, rows)
    reads, rows, has_inferred = _with_deletions(run, reads, rows)
    info = _run_info(run, staged, known.values())
    knowledge = run.log.append_run(rows, info, reads, has_inferred=has_inferred)
    return FinishedRun(reads, staged.offset_commits, staged.skipped, knowledge)


def _with_undecided(run: TopicRun, reads: list[PartitionRead]) -> list[PartitionRead]:
    """Note from where on transactions are undecided, if an earlier run read markers, and this one reads none."""
    before = run.before
    if run.live.shows_markers or not run.options.offset_commits or not before:
        return reads
    engine, commits = run.log.engine, run.log.offset_commits()
    known = {partition: read.undecided_from for partition, read in before.items() if read.undecided_from is not None}
    if run.log.count(LOG.name, IS_PENDING):
        resolved = engine.sql(_PENDING, log=with_outcomes(engine, commits))
        known = {row.partition: row.first for row in engine.collect(resolved)} | known
    return [replace(read, undecided_from=known.get(read.partition)) for read in reads]


def _with_markers(run: TopicRun, rows: Relation | None) -> Relation | None:
    """Add to `rows` the markers of the part that an engine without markers read since a transaction was open."""
    undecided = {
        partition: (read.undecided_from, read.until_offset)
        for partition, read in run.before.items()
        if read.undecided_from is not None and partition in run.ends.offsets
    }
    if not run.live.shows_markers or not undecided:
        return rows
    starts = {partition: start for partition, (start, _) in run.ends.offsets.items()}
    asked = {partition: (max(first, starts[partition]), until) for partition, (first, until) in undecided.items()}
    engine = run.log.engine
    with run.live.reading():
        found = engine.sql(_MARKERS, rows=run.live.read(asked), log=run.log.offset_commits())
        found = engine.materialize(found, "markers")
    return found if rows is None else union_of(engine, [rows, found])


def _with_deletions(
    run: TopicRun, reads: list[PartitionRead], rows: Relation | None
) -> tuple[list[PartitionRead], Relation | None, bool]:
    """Add a tombstone to `rows` for each key that is gone, and their number to the notes of `reads`.

    Compacted partitions are read again from their start if tombstones may have been removed meanwhile. The last value
    says whether the rows have a column `is_inferred`.
    """
    before, last = run.before, run.last_run
    compacted = [read for read in reads if read.range_from != before.get(read.partition, read).range_from]
    if not compacted or last is None:
        return reads, rows, False
    ends = run.live.ends()  # look them up again, because reading takes time
    retention_ms = ends.delete_retention_ms
    if ends.at_ms - last.read_ms <= (DEFAULT_DELETE_RETENTION_MS if retention_ms is None else retention_ms):
        return reads, rows, False
    again = [before[read.partition] for read in compacted]
    asked = {read.partition for read in again}
    engine = run.log.engine
    with run.live.reading():
        search = DeletionSearch(
            log=run.log,
            again=again,
            live_rows=run.live.read({partition: ends.offsets[partition] for partition in asked}),
            ends=ends,
            new_ends={partition: until for partition, (_, until) in run.new_ranges().items()},
        )
        new = run.live.read({}) if rows is None else rows
        deleted = engine.materialize(inferred_tombstones(search, new), "deleted")
    found = {row.partition: row for row in engine.collect(engine.sql(_DELETED, deleted=deleted))}
    reads = [without_inferred(read, found.get(read.partition)) if read.partition in asked else read for read in reads]
    return reads, deleted if rows is None else engine.sql(_WITH_DELETED, rows=rows, deleted=deleted), True


def _newest_ms(run: TopicRun, staged: TopicRows) -> dict[int, int | None]:
    """Return the time of the newest record that was read of each partition, as far as `_captured` needs it.

    The order of times is that of offsets, except for clocks that differ. The time of the last record is known; skipped
    offset commits count. If that may not be enough, a query over the rows finds it.
    """
    newest: dict[int, int | None] = {**staged.last_ms}
    is_cut = any(not run.ends.is_end(partition, end) for partition, (_, end) in run.ends.offsets.items())
    is_ahead = staged.newest_ms is not None and staged.newest_ms > _asked_ms(run)
    if staged.rows is not None and (is_cut or is_ahead):
        for row in run.log.engine.collect(run.log.engine.sql(_NEWEST, rows=staged.rows)):
            newest[row.partition] = _newest([row.ms, newest.get(row.partition)])
    return newest


def captured(
    ends: Ends, asked_ms: int, before: Mapping[int, PartitionRead], newest: Mapping[int, int | None]
) -> dict[int, int | None]:
    """Return for each partition up to when it is known, in ms since 1970; None if nothing of it is known.

    If it was read to its end, that is when the run asked for the end, or the time that the user named: `asked_ms`. Else
    it is the time of its last record that was read, or what the previous run knew. It never precedes the partition's
    newest record, because the clocks of this machine and of the brokers may differ.
    """
    known = {partition: read.captured_ms for partition, read in before.items()}
    return {
        partition: _newest([asked_ms if ends.is_end(partition, end) else known.get(partition), newest.get(partition)])
        for partition, (_, end) in ends.offsets.items()
    }


def _asked_ms(run: TopicRun) -> int:
    return run.ends.at_ms if run.options.captured_ms is None else run.options.captured_ms


def _run_info(run: TopicRun, staged: TopicRows, captured_at: Iterable[int | None]) -> RunInfo:
    last, options = run.last_run, run.options
    known = {name for each in run.knowledge.runs for name in each.names}
    names = [(topic_id, name, TOPICS_FILE) for topic_id, name in (options.topics or {}).items()]
    names += [(topic_id, name, LIVE) for topic_id, name in run.ends.topic_names.items()]
    return RunInfo(
        run=run.number,
        is_copy=False,
        sources=(run.live.name,),
        version=__version__,
        dialect=_dialect(run, staged.rows),
        offset_commits=options.offset_commits,
        read_ms=run.ends.at_ms,
        captured_ms=_newest([_asked_ms(run), *captured_at]),
        topic_id=run.ends.topic_id,
        record_tables=options.record_tables,
        topic_content=options.topic_content,
        max_message_bytes=run.ends.max_message_bytes,
        kept_since_ms=last.kept_since_ms if last else None,
        names=tuple(name for name in names if name not in known),
        limits=options.limits,
        offsets_retention_ms=run.ends.offsets_retention_ms
        if options.offsets_retention_ms is None
        else options.offsets_retention_ms,
        end_offsets=options.end_offsets,
    )


def _note(ends: Ends, partition: int, until: int, *, is_added: bool) -> str | None:
    behind = ends.high_watermarks[partition] - until
    notes = ["added since the previous run"] if is_added else []
    notes += [] if ends.only_one_of is None else [one_partition_of(ends.only_one_of)]
    notes += [f"{behind:,} offsets after an open transaction are left for a later run"] if behind > 0 else []
    return "; ".join(notes) or None


def _dialect(run: TopicRun, rows: Relation | None) -> str:
    """Return the dialect of earlier runs, or the requested one, or the one that the first disputed records show."""
    asked, last = run.options.dialect, run.last_run
    if last and (asked != AUTO or run.log.count(LOG.name, key_of_types(DISPUTED_TYPES))):
        return last.dialect
    if asked != AUTO:
        return asked
    return KAFKA.name if rows is None else choose_dialect(run.log.engine, rows).name


def _newest(times: Iterable[int | None]) -> int | None:
    return max((ms for ms in times if ms is not None), default=None)
