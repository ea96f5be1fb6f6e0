"""From the log of a cluster to its tables: each run replaces the cluster's rows in every table but `log`.

Each table changes in one commit, and `audit_runs` last: its row names the version of every table that belongs together.
An interrupted run leaves tables that the next run makes anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.decode.records import records_of_table
from kip848_records.engines.rows import ArrowRows, CompletedRows, TableRows
from kip848_records.log.facts import LogFacts, log_facts
from kip848_records.log.retention import ended_before
from kip848_records.pipeline.across import storms_across
from kip848_records.pipeline.audit_runs import write_runs
from kip848_records.pipeline.commit_before import REFUSED_BY_SIMPLE_GROUPS, with_commit_before
from kip848_records.pipeline.commits import Commits
from kip848_records.pipeline.comparison import protocol_comparison
from kip848_records.pipeline.completion import COMPLETIONS
from kip848_records.pipeline.consumption_troubles import troubles_of_commits
from kip848_records.pipeline.end_offsets import end_offset_rows
from kip848_records.pipeline.moved_groups import SeveralPartitions, groups_in_several_partitions, troubles_of_moves
from kip848_records.pipeline.names import topic_names
from kip848_records.pipeline.partition_contents import partition_contents, topic_contents
from kip848_records.protocol.messages import DIALECTS
from kip848_records.replay.decode.grouped_rows import COMMIT_BEFORE, GROUP, LOG_SCHEMA
from kip848_records.replay.worker import NAMING_TYPES, names_of_topics, replay_batches
from kip848_records.specs.record_tables import RECORD_TABLES
from kip848_records.specs.tables import (
    OF_COMMITS,
    PARTITION_CONTENT,
    PROTOCOL_COMPARISON,
    REPLAYED,
    TOPIC_CONTENT,
)
from kip848_records.tables.location import is_schema, location_arguments
from kip848_records.tables.log import LOG
from kip848_records.tables.registry import TABLES
from kip848_records.times import known_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    from kip848_records.engines.engine import Engine, Relation, Rows, TableWork
    from kip848_records.log.runs import RunInfo
    from kip848_records.log.table import Knowledge, LogTable
    from kip848_records.pipeline.progress import Progress
    from kip848_records.replay.inputs import ReplayInputs


SLOW_REBUILD_S: Final = 15 * 60
"""A rebuild of a live topic's tables that takes longer advises retention.

