"""The table `log`: the rows of one cluster as read, and the facts of each run about them, in one commit each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kip848_records.log.runs import PartitionRead, RunInfo, facts
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.queries.texts import rendered
from kip848_records.sources.transactions import without_aborted
from kip848_records.specs.log_columns import LOG_COLUMNS
from kip848_records.specs.tables import AUDIT_RUNS
from kip848_records.tables.errors import TablesError
from kip848_records.tables.log import KNOWLEDGE, LOG, OFFSET_COMMIT, RECORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.engines.engine import Engine, Relation, Rows
    from kip848_records.queries.tables import Parameter, Row
    from kip848_records.specs.columns import TableSpec

_KNOWLEDGE: Final = f"""
SELECT run, partition, run_info, read FROM log
WHERE cluster = :cluster AND content = '{KNOWLEDGE}' AND file IS NULL
"""  # noqa: S608 - a constant
_COLUMNS: Final = ", ".join(f"log.{name}" for name in (*LOG_COLUMNS.names, "run", "is_inferred"))
_ROWS: Final = f"SELECT {_COLUMNS} FROM {{log}} AS log WHERE "  # noqa: S608 - constants


@dataclass(frozen=True)
class Knowledge:
    """The facts of all runs over a cluster's log, in the order of runs: about themselves, and about partitions.

    Empty if nothing was ever read.
    """

    runs: Sequence[RunInfo] = ()
    reads: Sequence[PartitionRead] = ()

    @property
    def is_copy(self) -> bool:
        """Whether the log is that of a copy; else it is a live topic's, or there is none."""
        return bool(self.runs) and self.runs[-1].is_copy


@dataclass(frozen=True)
class LogTable:
    """The log of one cluster, and the other tables of the cluster, at the location of an engine."""

    engine: Engine
    cluster: str

    @property
    def out(self) -> str:
        """The location of the tables."""
        return self.engine.out

    def read(self, table: str) -> Relation:
        """Return the cluster's rows of a table; none if it does not exist."""
        return self.engine.table(table, self.cluster)

    def is_there(self, table: str) -> bool:
        """Return whether a table exists, with rows of any cluster."""
        return self.engine.tables.is_there(table)

    def replace(self, spec: TableSpec, rows: Relation | Rows | None) -> None:
        """Replace the cluster's rows of a table in one commit; None: there are none."""
        self.engine.replace(spec, self.cluster, rows)

    def knowledge(self) -> Knowledge:
        """Return the facts of the runs."""
        if not self.is_there(LOG.name):
            return Knowledge()
        found = self.ask(_KNOWLEDGE)
        runs = [RunInfo.of(row.run, row.run_info) for row in found if row.run_info is not None]
        reads = [PartitionRead.of(row.run, row.partition, row.read) for row in found if row.read is not None]
        return Knowledge(
            sorted(runs, key=lambda run: run.run), sorted(reads, key=lambda read: (read.run, read.partition))
        )

    def ask(self, text: str, table: str = LOG.name, **parameters: Parameter) -> list[Row]:
        """Return the answer to SQL over one table, as named tuples; ``:cluster`` is this cluster."""
        return self.engine.ask(text, table, cluster=self.cluster, **parameters)

    def count(self, table: str, condition: str = "true") -> int:
        """Return how many rows the cluster has in a table for which a condition in SQL holds."""
        text = f"SELECT count(*) AS rows FROM {table} WHERE cluster = :cluster AND ({condition})"  # noqa: S608 - ours
        return int(self.ask(text, table)[0].rows)

    def records(self) -> Relation:
        """Return the rows of the log (`LOG_COLUMNS`) with ``run, is_inferred``, without those of files."""
        return self._rows(f"content <> '{KNOWLEDGE}'")

    def group_records(self) -> Relation:
        """Return the rows of `records` without offset commits."""
        return self._rows(f"content = '{RECORD}'")

    def offset_commits(self) -> Relation:
        """Return the rows of `records` with offset commits and transaction markers, and unreadable rows."""
        return self._rows(f"content = '{OFFSET_COMMIT}' OR error_code IS NOT NULL")

    def covered(self) -> Relation:
        """Return all rows of the log, including the coverage of files."""
        return self._rows("run_info IS NULL AND read IS NULL")

    def next_run(self, knowledge: Knowledge) -> int:
        """Return the number of the next run: no number is used twice, even if all rows were archived."""
        finished = _last_runs(self.engine, AUDIT_RUNS.name).get(self.cluster, 0)
        return max([finished, *(run.run for run in knowledge.runs)]) + 1

    def replace_by_copy(self, rows: Relation, info: RunInfo, *, has_aborted: bool) -> int:
        """Replace the cluster's log by the rows of a copy (`specs.log_columns.LOG_COLUMNS`).

        `has_aborted`: there may be records of aborted transactions, which are dropped. Return their number: a record in
        several copies counts once per copy.
        """
        known = self._with_knowledge(rows, _knowledge([info]))
        kept, dropped = without_aborted(self.engine, known) if has_aborted else (known, int)
        self.replace(LOG, kept)
        return dropped()

    def append_run(
        self, rows: Relation | None, info: RunInfo, reads: Sequence[PartitionRead], *, has_inferred: bool = False
    ) -> Knowledge:
        """Append the rows that a run read of a live topic; return the facts of all runs.

        `has_inferred`: the rows say in a column `is_inferred` which of them are tombstones that the log no longer has.
        Raises InputError if another run was faster.
        """
        known = _knowledge([info], reads)
        self.append(known if rows is None else self._with_knowledge(rows, known, has_inferred=has_inferred), info.run)
        # Delta silently skips the number of a run that it already has.
        knowledge = self.knowledge()
        if [read for read in knowledge.reads if read.run == info.run] != sorted(reads, key=lambda r: r.partition):
            raise TablesError.other_writer(self.out)
        return knowledge

    def append_infos(self, infos: Sequence[RunInfo]) -> None:
        """Append facts about runs, without rows of the log."""
        self.append(_knowledge(infos), infos[-1].run)

    def of_partitions(self, partitions: Sequence[int]) -> Relation:
        """Return all rows of the log about some partitions, also what runs know about them."""
        columns = ", ".join(f"log.{column.name}" for column in LOG.columns if column.name != "cluster")
        listed = ", ".join(map(str, partitions))
        text = f"SELECT {columns} FROM {{log}} AS log WHERE log.partition IN ({listed})"  # noqa: S608 - numbers
        return self.engine.sql(text, log=self.read(LOG.name))

    def append(self, rows: pa.Table | Relation, number: int) -> None:
        """Append rows with the number of a run; Delta stores the last one of this cluster."""
        rows = self.engine.relation(rows)
        self.engine.append(LOG, self.cluster, rows, application=f"kip848 {self.cluster}", number=number)

    def _rows(self, condition: str) -> Relation:
        return self.engine.sql(_ROWS + condition, log=self.read(LOG.name))

    def _with_knowledge(self, rows: Relation, known: pa.Table, *, has_inferred: bool = False) -> Relation:
        text = rendered(
            "log/sql/with_knowledge.sql",
            columns=LOG_COLUMNS.names,
            commit_types=OFFSET_COMMIT_TYPES,
            run=known["run"][0].as_py(),
            is_inferred="coalesce(is_inferred, false)" if has_inferred else "false",
        )
        return self.engine.sql(text, rows=rows, known=self.engine.relation(known))


