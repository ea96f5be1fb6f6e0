"""The facts about a log that a rebuild needs besides its records: dialect, capture time, coverage, counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kip848_records.decode.dialects import choose_dialect
from kip848_records.log.bases import CopyCoverage
from kip848_records.log.coverage import LogCoverage, read_coverage, read_losses
from kip848_records.log.losses import records_of_other_copies
from kip848_records.log.runs import coverage_of_reads, first_repeated_keys, last_reads
from kip848_records.protocol.messages import AUTO, OFFSET_COMMIT_TYPES
from kip848_records.queries.texts import rendered
from kip848_records.replay.inputs import ReplayInputs
from kip848_records.sources.predicates import IS_PENDING, IS_RECORD, NEWEST_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.log.coverage import Ask
    from kip848_records.log.table import Knowledge, LogTable

_COUNTS: Final = f"""
SELECT log.key_type,
    count_if({IS_RECORD}) AS records,
    flatten(collect_list(log.file.skipped)) AS skipped,
    min(log.error) AS first_error,
    count_if({IS_PENDING}) AS pending,
    {NEWEST_MS} AS newest_ms
FROM log
WHERE log.cluster = :cluster AND {{which}}
GROUP BY log.key_type
"""  # noqa: S608 - constants
_NEWEST: Final = f"""
SELECT log.partition, {NEWEST_MS} AS newest_ms FROM log
WHERE log.cluster = :cluster AND log.partition IS NOT NULL
GROUP BY log.partition
"""  # noqa: S608 - constants


@dataclass(frozen=True)
class RecordCounts:
    """The number of records in a log, by kind.

    `by_type`: readable records by key type (None: without a key type), including the skipped offset commits of each
    copy. `aborted`: records of aborted transactions, counted in each copy. `pending`: those of transactions that are
    open at the end of their file. `first_error`: the reason why one of the unreadable rows could not be read.
    `newest_ms`: the highest timestamp, in ms since 1970.
    """

    by_type: Mapping[int | None, int]
    aborted: int
    pending: int
    first_error: str | None
    newest_ms: int | None

    @property
    def records(self) -> int:
        """How many readable records there are."""
        return sum(self.by_type.values())

    @property
    def of_groups(self) -> int:
        """How many of them are not offset commits. The replay reads these."""
        return sum(count for key_type, count in self.by_type.items() if key_type not in OFFSET_COMMIT_TYPES)


@dataclass(frozen=True)
class LogFacts:
    """The facts about a log.

    `copies`: what each copy holds of each partition, the rows of the table `partition_history`. `stale`:
    ``partition, offset`` of records that do not count for states and history; None if there are none.
    `held_elsewhere`: ``partition, offset`` of records that one copy could not read and another copy holds; None if
    there are none. `dialect_note`: why the dialect was chosen; None if the user did. `undecided`: by partition, the
    offset from which on an open transaction may have ended unseen (`log.runs.PartitionRead.undecided_from`).
    """

    inputs: ReplayInputs
    counts: RecordCounts
    copies: Sequence[CopyCoverage]
    stale: Relation | None
    is_archived: bool
    dialect_note: str | None = None
    held_elsewhere: Relation | None = None
    undecided: Mapping[int, int] = field(default_factory=dict)

    def replayable(self, engine: Engine, rows: Relation) -> Relation:
        """Return the rows that a replay takes.

        Records whose keys may have been deleted unseen (`log.coverage.LogCoverage`) are dropped. A row in error at an
        offset of which another copy holds the record loses its group: the replay quarantines it, and no record of the
        group counts as lost.
        """
        if self.stale is not None:
            rows = engine.sql(rendered("log/sql/without_places.sql"), log=rows, places=self.stale)
        if self.held_elsewhere is None:
            return rows
        text = rendered("log/sql/without_groups.sql", columns=engine.types(rows))
        return engine.sql(text, log=rows, held=self.held_elsewhere)


def log_facts(log: LogTable, knowledge: Knowledge) -> LogFacts:
    """Return what is known of a log that has at least one run."""
    info = knowledge.runs[-1]
    if info.is_copy:
        coverage = read_coverage(log.engine, log.ask, log.covered())
    else:
        coverage = _coverage_of_topic(knowledge, read_losses(log.ask, first_repeated_keys(knowledge.reads)))
    counts = count_records(log.ask)
    has_errors = info.is_copy and counts.first_error is not None
    choice = choose_dialect(log.engine, log.group_records()) if info.dialect == AUTO else None
    dialect = info.dialect if choice is None else choice.name
    return LogFacts(
        inputs=ReplayInputs(
            dialect,
            _captured_ms(info.captured_ms, counts.newest_ms),
            coverage.partitions,
            offset_commits=info.offset_commits,
            newest={row.partition: row.newest_ms for row in log.ask(_NEWEST) if row.newest_ms is not None},
            limits=info.limits,
            offsets_retention_ms=info.offsets_retention_ms,
        ),
        counts=counts,
        copies=coverage.copies,
        stale=coverage.stale,
        is_archived=info.is_archived,
        dialect_note=None if choice is None else str(choice),
        held_elsewhere=records_of_other_copies(log.engine, log.records()) if has_errors else None,
        undecided={
            partition: read.undecided_from
            for partition, read in last_reads(knowledge.reads).items()
            if read.undecided_from is not None
        },
    )


def _captured_ms(known_ms: int | None, newest_ms: int | None) -> int | None:
    """Return when the log was captured: not before its newest record, whatever a clock or a user says."""
    return max((ms for ms in (known_ms, newest_ms) if ms is not None), default=None)


def _coverage_of_topic(knowledge: Knowledge, losses: Mapping[int, Sequence[int]]) -> LogCoverage:
    source = knowledge.runs[-1].sources[0]
    partitions = coverage_of_reads(knowledge.reads, losses)
    copies = [
        CopyCoverage(
            partition=read.partition,
            copy=source,
            first_offset=read.first_offset,
            last_offset=read.until_offset - 1,
            complete_from=next(
                (first for first, until in partitions[read.partition].complete_ranges if until == read.until_offset),
                read.until_offset,
            ),
            log_start_missing=read.log_start_missing,
            stale_from=0,
            is_base=True,
            first_lost_offset=partitions[read.partition].first_loss,
            last_lost_offset=partitions[read.partition].last_loss,
        )
        for read in last_reads(knowledge.reads).values()
    ]
    return LogCoverage(copies, partitions, stale=None)


def count_records(ask: Ask, which: str = "true", **parameters: int) -> RecordCounts:
    """Return what there is in the log, or in those of its rows for which a condition in SQL holds, in one query."""
    found = ask(_COUNTS.format(which=which), **parameters)
    by_type = Counter[int | None]({row.key_type: row.records for row in found if row.records})
    aborted = 0
    for each in (each for row in found for each in row.skipped or ()):
        if each["transaction"] == "aborted":
            aborted += each["count"]
        else:
            by_type[each["key_type"]] += each["count"]
    return RecordCounts(
        by_type=by_type,
        aborted=aborted,
        pending=sum(row.pending for row in found),
        first_error=min((row.first_error for row in found if row.first_error is not None), default=None),
        newest_ms=max((row.newest_ms for row in found if row.newest_ms is not None), default=None),
    )
