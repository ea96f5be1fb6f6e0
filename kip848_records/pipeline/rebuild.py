"""From the log of a cluster to its tables: each run replaces the cluster's rows in every table but `log`.

Each table changes in one commit, and `audit_runs` last: its row names the version of every table that belongs together.
An interrupted run leaves tables that the next run makes anew.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records import __version__
from kip848_records.decode.records import records_of_table
from kip848_records.engines.rows import ArrowRows, CompletedRows, TableRows
from kip848_records.log.facts import LogFacts, log_facts
from kip848_records.log.retention import ended_before
from kip848_records.pipeline.across import storms_across
from kip848_records.pipeline.commits import Commits
from kip848_records.pipeline.comparison import protocol_comparison
from kip848_records.pipeline.consumption_troubles import troubles_of_commits
from kip848_records.pipeline.end_offsets import end_offset_rows
from kip848_records.pipeline.moved_groups import groups_in_several_partitions, troubles_of_moves
from kip848_records.pipeline.names import topic_names
from kip848_records.pipeline.partition_contents import partition_contents, topic_contents
from kip848_records.pipeline.run_totals import NOT_COUNTED, run_totals
from kip848_records.pipeline.simple_groups import REFUSED_BY_SIMPLE_GROUPS, with_commit_before
from kip848_records.protocol.columns import OFFSET_COMMIT_TABLE
from kip848_records.protocol.messages import DIALECTS
from kip848_records.replay.decode.grouped_rows import COMMIT_BEFORE, GROUP, LOG_SCHEMA
from kip848_records.replay.worker import NAMING_TYPES, names_of_topics, replay_batches
from kip848_records.specs.record_tables import RECORD_TABLES
from kip848_records.specs.tables import (
    AUDIT_RUNS,
    DERIVED,
    OF_COMMITS,
    PARTITION_CONTENT,
    PROTOCOL_COMPARISON,
    REPLAYED,
    TOPIC_CONTENT,
)
from kip848_records.tables.location import is_schema, place_arguments
from kip848_records.tables.log import LOG
from kip848_records.tables.registry import TABLES
from kip848_records.times import utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from kip848_records.engines.engine import Engine, Relation, Rows
    from kip848_records.log.runs import PartitionRead, RunInfo
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
    engine = log.engine
    facts = facts or log_facts(log, knowledge)
    if facts.dialect_note is not None:
        progress.note(facts.dialect_note)
    start = monotonic()
    progress.phase("replaying", f"{facts.counts.of_groups:,} records")
    last = knowledge.runs[-1]
    records = facts.replayable(engine, log.group_records())
    written = [records, *([facts.replayable(engine, log.offset_commits())] if last.offset_commits else [])]
    several = groups_in_several_partitions(engine, written)
    facts = replace(facts, inputs=replace(facts.inputs, moves=several.moves))
    has_commits = last.offset_commits and not REFUSED_BY_SIMPLE_GROUPS.isdisjoint(facts.counts.by_type)
    if has_commits:
        records = with_commit_before(engine, records, facts.replayable(engine, log.offset_commits()))
    of_group = records if group is None else _of_group(engine, records, group)
    replayed = _replayed(engine, of_group, facts.inputs, has_commits=has_commits)
    if group is not None:
        replayed |= _names_of_topics(engine, records, facts)
    progress.advance(facts.counts.of_groups)
    # A question about a group that the log does not have is answered without the commits of all others.
    commits = Commits.of(log, facts) if last.offset_commits and (group is None or _has_group(log, group)) else None
    of_commits = {} if commits is None else commits.rows | commits.simple_groups(replayed, group)
    given = (name for run in knowledge.runs for name in run.names)
    named = (rows["topic_name"] for rows in (replayed, of_commits) if "topic_name" in rows)
    topics = topic_names(given, chain.from_iterable(rows.batches() for rows in named))
    found = {} if commits is None else commits.tables(replayed, topics) | _end_offsets(last)
    moves = troubles_of_moves(engine, several, facts.inputs, found.get("commit_progress"))
    troubles = pa.concat_tables([moves, *_diagnosis_of_many(engine, facts, commits, replayed, of_commits, found)])
    more = of_commits | ({"diagnosis": ArrowRows(troubles)} if troubles.num_rows else {})
    tables: dict[str, Rows | None] = {
        name: _table_rows(name, replayed.get(name), more.get(name), topics, last.kept_since_ms) for name in REPLAYED
    }
    tables |= dict.fromkeys(OF_COMMITS)
    tables |= {name: _table_rows(name, rows, None, topics, last.kept_since_ms) for name, rows in found.items()}
    tables["topic_name"] = ArrowRows(topics) if topics.num_rows else None
    tables["partition_history"] = _partition_history(facts)
    contents = _contents(log, facts, knowledge)
    tables |= contents
    progress.phase("writing tables")
    engine.several(lambda item: _replace(log, *item), tables.items())
    # It reads other tables, so they are written before.
    has_migrations = tables["group_migration"] is not None
    compared = None
    if has_migrations:
        compared = ArrowRows(
            protocol_comparison(engine.ask, log.cluster, last.kept_since_ms, offset_commits=last.offset_commits)
        )
    _replace(log, PROTOCOL_COMPARISON.name, compared)
    engine.several(
        lambda item: log.replace(TABLES[item[0]], item[1]), _record_tables(log, facts, is_wanted=last.record_tables)
    )
    _write_runs(log, knowledge, facts, has_topic_content=contents[TOPIC_CONTENT.name] is not None)
    _advise_retention(log, last, facts, monotonic() - start, progress)
    return facts


def _diagnosis_of_many(
    engine: Engine, facts: LogFacts, commits: Commits | None, replayed: Mapping[str, Rows], *more: Mapping[str, Rows]
) -> Iterator[pa.Table]:
    """Yield what the replay of one group cannot find. `more`: rows that offset commits add, by table."""
    outlines = replayed.get("group_outline")
    if outlines is not None:
        yield storms_across(outlines, facts.inputs)
    if commits is not None:
        yield troubles_of_commits(engine, facts.inputs, commits.checked, replayed, *more)


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
        f"to keep less history, run kip848 maintain {place_arguments(log.out)}{scratch} --keep 90d"
    )


def _table_rows(
    name: str, replayed: Rows | None, more: Rows | None, topics: pa.Table, kept_since_ms: int | None
) -> Rows | None:
    """Return the rows of a table but what had ended before the time from which on the log is kept; None: no rows."""
    complete = TABLES[name].complete
    if replayed is not None and complete is not None:
        replayed = CompletedRows(replayed, partial(complete, topics))
    parts = [rows for rows in (replayed, more) if rows is not None]
    unless = None if kept_since_ms is None else ended_before(name, kept_since_ms)
    return TableRows(name, parts, unless) if parts else None


def _replayed(engine: Engine, records: Relation, inputs: ReplayInputs, *, has_commits: bool) -> dict[str, Rows]:
    """Replay the records of groups (`specs.log_columns.LOG_COLUMNS`), and return the rows of the replay by table."""
    columns = ", ".join(f"log.{name}" for name in (*LOG_SCHEMA.names, *([COMMIT_BEFORE] if has_commits else [])))
    rows = engine.sql(f"SELECT {columns} FROM {{records}} AS log", records=records)  # noqa: S608 - constants
    return engine.replay(partial(replay_batches, inputs), rows, key=GROUP, order=("offset",))


def _of_group(engine: Engine, records: Relation, group: str) -> Relation:
    """Return the records of one group, and those of which nobody knows the group."""
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
    columns, listed = ", ".join(f"log.{name}" for name in LOG_SCHEMA.names), ", ".join(map(str, types))
    text = f"SELECT {columns} FROM {{records}} AS log WHERE log.key_type IN ({listed})"  # noqa: S608 - constants
    named = engine.sql(text, records=records)
    return engine.replay(partial(names_of_topics, facts.inputs), named, key=GROUP, order=("offset",))


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
        "last_at": _time(inputs.newest.get(partition)),
        "captured_at": _time(inputs.captured_at_of(partition)),
        "is_read_to_end": None if covered is None else covered.is_read_to_end,
    }


def _record_tables(log: LogTable, facts: LogFacts, *, is_wanted: bool) -> Sequence[tuple[str, Relation | None]]:
    """Return the rows of each record type's table that is wanted, or that is there and is to lose its rows."""
    if not is_wanted:
        return [(name, None) for name in RECORD_TABLES if log.is_there(name)]
    there = {
        record.table for record in DIALECTS[facts.inputs.dialect].records if facts.counts.by_type.get(record.key_type)
    }
    records, dialect = log.records(), facts.inputs.dialect
    return [
        (name, records_of_table(log.engine, records, name, dialect) if name in there else None)
        for name in RECORD_TABLES
    ]


