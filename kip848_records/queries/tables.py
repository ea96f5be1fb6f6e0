"""The tables of an audit for SQL queries: their clusters and runs, and the versions that belong together."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import namedtuple
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.replay.inputs import ChangedLimit
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    import pyarrow as pa

    Parameter = str | int | float | bool | datetime | None
    Row = Any
    """A named tuple with a field for each column; its structs are dictionaries."""

_WORD: Final = re.compile(r"[a-z_]\w*")
_TEXTS: Final = re.compile(r"'(?:[^']|'')*'|--[^\n]*")
_RUNS: Final = """
SELECT cluster, run, captured_at, has_capture_time, sources, dialect, version, offset_commits, is_copy, is_archived,
    table_versions, coalesce(topic_content, false) AS topic_content, max_message_bytes, offsets_retention_ms,
    diagnosis_limits AS changed_limits
FROM (SELECT *, row_number() OVER (PARTITION BY cluster ORDER BY run DESC) AS nth FROM audit_runs) AS runs
WHERE nth = 1
ORDER BY cluster
"""
_UNFINISHED: Final = """
SELECT log.cluster
FROM (SELECT cluster, max(run) AS run FROM log GROUP BY cluster) AS log
LEFT JOIN (SELECT cluster, max(run) AS run FROM audit_runs GROUP BY cluster) AS runs ON log.cluster = runs.cluster
WHERE runs.run IS NULL OR runs.run <> log.run
ORDER BY log.cluster
"""


class Run(NamedTuple):
    """The last run over a cluster, from its row of the table `audit_runs`.

    `captured_at`: when the log was copied, or read; None if no record has a time. `has_capture_time`: false if that is
    only the time of the newest record. `is_archived`: the run archives
    partitions that were recreated. `table_versions`: the Delta version of each table after the run. `topic_content`:
    the run counted what is in the topic by key. `max_message_bytes`, `offsets_retention_ms`: settings of a live topic,
    if known. `changed_limits`: those with which it made `diagnosis`, where they are not the defaults.
    """

    cluster: str
    run: int
    captured_at: datetime | None
    has_capture_time: bool
    sources: Sequence[str]
    dialect: str
    version: str
    offset_commits: bool
    is_copy: bool
    is_archived: bool
    table_versions: Mapping[str, int]
    topic_content: bool = False
    max_message_bytes: int | None = None
    offsets_retention_ms: int | None = None
    changed_limits: Sequence[ChangedLimit] = ()


class Part(NamedTuple):
    """The part of a table that a query reads: rows of some clusters, at a version. None: all, or the newest."""

    clusters: Collection[str] | None
    version: int | None


class Tables(ABC):
    """The tables at a location, as `open_tables` returns them. Times are UTC.

    A query sees the table versions of each cluster's last run. It names tables by their names, and parameters as
    ``:name``. Invalid SQL raises the engine's own error: `duckdb.Error`, or `pyspark.errors.PySparkException`.
    `engine`: the engine that runs the queries, `embedded` or `spark`. `shown`: the location as messages name it, which
    differs for the tables of sources (`tables.location.sources_location`).
    """

    engine: str

    def __init__(self, location: str) -> None:
        self.location = self.shown = location
        self._runs: Sequence[Run] | None = None

    @abstractmethod
    def names(self) -> Collection[str]:
        """Return the names of the existing tables."""

    @abstractmethod
    def _read(
        self, text: str, cluster: str | None, tables: Mapping[str, Sequence[Part]], parameters: Mapping[str, Parameter]
    ) -> pa.Table:
        """Run a query over parts of these tables."""

    def runs(self) -> Sequence[Run]:
        """Return the last run of every cluster, in the order of the clusters' names.

        Raises InputError if the location does not hold the tables of an audit.
        """
        if self._runs is None:
            self._runs = [
                Run(
                    **row
                    | {
                        "table_versions": dict(row["table_versions"] or ()),
                        "changed_limits": [ChangedLimit(**each) for each in row["changed_limits"] or () if each],
                    }
                )
                for row in self._newest(_RUNS, "audit_runs").to_pylist()
            ]
        return self._runs

    def chosen_runs(self, cluster: str | None = None) -> Sequence[Run]:
        """Return the last run of a cluster; by default of every cluster that is not an archive.

        Raises InputError if there is none, or if the last run did not finish: its tables are inconsistent.
        """
        runs = self.runs()
        for unfinished in self._unfinished:
            if cluster in (None, unfinished):
                raise TablesError.unfinished_run(self.shown, unfinished)
        chosen = [run for run in runs if (not run.is_archived if cluster is None else run.cluster == cluster)]
        if not chosen:
            raise TablesError.no_such_cluster(self.shown, cluster, [run.cluster for run in runs])
        return chosen

    def arrow(self, text: str, cluster: str | None = None, **parameters: Parameter) -> pa.Table:
        """Return the answer to a query about one cluster, or about all; `parameters` are the values of ``:name``."""
        return self._read(text, cluster, self._parts(text, cluster), parameters)

    def rows(self, text: str, cluster: str | None = None, **parameters: Parameter) -> list[Row]:
        """Return the answer of `arrow` as named tuples, with a field for each column; structs are dictionaries."""
        return named_rows(self.arrow(text, cluster, **parameters))

    def with_rows(self, names: Collection[str], cluster: str) -> set[str]:
        """Return those of some tables that have rows of a cluster."""
        return {row.name for row in self.rows(with_rows_text(names), cluster)} if names else set()

    def newest(self, text: str, *names: str, **parameters: Parameter) -> list[Row]:
        """Return the answer to a query over all rows of the newest version of some tables, of an unfinished run too.

        `names`: the tables that the query reads. The answer has the form of `rows`.
        """
        return named_rows(self._newest(text, *names, **parameters))

    def _parts(self, text: str, cluster: str | None) -> dict[str, list[Part]]:
        """Return the parts of each table that a query names.

        A record type's table counts only if the run of each cluster wrote it: without the option it has no rows of
        that cluster.
        """
        names = self.names()
        asked = [name for name in words(text) if name in names]
        runs = [run for run in self.runs() if cluster is None or run.cluster == cluster]
        return {
            name: _parts_of(name, runs, is_whole=cluster is None)
            for name in asked
            if all(name in run.table_versions for run in runs) or not _is_record_type(name)
        }

    def _newest(self, text: str, *names: str, **parameters: Parameter) -> pa.Table:
        known = self.names()
        for name in names:
            if name not in known:
                raise TablesError.not_audited(self.shown, name)
        return self._read(text, None, {name: [Part(None, None)] for name in names}, parameters)

    @cached_property
    def _unfinished(self) -> list[str]:
        """The clusters whose last run did not finish."""
        if "log" not in self.names():
            return []
        return list(self._newest(_UNFINISHED, "log", "audit_runs")["cluster"].to_pylist())


def with_rows_text(names: Collection[str]) -> str:
    """Return SQL for the names of those of some tables that have rows."""
    counts = (f"SELECT '{name}' AS name, count(*) AS found FROM {name}" for name in sorted(names))  # noqa: S608 - ours
    return f"SELECT name FROM ({' UNION ALL '.join(counts)}) AS counts WHERE found > 0"  # noqa: S608 - as above


def named_rows(answer: pa.Table) -> list[Row]:
    """Return the rows of an answer as named tuples."""
    row = namedtuple("Row", answer.schema.names)  # type: ignore[misc]  # noqa: PYI024 - of any query
    columns = [column.to_pylist() for column in answer.columns]
    return [row(*values) for values in zip(*columns, strict=True)]


@lru_cache(maxsize=64)
def words(text: str) -> Collection[str]:
    """Return each word of a query once, in lower case and in order, except those in literals and comments."""
    return dict.fromkeys(_WORD.findall(_TEXTS.sub(" ", text).lower()))


def _is_record_type(name: str) -> bool:
    from kip848_records.protocol.messages import DIALECTS  # noqa: PLC0415 - few queries name such a table

    return any(record.table == name for dialect in DIALECTS.values() for record in dialect.records)


def _parts_of(name: str, runs: Sequence[Run], *, is_whole: bool) -> list[Part]:
    """Return the parts of a table, by the versions of the runs. `audit_runs` is newer than the version in its rows."""
    by_version: dict[int | None, list[str]] = {}
    for run in runs:
        version = None if name == "audit_runs" else run.table_versions.get(name)
        by_version.setdefault(version, []).append(run.cluster)
    if is_whole and len(by_version) <= 1:
        return [Part(None, next(iter(by_version), None))]
    return [Part(clusters, version) for version, clusters in by_version.items()]
