"""The tables of an audit as views, for SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.tables.delta import ClusterTables
from kip848_records.tables.errors import TablesError
from kip848_records.tables.places import read_audited
from kip848_records.tables.specs import AUDIT_RUNS, TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def create_views(spark: SparkSession, out: str, cluster: str) -> None:
    """Make a temporary view of each table in `out`, by the table's name: the rows of one cluster.

    `offset_commit` is empty without ``--offset-commits``; `log` is there for live topics only. Raises InputError where
    the folder does not hold the tables of an audit, or not of that cluster.
    """
    known = _clusters(spark, out)
    if cluster not in known:
        raise TablesError.no_such_cluster(out, cluster, known)
    tables = ClusterTables(spark, out, cluster)
    for name in TABLES:
        if tables.is_there(name):
            tables.read(name).createOrReplaceTempView(name)


def _clusters(spark: SparkSession, out: str) -> list[str]:
    runs = read_audited(spark, out, AUDIT_RUNS.name)
    return sorted(run.cluster for run in runs.select("cluster").distinct().collect())