Each run replays the whole log, so the time grows with it. A run an hour is the most that is usual: a quarter of it is
no trouble yet, and the log can still double before runs overlap.
"""


def rebuild(
    log: LogTable, knowledge: Knowledge, progress: Progress, facts: LogFacts | None = None, group: str | None = None
) -> LogFacts:
    """Replace the cluster's rows in every table by what the log says; return what is known of the log.

    `facts` are those of the log if the caller has them. `group`: replay this group only.
    """
    facts = facts or log_facts(log, knowledge)
    if facts.dialect_note is not None:
        progress.note(facts.dialect_note)
    start = monotonic()
    progress.phase("replaying", f"{facts.counts.of_groups:,} records")
    run = _Rebuild.of(log, knowledge, facts, group)
    replayed = run.replay()
    progress.advance(facts.counts.of_groups)
    tables = run.tables(replayed)
    progress.phase("writing tables")
    log.engine.for_each(lambda item: _replace(log, *item), tables.items())
    # It reads other tables, so they are written before.
    _replace(log, PROTOCOL_COMPARISON.name, run.comparison() if tables["group_migration"] is not None else None)
    log.engine.for_each(lambda item: log.replace(TABLES[item[0]], item[1]), run.record_tables())
    write_runs(log, knowledge, run.facts, has_topic_content=tables[TOPIC_CONTENT.name] is not None)
    _advise_retention(log, run.last, facts, monotonic() - start, progress)
    return run.facts


@dataclass(frozen=True)
class _Rebuild:
    """The input of a rebuild. `moved`: groups in several partitions. `group`: the one to replay; None: all."""

    log: LogTable
    knowledge: Knowledge
    facts: LogFacts
    moved: SeveralPartitions
    group: str | None

    @classmethod
    def of(cls, log: LogTable, knowledge: Knowledge, facts: LogFacts, group: str | None) -> Self:
        """Find the groups that have moved to another partition: the replay needs to know them."""
        rows = [log.group_records(), *([log.offset_commits()] if facts.inputs.offset_commits else [])]
        moved = groups_in_several_partitions(log.engine, [facts.replayable(log.engine, each) for each in rows])
        return cls(log, knowledge, replace(facts, inputs=replace(facts.inputs, moves=moved.moves)), moved, group)

    @property
    def last(self) -> RunInfo:
        """The last run."""
        return self.knowledge.runs[-1]

    def replay(self) -> dict[str, Rows]:
        """Replay the records of groups, and return the rows of the replay by table."""
        engine, facts = self.log.engine, self.facts
        records, columns = facts.replayable(engine, self.log.group_records()), [*LOG_SCHEMA.names]
        if self.last.offset_commits and not REFUSED_BY_SIMPLE_GROUPS.isdisjoint(facts.counts.by_type):
            records = with_commit_before(engine, records, facts.replayable(engine, self.log.offset_commits()))
            columns.append(COMMIT_BEFORE)
        asked = records if self.group is None else _of_group(engine, records, self.group)
        replayed = _replayed(engine, asked, columns, partial(replay_batches, facts.inputs))
        return replayed if self.group is None else replayed | _names_of_topics(engine, records, facts)

    def tables(self, replayed: Mapping[str, Rows]) -> dict[str, Rows | None]:
        """Return the rows of every table that is no query over others, and of no record type; None: no rows."""
        commits = Commits.of(self.log, self.facts) if self._has_commits() else None
        of_commits = {} if commits is None else commits.rows | commits.simple_groups(replayed, self.group)
        topics = self._topics(replayed, of_commits)
        found = {} if commits is None else commits.tables(replayed, topics) | _end_offsets(self.last)
        more = of_commits | self._diagnosis(commits, replayed, of_commits, found)
        complete = partial(_table_rows, topics, self.last.kept_since_ms)
        return {
            **{name: complete(name, replayed.get(name), more.get(name)) for name in REPLAYED},
            **dict.fromkeys(OF_COMMITS),
            **{name: complete(name, rows, None) for name, rows in found.items()},
            "topic_name": ArrowRows(topics) if topics.num_rows else None,
            "partition_history": _partition_history(self.facts),
            **_contents(self.log, self.facts, self.knowledge),
        }

    def comparison(self) -> Rows:
        """Return the rows of `protocol_comparison`, from those of other tables."""
        kept_since_ms, has_commits = self.last.kept_since_ms, self.last.offset_commits
        return ArrowRows(
            protocol_comparison(self.log.engine.ask, self.log.cluster, kept_since_ms, offset_commits=has_commits)
        )

    def record_tables(self) -> Sequence[tuple[str, Relation | None]]:
        """Return the rows of each record type's table that is wanted, or that is there and is to lose its rows."""
        log, inputs = self.log, self.facts.inputs
        if not self.last.record_tables:
            return [(name, None) for name in RECORD_TABLES if log.is_there(name)]
        known = DIALECTS[inputs.dialect].records
        there = {record.table for record in known if self.facts.counts.by_type.get(record.key_type)}
        records = log.records()
        return [
            (name, records_of_table(log.engine, records, name, inputs.dialect) if name in there else None)
            for name in RECORD_TABLES
        ]

    def _has_commits(self) -> bool:
        """Return whether offset commits add rows: a group that the log does not have needs none of other groups."""
        return self.last.offset_commits and (self.group is None or _has_group(self.log, self.group))

    def _topics(self, *found: Mapping[str, Rows]) -> pa.Table:
        """Return the names of topics, from records and from outside of them."""
        given = (name for run in self.knowledge.runs for name in run.names)
        named = (rows["topic_name"] for rows in found if "topic_name" in rows)
        return topic_names(given, chain.from_iterable(rows.batches() for rows in named))

    def _diagnosis(
        self,
        commits: Commits | None,
        replayed: Mapping[str, Rows],
        of_commits: Mapping[str, Rows],
        found: Mapping[str, Rows],
    ) -> dict[str, Rows]:
        """Return what the replay of one group cannot find, by table. `found`: the tables that only commits fill."""
        engine, inputs = self.log.engine, self.facts.inputs
        parts = [troubles_of_moves(engine, self.moved, inputs, found.get("commit_progress"))]
        if (outlines := replayed.get("group_outline")) is not None:
            parts.append(storms_across(outlines, inputs))
        if commits is not None:
            parts.append(troubles_of_commits(engine, inputs, commits.checked, replayed, of_commits, found))
        troubles = pa.concat_tables(parts)
        return {"diagnosis": ArrowRows(troubles)} if troubles.num_rows else {}


def _end_offsets(last: RunInfo) -> dict[str, Rows]:
    """Return where topics ended, by table."""
    return {"end_offset": ArrowRows(end_offset_rows(last.end_offsets))} if last.end_offsets else {}


