"""The rows of `audit_runs`, which a run writes last: they name the versions of all tables that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from kip848_records import __version__
from kip848_records.engines.rows import ArrowRows
from kip848_records.pipeline.run_totals import NOT_COUNTED, run_totals
from kip848_records.protocol.columns import OFFSET_COMMIT_TABLE
from kip848_records.specs.record_tables import RECORD_TABLES
from kip848_records.specs.tables import AUDIT_RUNS, DERIVED
from kip848_records.times import known_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.log.facts import LogFacts
    from kip848_records.log.runs import PartitionRead, RunInfo
    from kip848_records.log.table import Knowledge, LogTable


def write_runs(log: LogTable, knowledge: Knowledge, facts: LogFacts, *, has_topic_content: bool) -> None:
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
    versions = {name: version for name in written if (version := log.engine.tables.version(name)) is not None}
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
    log.replace(AUDIT_RUNS, ArrowRows(pa.Table.from_pylist([*known, *new], schema)))


def _run_row(
    run: RunInfo, reads: list[PartitionRead], facts: LogFacts, versions: Mapping[str, int] | None
) -> dict[str, object]:
    captured_ms = facts.inputs.captured_at if versions is not None else run.captured_ms
    return {
        "run": run.run,
        "captured_at": known_time(captured_ms),
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
            | {"captured_at": known_time(read.captured_ms)}
            for read in reads
        ]
        or None,
        "table_versions": versions and [*versions.items()],
    }
