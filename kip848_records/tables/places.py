"""Spark access to Delta tables at a location (`tables.location`): create, read, write, and get their version."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import deltalake
from delta.tables import DeltaTable
from pyspark.errors import AnalysisException

from kip848_records.machine.disks import DiskError
from kip848_records.machine.paths import local_path
from kip848_records.tables.errors import TablesError
from kip848_records.tables.location import is_schema, place_text, schema_name, sql_name, sql_string, table_path
from kip848_records.tables.spark_types import spark_schema

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

    from kip848_records.specs.columns import TableSpec


def check_place(spark: SparkSession, place: str) -> None:
    """Raise InputError for a schema that does not exist: this package does not create schemas."""
    if is_schema(place) and not _has_schema(spark, schema_name(place)):
        raise TablesError.no_schema(place_text(place))


def _has_schema(spark: SparkSession, name: str) -> bool:
    try:
        return spark.catalog.databaseExists(name)
    except AnalysisException:  # the catalog does not exist either
        return False


def is_there(spark: SparkSession, place: str, table: str) -> bool:
    """Return whether a table exists, with rows of any cluster."""
    if not is_schema(place) and (log := local_path(spark, f"{table_path(place, table)}/_delta_log")):
        return _has_commits(log)  # without Spark: asking Delta takes a while, and there are many tables
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


def delta_table(spark: SparkSession, place: str, table: str) -> DeltaTable:
    """Return a table whose rows can be changed."""
    if is_schema(place):
        return DeltaTable.forName(spark, sql_name(place, table))
    return DeltaTable.forPath(spark, table_path(place, table))


def create(spark: SparkSession, place: str, spec: TableSpec) -> None:
    """Create a table if it does not exist, with comments and NOT NULL; a DataFrame writer would omit them."""
    if is_schema(place):
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS {sql_name(place, spec.name)} ({spark_schema(spec).toDDL()}) USING delta "
            f"PARTITIONED BY (cluster) COMMENT {sql_string(spec.comment)}"
        )
        return
    path = table_path(place, spec.name)
    log = local_path(spark, f"{path}/_delta_log")
    # Delta removes the first commits of an old table, but keeps some.
    if log is not None and (_has_commits(log) or _create_locally(log.parent, spec)):
        return
    new = DeltaTable.createIfNotExists(spark).location(path).comment(spec.comment)
    new.addColumns(spark_schema(spec)).partitionedBy("cluster").execute()


def _create_locally(folder: Path, spec: TableSpec) -> bool:
    """Create a table with delta-rs, in milliseconds; Delta's builder takes as long as a commit of rows.

    Return whether it exists now: delta-rs cannot commit on some volumes, such as those over an object store.
    """
    try:
        deltalake.DeltaTable.create(
            str(folder),
            deltalake.Schema.from_json(spark_schema(spec).json()),
            mode="ignore",
            partition_by=["cluster"],
            description=spec.comment,
        )
        _write_checksum(folder / "_delta_log")
    except PermissionError as error:
        raise DiskError.of_folder(str(folder), error) from None
    except (OSError, deltalake.exceptions.DeltaError):
        return False
    return True


def _write_checksum(log: Path) -> None:
    """Write the checksum of the first commit, so that Spark need not read the log.

    Without it the first commit of rows takes Spark one second more. Its format is that of Delta's protocol, "Version
    Checksum File". A checksum is optional, so nothing is lost if another run was faster.
    """
    first = (log / f"{0:020}.json").read_text(encoding="utf-8").splitlines()
    actions = {name: action for line in first for name, action in json.loads(line).items()}
    known = {"metadata": actions["metaData"], "protocol": actions["protocol"]}
    counts = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
    none_yet: dict[str, list[object]] = {"setTransactions": [], "domainMetadata": [], "allFiles": []}
    checksum = log / f"{0:020}.crc"
    with suppress(FileExistsError), checksum.open("x", encoding="utf-8") as file:
        try:
            json.dump(counts | none_yet | known, file)
            file.flush()
        except OSError:  # half of it would be worse than none
            checksum.unlink()
            raise


def version(spark: SparkSession, place: str, table: str) -> int | None:
    """Return the present Delta version of a table; None if it does not exist."""
    if not is_schema(place) and (log := local_path(spark, f"{table_path(place, table)}/_delta_log")):
        return max((int(file.stem) for file in log.glob("*.json") if file.stem.isdigit()), default=None)
    if not is_there(spark, place, table):
        return None
    last = delta_table(spark, place, table).history(1).select("version").first()
    return None if last is None else last.version


def _has_commits(log: Path) -> bool:
    """Return whether a log folder contains more than an interrupted commit leaves."""
    return any(file.is_file() and file.name[0] != "." for file in log.rglob("*"))
