"""The tables of an audit, and the typed records of its log, as SQL views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.decode import decode
from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.log.table import LogTable
from kip848_records.queries.spark import read_audited
from kip848_records.specs.tables import AUDIT_RUNS
from kip848_records.tables.errors import TablesError
from kip848_records.tables.registry import DEFAULT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def create_views(spark: SparkSession, out: str, cluster: str) -> None:
    """Create a temporary view for each table at `out`, with the table's name and the rows of one cluster.

    Each record type has a view too (`consumer_group_metadata` …), which decodes its records from `log` when a query
    reads them. `offset_commit` has rows only after ``--offset-commits``. Raises InputError if the location does not
    hold the tables of an audit, or not those of the cluster.
    """
    known = _clusters(spark, out)
    if cluster not in known:
        raise TablesError.no_such_cluster(out, cluster, known)
    log = LogTable(SparkEngine(spark, out), cluster)
    last = log.read(AUDIT_RUNS.name).orderBy("run", ascending=False).first()
    views = {name: log.read(name) for name in DEFAULT}
    if last is not None:
        views |= decode(log.records(), dialect=last.dialect, offset_commits=True).records
    for name, rows in views.items():
        rows.createOrReplaceTempView(name)


def _clusters(spark: SparkSession, out: str) -> list[str]:
    runs = read_audited(spark, out, AUDIT_RUNS.name)
    return sorted(run.cluster for run in runs.select("cluster").distinct().collect())