def _advise_retention(log: LogTable, last: RunInfo, facts: LogFacts, seconds: float, progress: Progress) -> None:
    """Name the command that shortens the log of a live topic if its rebuild was slow; not where that just ran."""
    if seconds <= SLOW_REBUILD_S or last.is_copy or last.is_archived or last.is_pruning:
        return
    scratch = " --scratch DIR" if is_schema(log.out) else ""
    records, minutes = f"{facts.counts.records:,} records of the log", f"{seconds / 60:,.0f} minutes"
    progress.note(
        f"replaying {records} and writing the tables took {minutes}; "
        f"to keep less history, run kip848 maintain {location_arguments(log.out)}{scratch} --keep 90d"
    )


def _table_rows(
    topics: pa.Table, kept_since_ms: int | None, name: str, replayed: Rows | None, more: Rows | None
) -> Rows | None:
    """Return the rows of a table but what had ended before the time from which on the log is kept; None: no rows."""
    if replayed is not None and name in COMPLETIONS:
        replayed = CompletedRows(replayed, partial(COMPLETIONS[name], topics))
    parts = [rows for rows in (replayed, more) if rows is not None]
    unless = None if kept_since_ms is None else ended_before(name, kept_since_ms)
    return TableRows(name, parts, unless) if parts else None


def _replayed(engine: Engine, records: Relation, columns: Iterable[str], work: TableWork) -> dict[str, Rows]:
    """Return what a function finds in these columns of the records of each group, by table."""
    listed = ", ".join(f"log.{name}" for name in columns)
    rows = engine.sql(f"SELECT {listed} FROM {{records}} AS log", records=records)  # noqa: S608 - constants
    return engine.replay(work, rows, key=GROUP, order=("offset",))


def _of_group(engine: Engine, records: Relation, group: str) -> Relation:
    """Return the records of one group, and those whose group is unknown."""
    wanted = engine.relation(pa.table({"group_id": [group]}))
    return engine.sql(
        "SELECT log.* FROM {records} AS log LEFT JOIN {wanted} AS wanted ON log.group_id = wanted.group_id "
        "WHERE log.group_id IS NULL OR wanted.group_id IS NOT NULL",
        records=records,
        wanted=wanted,
    )


def _has_group(log: LogTable, group: str) -> bool:
    return bool(log.ask("SELECT 1 AS found FROM log WHERE log.group_id = :group LIMIT 1", group=group))


def _names_of_topics(engine: Engine, records: Relation, facts: LogFacts) -> dict[str, Rows]:
    """Return the names of topics in the records of all groups, by table: assignments of one group need them."""
    types = [each for each in NAMING_TYPES if facts.counts.by_type.get(each)]
    if not types:
        return {}
    text = f"SELECT * FROM {{records}} AS log WHERE log.key_type IN ({', '.join(map(str, types))})"  # noqa: S608 - numbers
    named = engine.sql(text, records=records)
    return _replayed(engine, named, LOG_SCHEMA.names, partial(names_of_topics, facts.inputs))


def _partition_history(facts: LogFacts) -> Rows | None:
    schema = TABLES["partition_history"].schema_without("cluster")
    rows = [each._asdict() | _known_until(facts.inputs, each.partition) for each in facts.copies]
    return ArrowRows(pa.Table.from_pylist(rows, schema)) if rows else None


def _contents(log: LogTable, facts: LogFacts, knowledge: Knowledge) -> dict[str, Rows | None]:
    """Return what the topic holds, by table; None for a live topic that Spark read, or that was read more than once.

    Those runs saw only what was new, not what the cleaner has made of the rest since then.
    """
    found: dict[str, Rows | None] = {PARTITION_CONTENT.name: None, TOPIC_CONTENT.name: None}
    if not knowledge.is_copy:
        is_one_read = len({read.run for read in knowledge.reads}) <= 1
        if not is_one_read or not log.count(LOG.name, "file IS NOT NULL"):
            return found
    contents = partition_contents(log.ask, facts.inputs)
    found[PARTITION_CONTENT.name] = ArrowRows(contents)
    if knowledge.runs[-1].topic_content:
        by_name = topic_contents(log.engine, log.covered(), contents)
        found[TOPIC_CONTENT.name] = log.engine.materialize(by_name, "topic-contents")
    return found


def _known_until(inputs: ReplayInputs, partition: int) -> dict[str, object]:
    """Return a partition's end, up to when it is known, and whether it was read to its end, as columns of tables."""
    covered = inputs.partitions.get(partition)
    return {
        "last_at": known_time(inputs.newest.get(partition)),
        "captured_at": known_time(inputs.captured_at_of(partition)),
        "is_read_to_end": None if covered is None else covered.is_read_to_end,
    }


def _replace(log: LogTable, name: str, rows: Rows | None) -> None:
    spec = TABLES[name]
    # A table that every audit writes is there also without rows: a query of it then says that there are none.
    if rows is None and not log.is_there(name):
        log.engine.tables.create(spec)
    elif rows is not None or log.count(name):  # no commit for a table that had no rows and gets none
        log.replace(spec, rows)
