"""The table `log`: the rows of one cluster as read, and the facts of each run about them, in one commit each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type

from kip848_records.log.runs import PartitionRead, RunInfo, values
from kip848_records.queries.engines import newest_rows
from kip848_records.sources.log_rows import LOG_SCHEMA, is_offset_commit
from kip848_records.specs.audit_runs import AUDIT_RUNS
from kip848_records.tables.delta import ClusterTables
from kip848_records.tables.errors import TablesError
from kip848_records.tables.log import KNOWLEDGE, LOG, OFFSET_COMMIT, PARTITION_READ, RECORD, RUN_INFO
from kip848_records.tables.places import is_there

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from kip848_records.queries.tables import Parameter, Row

_KNOWLEDGE: Final = f"""
SELECT run, partition, run_info, read FROM log
WHERE cluster = :cluster AND content = '{KNOWLEDGE}' AND file IS NULL
"""  # noqa: S608 - a constant

_RUN_INFO, _READ = (from_arrow_type(kind).simpleString() for kind in (RUN_INFO, PARTITION_READ))


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


class LogTable(ClusterTables):
    """The log of one cluster."""

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
        return newest_rows(self.spark, self.out, text, table, cluster=self.cluster, **parameters)

    def count(self, table: str, condition: str = "true") -> int:
        """Return how many rows the cluster has in a table for which a condition in SQL holds."""
        text = f"SELECT count(*) AS rows FROM {table} WHERE cluster = :cluster AND ({condition})"  # noqa: S608 - ours
        return int(self.ask(text, table)[0].rows)

    def records(self) -> DataFrame:
        """Return the rows of the log (`sources.log.LOG_SCHEMA`) with ``run, is_inferred``, without those of files."""
        return self._rows(F.col("content") != KNOWLEDGE)

    def group_records(self) -> DataFrame:
        """Return the rows of `records` without offset commits."""
        return self._rows(F.col("content") == RECORD)

    def offset_commits(self) -> DataFrame:
        """Return the rows of `records` with offset commits and transaction markers, and unreadable rows."""
        return self._rows((F.col("content") == OFFSET_COMMIT) | F.col("error_code").isNotNull())

    def covered(self) -> DataFrame:
        """Return all rows of the log, including the coverage of files."""
        return self._rows(F.col("run_info").isNull() & F.col("read").isNull())

    def next_run(self, knowledge: Knowledge) -> int:
        """Return the number of the next run: no number is used twice, even if all rows were archived."""
        finished = _last_runs(self.spark, self.out, AUDIT_RUNS.name).get(self.cluster, 0)
        return max([finished, *(run.run for run in knowledge.runs)]) + 1

    def replace_by_copy(self, rows: DataFrame, info: RunInfo) -> None:
        """Replace the cluster's log by the rows of a copy (`LOG_SCHEMA`)."""
        self.replace(LOG, self._with_knowledge(rows, info, ()))

    def append_run(self, rows: DataFrame | None, info: RunInfo, reads: Sequence[PartitionRead]) -> Knowledge:
        """Append the rows that a run read of a live topic; return the facts of all runs.

        Raises InputError if another run was faster.
        """
        self.append(LOG, self._with_knowledge(rows, info, reads), self._application, info.run)
        # Delta silently skips the number of a run that it already has.
        knowledge = self.knowledge()
        if [read for read in knowledge.reads if read.run == info.run] != sorted(reads, key=lambda r: r.partition):
            raise TablesError.other_writer(self.out)
        return knowledge

    def append_infos(self, infos: Sequence[RunInfo]) -> None:
        """Append facts about runs, without rows of the log."""
        facts = [(info.run, values(info, RUN_INFO.names)) for info in infos]
        rows = self.spark.createDataFrame(facts, f"run bigint, run_info {_RUN_INFO}")
        inferred = F.lit(False)  # noqa: FBT003
        rows = rows.withColumns({"content": F.lit(KNOWLEDGE), "is_inferred": inferred})
        self.append(LOG, rows, self._application, infos[-1].run)

    @property
    def _application(self) -> str:
        """The name under which Delta stores the number of the table's last run."""
        return f"kip848 {self.cluster}"

    def _rows(self, condition: object) -> DataFrame:
        rows = self.read(LOG.name).where(condition)  # type: ignore[arg-type]
        return rows.select(*LOG_SCHEMA.names, "run", "is_inferred")

    def _with_knowledge(self, rows: DataFrame | None, info: RunInfo, reads: Sequence[PartitionRead]) -> DataFrame:
        facts: list[tuple[object, ...]] = [(None, values(info, RUN_INFO.names), None)]
        facts += [(read.partition, None, values(read, PARTITION_READ.names)) for read in reads]
        schema = f"partition int, run_info {_RUN_INFO}, read {_READ}"
        known = self.spark.createDataFrame(facts, schema).withColumn("content", F.lit(KNOWLEDGE))
        parts = [known]
        if rows is not None:
            is_knowledge = F.col("file").isNotNull() if "file" in rows.columns else F.lit(False)  # noqa: FBT003
            # Unreadable rows are quarantined with the records of groups, whatever their key.
            is_commit = F.col("error_code").isNull() & (is_offset_commit() | F.col("control").isNotNull())
            content = F.when(is_knowledge, KNOWLEDGE).when(is_commit, OFFSET_COMMIT).otherwise(RECORD)
            parts.append(rows.withColumn("content", content))
        every = reduce(lambda some, more: some.unionByName(more, allowMissingColumns=True), parts)
        if "is_inferred" not in every.columns:
            every = every.withColumn("is_inferred", F.lit(False))  # noqa: FBT003
        inferred = F.coalesce("is_inferred", F.lit(False))  # noqa: FBT003
        return every.withColumns({"run": F.lit(info.run), "is_inferred": inferred})


def unfinished_clusters(spark: SparkSession, out: str) -> set[str]:
    """Return the clusters whose last run is not in `audit_runs`: their tables may be inconsistent."""
    finished = _last_runs(spark, out, AUDIT_RUNS.name)
    return {cluster for cluster, run in _last_runs(spark, out, LOG.name).items() if finished.get(cluster) != run}


def _last_runs(spark: SparkSession, out: str, table: str) -> dict[str, int]:
    """Return the last run of each cluster in a table."""
    if not is_there(spark, out, table):
        return {}
    rows = newest_rows(spark, out, f"SELECT cluster, max(run) AS run FROM {table} GROUP BY cluster", table)  # noqa: S608
    return {row.cluster: row.run for row in rows}