def _knowledge(infos: Sequence[RunInfo], reads: Sequence[PartitionRead] = ()) -> pa.Table:
    """Return facts about runs, and about what they read, as rows of the log."""
    known: list[dict[str, Any]] = [{"run": info.run, "run_info": facts(info)} for info in infos]
    known += [{"run": read.run, "partition": read.partition, "read": facts(read)} for read in reads]
    always = {"content": KNOWLEDGE, "is_inferred": False}
    return pa.Table.from_pylist([row | always for row in known], LOG.schema_without("cluster"))


def clusters_to_rebuild(engine: Engine, *, migrate: bool) -> dict[str, bool]:
    """Return the clusters whose tables do not fit their log, each with whether its last run was interrupted.

    Otherwise an older version wrote them. `migrate`: give tables of an older version this version's columns. Raises
    InputError for those of a newer one.
    """
    outdated, unfinished = engine.prepare(migrate=migrate), unfinished_clusters(engine)
    return {cluster: cluster in unfinished for cluster in sorted({*outdated, *unfinished})}


def unfinished_clusters(engine: Engine) -> set[str]:
    """Return the clusters whose last run is not in `audit_runs`: their tables may be inconsistent."""
    finished = _last_runs(engine, AUDIT_RUNS.name)
    return {cluster for cluster, run in _last_runs(engine, LOG.name).items() if finished.get(cluster) != run}


def _last_runs(engine: Engine, table: str) -> dict[str, int]:
    """Return the last run of each cluster in a table."""
    if not engine.tables.is_there(table):
        return {}
    rows = engine.ask(f"SELECT cluster, max(run) AS run FROM {table} GROUP BY cluster", table)  # noqa: S608 - ours
    return {row.cluster: row.run for row in rows}
