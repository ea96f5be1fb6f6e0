"""Retention of the tables: removes old rows, compacts files, and deletes files that no table uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.log.retention import ended_before, prunable, prune
from kip848_records.log.table import LogTable, unfinished_clusters
from kip848_records.pipeline.around import rebuild_clusters
from kip848_records.pipeline.rebuild import rebuild
from kip848_records.specs.tables import AUDIT_RUNS, DERIVED
from kip848_records.tables.errors import TablesError
from kip848_records.tables.location import work_folder
from kip848_records.tables.registry import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from kip848_records.engines.engine import Engine
    from kip848_records.pipeline.progress import Progress


DAYS_OF_FILES = 7
"""How long a reader may use a version that it opened: Delta's own default for VACUUM."""


@dataclass(frozen=True)
class Retention:
    """The planned retention of one cluster's rows.

    `since_ms`: rows that ended before are removed. `rows`: the number of removed rows by table; of all tables, if the
    cluster's partitions were archived before that time. `is_copy`: each audit of a copy replaces its tables, so nothing
    is removed.
    """

    cluster: str
    since_ms: int | None
    rows: Mapping[str, int]
    is_copy: bool = False
    is_archived: bool = False


def plan(engine: Engine, keep: timedelta) -> list[Retention]:
    """Return the effect of a retention of `keep` on each cluster of the tables, without applying it.

    The period ends at the last capture of a cluster, so a pause of audits removes nothing. Raises InputError if there
    are no tables, or those of a run that did not finish.
    """
    if not engine.tables.is_there(AUDIT_RUNS.name):
        raise TablesError.not_audited(engine.out, AUDIT_RUNS.name)
    engine.prepare(migrate=False)
    _check_finished(engine)
    found = engine.ask("SELECT DISTINCT cluster FROM audit_runs ORDER BY cluster", AUDIT_RUNS.name)
    logs = {row.cluster: LogTable(engine, row.cluster) for row in found}
    ends = {cluster: _known_until(log) for cluster, log in logs.items()}
    newest = max((ms for ms in ends.values() if ms is not None), default=None)
    keep_ms = round(keep.total_seconds() * 1000)
    return [_planned(log, ends[cluster], newest, keep_ms) for cluster, log in logs.items()]


def maintain(engine: Engine, plans: list[Retention], progress: Progress, scratch: str | None = None) -> None:
    """Apply the plan, then OPTIMIZE and VACUUM every table.

    After an interruption the next audit rebuilds the tables, and the next `maintain` continues. Raises InputError if an
    audit was interrupted after the plan was made: then nothing has changed.
    """
    with engine.alone(work_folder(engine.out, scratch)):
        outdated = {*engine.prepare()}
        _check_finished(engine)
        for each in plans:
            if any(each.rows.values()):
                progress.phase("removing", f"old rows of cluster {each.cluster!r}")
                _remove(LogTable(engine, each.cluster), each, progress)
                outdated.discard(each.cluster)
        # The tables of an older version were emptied: each is made anew of its log.
        rebuild_clusters(engine, sorted(outdated), progress)
        progress.phase("optimizing", "files of all tables")
        tables = engine.tables
        engine.for_each(lambda name: tables.optimize(name, DAYS_OF_FILES), filter(tables.is_there, TABLES))


def _known_until(log: LogTable) -> int | None:
    """Return the end of a topic's known time: at most the time of its read, with any record times; None for a copy."""
    knowledge = log.knowledge()
    if not knowledge.runs or knowledge.is_copy or knowledge.runs[-1].captured_ms is None:
        return None
    return min(knowledge.runs[-1].captured_ms, knowledge.runs[-1].read_ms)


def _check_finished(engine: Engine) -> None:
    for cluster in sorted(unfinished_clusters(engine)):
        raise TablesError.unfinished_run(engine.out, cluster)


def _planned(log: LogTable, end: int | None, newest: int | None, keep_ms: int) -> Retention:
    knowledge = log.knowledge()
    if not knowledge.runs or knowledge.is_copy:
        return Retention(log.cluster, None, {}, is_copy=knowledge.is_copy)
    is_archived = knowledge.runs[-1].is_archived
    until = newest if is_archived else end
    if until is None:
        return Retention(log.cluster, None, {}, is_archived=is_archived)
    since_ms = until - keep_ms
    if is_archived:
        names = [name for name in TABLES if log.is_there(name)] if end is not None and end < since_ms else []
        rows = {name: log.count(name) for name in names}
    else:
        gone, _, _ = prunable(log, knowledge, since_ms)
        count = log.engine.sql("SELECT count(*) AS rows FROM {gone}", gone=gone)
        rows = {"log": log.engine.collect(count)[0].rows}
        for name in DERIVED:
            if (ended := ended_before(name, since_ms)) is not None and log.is_there(name):
                rows[name] = log.count(name, ended)
    return Retention(
        log.cluster, since_ms, {name: count for name, count in rows.items() if count}, is_archived=is_archived
    )


def _remove(log: LogTable, planned: Retention, progress: Progress) -> None:
    if planned.is_archived:
        # The runs identify a cluster, so their rows are removed last.
        for name in [*(name for name in TABLES if name != AUDIT_RUNS.name), AUDIT_RUNS.name]:
            log.replace(TABLES[name], None)
    elif planned.since_ms is not None:
        gone, info, reads = prunable(log, log.knowledge(), planned.since_ms)
        knowledge = prune(log, log.engine.materialize(gone, "gone"), info, reads)
        rebuild(log, knowledge, progress)
