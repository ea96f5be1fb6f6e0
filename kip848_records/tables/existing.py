"""The tables that are there already, perhaps of another version of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from kip848_records import __version__
from kip848_records.tables.columns import CLUSTER
from kip848_records.tables.errors import TablesError
from kip848_records.tables.places import check_place, is_there, place_text, read, sql_name, sql_string
from kip848_records.tables.specs import AUDIT_RUNS, TABLES
from kip848_records.threads import several

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.tables.columns import TableSpec


def is_of_copy(spark: SparkSession, out: str, cluster: str) -> bool:
    """Return whether the folder `out` has the cluster's tables, and they are of a copy, not of a live topic."""
    if not is_there(spark, out, AUDIT_RUNS.name):
        return False
    runs = read(spark, out, AUDIT_RUNS.name)
    of_cluster = runs.where(F.col("cluster") == cluster)
    # Versions without that column read nothing but copies.
    of_copies = of_cluster.where("partitions IS NULL") if "partitions" in runs.columns else of_cluster
    return not of_copies.isEmpty()


def prepare_tables(spark: SparkSession, out: str, *, migrate: bool = True) -> None:
    """Give tables of an older version the columns that have come since.

    Raises InputError for those of a newer one, and where a table that is not ours has the name of one. Who only wants
    to look does not `migrate` them.
    """
    check_place(spark, out)
    versions, columns = _written_by(spark, out)
    if newer := [version for version in versions if _number(version) > _number(__version__)]:
        raise TablesError.newer_tables(out, max(newer, key=_number), __version__)
    if migrate and (versions != {__version__} or set(AUDIT_RUNS.schema.names) - columns):
        several(lambda spec: _add_columns(spark, out, spec), TABLES.values())


def _written_by(spark: SparkSession, out: str) -> tuple[set[str], set[str]]:
    """Return the versions that wrote the tables, and the columns of `audit_runs`: the oldest versions had no such."""
    if not is_there(spark, out, AUDIT_RUNS.name):
        return set(), set()
    runs = read(spark, out, AUDIT_RUNS.name)
    columns = _columns(out, AUDIT_RUNS, runs)
    return {row.version for row in runs.select("version").collect()}, columns


def _add_columns(spark: SparkSession, out: str, spec: TableSpec) -> None:
    """Add what a table lacks, as columns that may be null: it has rows that have nothing there."""
    if not is_there(spark, out, spec.name):
        return
    rows = read(spark, out, spec.name)
    there = _columns(out, spec, rows)
    lacking = [column for column in spec.columns if column.name not in there]
    added = [f"`{c.name}` {c.type.simpleString()} COMMENT {sql_string(c.comment)}" for c in lacking]
    for column in spec.columns:
        if column.name in there and isinstance(column.type, StructType):
            fields = rows.select(f"{column.name}.*").columns
            new = [field for field in column.type if field.name not in fields]
            added += [f"`{column.name}`.`{field.name}` {field.dataType.simpleString()}" for field in new]
    if added:
        spark.sql(f"ALTER TABLE {sql_name(out, spec.name)} ADD COLUMNS ({', '.join(added)})")


def _columns(out: str, spec: TableSpec, rows: DataFrame) -> set[str]:
    """Return the columns of a table; raises InputError if it is not ours: any of ours is partitioned by cluster."""
    if CLUSTER.name not in rows.columns:
        raise TablesError.other_table(place_text(out), spec.name)
    return set(rows.columns)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
