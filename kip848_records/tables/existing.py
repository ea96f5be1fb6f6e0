"""Tables that already exist at a location, perhaps written by another version of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from kip848_records.spark.threads import several
from kip848_records.specs.audit_runs import AUDIT_RUNS
from kip848_records.specs.columns import CLUSTER
from kip848_records.tables.errors import TablesError
from kip848_records.tables.location import place_text, sql_name, sql_string
from kip848_records.tables.log import LOG
from kip848_records.tables.places import check_place, is_there, read, save
from kip848_records.tables.registry import TABLES
from kip848_records.tables.spark_types import spark_schema
from kip848_records.tables.versions import outdated_clusters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.specs.columns import TableSpec


def prepare_tables(spark: SparkSession, out: str, *, migrate: bool = True) -> list[str]:
    """Add this version's columns to the tables of an older one; return the clusters that must be rebuilt.

    `log` and `audit_runs` get the missing columns. All other tables are emptied, because a run derives them from the
    log. Raises InputError for tables of a newer version, and if a table of another application has the name of one.
    With `migrate` false no table changes.
    """
    check_place(spark, out)
    versions = _written_by(spark, out)
    outdated = outdated_clusters(out, versions)
    if migrate and (outdated or not versions):
        several(lambda spec: _prepare(spark, out, spec, is_outdated=bool(outdated)), TABLES.values())
    return outdated


def _written_by(spark: SparkSession, out: str) -> dict[str, str]:
    """Return the version that wrote each cluster's tables."""
    if not is_there(spark, out, AUDIT_RUNS.name):
        return {}
    runs = read(spark, out, AUDIT_RUNS.name)
    _check_own(out, AUDIT_RUNS, runs)
    last = runs.groupBy("cluster").agg({"version": "min"}).collect()
    return {row[0]: row[1] for row in last}


def _prepare(spark: SparkSession, out: str, spec: TableSpec, *, is_outdated: bool) -> None:
    if not is_there(spark, out, spec.name):
        return
    rows = read(spark, out, spec.name)
    _check_own(out, spec, rows)
    if not is_outdated:
        return
    if spec.name in {LOG.name, AUDIT_RUNS.name}:
        _add_columns(spark, out, spec, rows)
    else:
        none = spark.createDataFrame([], spark_schema(spec)).write.mode("overwrite").option("overwriteSchema", "true")
        save(none.partitionBy(CLUSTER.name), out, spec.name)


def _add_columns(spark: SparkSession, out: str, spec: TableSpec, rows: DataFrame) -> None:
    """Add missing columns to a table. They are nullable, because existing rows have no value for them."""
    added = []
    for column in spark_schema(spec):
        kind = column.dataType
        if column.name not in rows.columns:
            comment = sql_string(column.metadata["comment"])
            added.append(f"`{column.name}` {kind.simpleString()} COMMENT {comment}")
        elif isinstance(kind, StructType):
            fields = rows.select(f"{column.name}.*").columns
            new = [field for field in kind if field.name not in fields]
            added += [f"`{column.name}`.`{field.name}` {field.dataType.simpleString()}" for field in new]
    if added:
        spark.sql(f"ALTER TABLE {sql_name(out, spec.name)} ADD COLUMNS ({', '.join(added)})")


def _check_own(out: str, spec: TableSpec, rows: DataFrame) -> None:
    """Raise InputError for a table of another application: this package partitions each table by cluster."""
    if CLUSTER.name not in rows.columns:
        raise TablesError.other_table(place_text(out), spec.name)
