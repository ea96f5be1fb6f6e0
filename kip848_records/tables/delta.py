"""Delta tables: each holds the rows of all clusters, and a write replaces those of one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from delta.tables import DeltaTable
from pyspark.sql import functions as F

from kip848_records.sources.files import URI
from kip848_records.tables.specs import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.tables.columns import TableSpec

# Small tables cost round trips, not computation: several at once, but not so many that a driver feels it.
_WRITERS = 4


def location(out: str, name: str) -> str:
    """Return where a table lies. Delta takes a relative path for the name of a table, so there are none."""
    folder = out if URI.match(out) else str(Path(out).absolute())
    return f"{folder.rstrip('/')}/{name}"


def read_table(spark: SparkSession, out: str, name: str, cluster: str) -> DataFrame:
    """Return one cluster's rows of a table."""
    return spark.read.format("delta").load(location(out, name)).filter(F.col("cluster") == cluster)


def write_tables(
    spark: SparkSession,
    out: str,
    cluster: str,
    tables: Mapping[str, DataFrame | None],
    done: Callable[[str], None],
) -> None:
    """Replace the cluster's rows in each table by those of its DataFrame, or by none, creating tables that are missing.

    Each table changes in one commit: a reader sees the old rows or the new ones. `done` is told every finished table.
    """

    def write(item: tuple[str, DataFrame | None]) -> None:
        name, rows = item
        _replace(spark, out, cluster, TABLES[name], rows)
        done(name)

    with ThreadPoolExecutor(_WRITERS) as writers:
        for _ in writers.map(write, tables.items()):
            pass


def _replace(spark: SparkSession, out: str, cluster: str, spec: TableSpec, rows: DataFrame | None) -> None:
    path = location(out, spec.name)
    if DeltaTable.isDeltaTable(spark, path):
        # To replace rows, Delta lists the table's files. For a table that never had any it need not.
        has_rows = DeltaTable.forPath(spark, path).history(1).collect()[0].version > 0
    else:
        # The builder keeps NOT NULL and comments; a writer would lose the one or the other.
        new = DeltaTable.createIfNotExists(spark).location(path).comment(spec.comment)
        new.addColumns(spec.schema).partitionedBy("cluster").execute()
        has_rows = False
    of_cluster = f"cluster = {_sql_string(cluster)}"
    if rows is not None:
        shaped = rows.withColumn("cluster", F.lit(cluster)).select(*(F.col(c.name).cast(c.type) for c in spec.columns))
        writer = shaped.write.format("delta")
        writer = writer.mode("overwrite").option("replaceWhere", of_cluster) if has_rows else writer.mode("append")
        writer.save(path)
    elif has_rows:
        DeltaTable.forPath(spark, path).delete(of_cluster)


def _sql_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