def _replace(log: LogTable, name: str, rows: Rows | None) -> None:
    spec = TABLES[name]
    # A table that every audit writes is there also without rows: a query of it then says that there are none.
    if rows is None and not log.is_there(name):
        log.engine.create(spec)
    elif rows is not None or log.count(name):  # no commit for a table that had no rows and gets none
        log.replace(spec, rows)


def _write_runs(log: LogTable, knowledge: Knowledge, facts: LogFacts, *, has_topic_content: bool) -> None:
    """Write a row for each run that has none yet. The last row alone names versions: earlier ones are gone."""
    last = knowledge.runs[-1]
    known, counted = [], NOT_COUNTED
    if log.is_there(AUDIT_RUNS.name):
        found = [row._asdict() for row in log.ask("SELECT * FROM audit_runs WHERE cluster = :cluster", AUDIT_RUNS.name)]
        known = [row for row in found if row["run"] != last.run]
        # A rebuild without a new run, as by a newer version, must not count again.
        counted = next(({name: row[name] for name in NOT_COUNTED} for row in found if row["run"] == last.run), counted)
    if counted["total_rebalances"] is None and not facts.is_archived:
        counted = run_totals(log, knowledge, facts, known)
    finished = {row["run"] for row in known}
    # A run names only the tables of record types that it wrote: others may be other clusters' alone.
    wrote = [name for name in RECORD_TABLES if name != OFFSET_COMMIT_TABLE or last.offset_commits]
    written = ("log", *DERIVED, *(wrote if last.record_tables else ()))
    versions = {name: version for name in written if (version := log.engine.version(name)) is not None}
    reads: dict[int, list[PartitionRead]] = {}
    for read in knowledge.reads:
        reads.setdefault(read.run, []).append(read)
    new = [
        _run_row(run, reads.get(run.run, []), facts, versions if run is last else None)
        | {"topic_content": has_topic_content if run is last else None}
        | dict(counted if run is last else NOT_COUNTED)
        for run in knowledge.runs
        if run.run not in finished
    ]
    schema = AUDIT_RUNS.schema_without("cluster")
    _replace(log, AUDIT_RUNS.name, ArrowRows(pa.Table.from_pylist([*known, *new], schema)))


def _run_row(
    run: RunInfo, reads: list[PartitionRead], facts: LogFacts, versions: Mapping[str, int] | None
) -> dict[str, object]:
    captured_ms = facts.inputs.captured_at if versions is not None else run.captured_ms
    return {
        "run": run.run,
        "captured_at": _time(captured_ms),
        "has_capture_time": run.captured_ms is not None,
        "sources": list(run.sources),
        "dialect": facts.inputs.dialect,
        "version": __version__,
        "offset_commits": run.offset_commits,
        "max_message_bytes": run.max_message_bytes,
        "is_copy": run.is_copy,
        "is_archived": facts.is_archived,
        "diagnosis_limits": [each._asdict() for each in run.limits] or None,
        "offsets_retention_ms": run.offsets_retention_ms,
        "partitions": [
            {
                name: getattr(read, name)
                for name in ("partition", "from_offset", "until_offset", "note", "is_read_to_end")
            }
            | {"captured_at": _time(read.captured_ms)}
            for read in reads
        ]
        or None,
        "table_versions": versions and [*versions.items()],
    }


def _time(millis: int | None) -> datetime | None:
    return None if millis is None else utc(millis)
