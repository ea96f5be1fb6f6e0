"""Spark access to Delta tables at a location (`tables.location`): create, read, write, and get their version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from kip848_records.machine.disks import DiskError
from kip848_records.machine.paths import local_path
from kip848_records.tables.errors import TablesError
from kip848_records.tables.local import create_locally, has_commits, newest_version
from kip848_records.tables.location import is_schema, place_text, schema_name, sql_name, sql_string, table_path
from kip848_records.tables.spark_types import column_sql

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

    from kip848_records.specs.columns import TableSpec


def check_place(spark: SparkSession, place: str) -> None:
    """Raise InputError for a schema that does not exist: this package does not create schemas."""
    if is_schema(place) and not _has_schema(spark, schema_name(place)):
        raise TablesError(
            f"there is no schema {place_text(place)}",
            "create it, or check --catalog, --schema and the privileges on both",
        )


def _has_schema(spark: SparkSession, name: str) -> bool:
    try:
        return spark.catalog.databaseExists(name)
    except AnalysisException:  # the catalog does not exist either
        return False


def is_there(spark: SparkSession, place: str, table: str) -> bool:
    """Return whether a table exists, with rows of any cluster."""
    if not is_schema(place) and (log := local_path(spark, f"{table_path(place, table)}/_delta_log")):
        return has_commits(log)  # without Spark: asking Delta takes a while, and there are many tables
    try:
        read_audited(spark, place, table)
    except TablesError:
        return False
    return True


def read_audited(spark: SparkSession, place: str, table: str) -> DataFrame:
    """Return all rows of a table. Raises TablesError if it does not exist."""
    try:
        rows = read(spark, place, table)
        rows.schema  # noqa: B018 - only this makes a Connect session look for the table
    except AnalysisException:
        raise TablesError.not_audited(place, table) from None
    return rows


def read(spark: SparkSession, place: str, table: str) -> DataFrame:
    """Return all rows of a table. Raises AnalysisException if it does not exist; a Connect session only when used."""
    if is_schema(place):
        return spark.read.table(sql_name(place, table))
    return spark.read.format("delta").load(table_path(place, table))


def save(writer: DataFrameWriter, place: str, table: str) -> None:
    """Write rows to a table."""
    if is_schema(place):
        writer.format("delta").saveAsTable(sql_name(place, table))
    else:
        writer.format("delta").save(table_path(place, table))


def create(spark: SparkSession, place: str, spec: TableSpec) -> None:
    """Create a table if it does not exist, with comments and NOT NULL; a DataFrame writer would omit them."""
    log = None if is_schema(place) else local_path(spark, f"{table_path(place, spec.name)}/_delta_log")
    # Delta removes the first commits of an old table, but keeps some.
    if log is not None and (has_commits(log) or _create_locally(log.parent, spec)):
        return
    columns = (column_sql(each.name, each.type, each.comment, required=each.required) for each in spec.columns)
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {sql_name(place, spec.name)} ({', '.join(columns)}) USING delta "
        f"PARTITIONED BY (cluster) COMMENT {sql_string(spec.comment)}"
    )


def _create_locally(folder: Path, spec: TableSpec) -> bool:
    """Create a table without Spark; return whether it exists now."""
    try:
        create_locally(folder, spec)
    except PermissionError as error:
        raise DiskError.of_folder(str(folder), error) from None
    except OSError:
        return False
    return True


def version(spark: SparkSession, place: str, table: str) -> int | None:
    """Return the present Delta version of a table; None if it does not exist."""
    if not is_schema(place) and (log := local_path(spark, f"{table_path(place, table)}/_delta_log")):
        return newest_version(log)
    if not is_there(spark, place, table):
        return None
    last = spark.sql(f"DESCRIBE HISTORY {sql_name(place, table)} LIMIT 1").first()
    return None if last is None else last.version
