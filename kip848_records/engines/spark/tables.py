"""Delta tables that Spark writes: in a schema, or in a folder of any file system.

Each table holds the rows of all clusters, and a write replaces those of one cluster.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltalake.exceptions import DeltaError
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from kip848_records.engines.delta_rs import mistaken, replace_rows, writing
from kip848_records.engines.spark.writers import is_locked
from kip848_records.machine.disks import FULL, DiskError
from kip848_records.machine.paths import local_path
from kip848_records.queries.spark import is_there, read, sql_name, sql_string
from kip848_records.specs.tables import CLUSTER
from kip848_records.tables.errors import TablesError
from kip848_records.tables.local import create_locally, has_commits, newest_version
from kip848_records.tables.location import is_schema, location_text, schema_name, table_path
from kip848_records.tables.registry import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

    from kip848_records.engines.engine import MissingColumn
    from kip848_records.specs.columns import TableSpec


@dataclass(frozen=True)
class DeltaTables:
    """The tables at the location `out`."""

    spark: SparkSession
    out: str

    def check_schema(self) -> None:
        """Raise InputError for a schema that does not exist: this package does not create schemas."""
        if is_schema(self.out) and not self._has_schema():
            raise TablesError(
                f"there is no schema {location_text(self.out)}",
                "create it, or check --catalog, --schema and the privileges on both",
            )

    def is_there(self, table: str) -> bool:
        """Return whether a table exists, with rows of any cluster."""
        return is_there(self.spark, self.out, table)

    def version(self, table: str) -> int | None:
        """Return the present Delta version of a table; None if it does not exist."""
        if (folder := self._folder(table)) is not None:
            return newest_version(folder / "_delta_log")
        if not self.is_there(table):
            return None
        last = self.spark.sql(f"DESCRIBE HISTORY {self._name(table)} LIMIT 1").first()
        return None if last is None else last.version

    def rows(self, table: str, cluster: str) -> DataFrame:
        """Return a cluster's rows of a table; none if the table does not exist."""
        if not self.is_there(table):
            return self.spark.createDataFrame([], spark_schema(TABLES[table]))
        return read(self.spark, self.out, table).filter(F.col("cluster") == cluster)

    def create(self, spec: TableSpec) -> None:
        """Create a table if it does not exist, with comments and NOT NULL; a DataFrame writer would omit them."""
        folder = self._folder(spec.name)
        # Delta removes the first commits of an old table, but keeps some.
        if folder is not None and (has_commits(folder / "_delta_log") or self._create_locally(folder, spec)):
            return
        columns = (column_sql(each.name, each.type, each.comment, required=each.required) for each in spec.columns)
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self._name(spec.name)} ({', '.join(columns)}) USING delta "
            f"PARTITIONED BY (cluster) COMMENT {sql_string(spec.comment)}"
        )

    def replace(self, spec: TableSpec, cluster: str, rows: DataFrame | None) -> None:
        """Replace a cluster's rows, or delete them, in one commit: a reader sees the old rows or the new ones.

        Without rows, a missing table is not created.
        """
        is_new = not self.is_there(spec.name)
        if rows is not None:
            if is_new:
                self.create(spec)
            writer = shaped(rows, spec, cluster).write
            # An append is faster than a replacement, and a new table has no rows. But without a lock, two runs at the
            # same time would both append their rows.
            is_alone = is_new and is_locked(self.spark, self.out)
            self._save(
                writer.mode("append") if is_alone else writer.mode("overwrite").option("replaceWhere", _is_of(cluster)),
                spec.name,
            )
        elif not is_new and not self.rows(spec.name, cluster).isEmpty():
            self.spark.sql(f"DELETE FROM {self._name(spec.name)} WHERE {_is_of(cluster)}")  # noqa: S608 - quoted

    def replace_by_arrow(self, spec: TableSpec, cluster: str, batches: Iterable[pa.RecordBatch]) -> bool:
        """Replace a cluster's rows by others with delta-rs; return False for a table that it cannot write.

        Raises InputError if another run changes the rows at the same time, or if the disk is full.
        """
        folder = self._folder(spec.name)
        if folder is None or mistaken(folder):
            return False
        self.create(spec)
        try:
            with writing(self.out, folder):
                replace_rows(folder, spec, cluster, batches)
        except (OSError, DeltaError):
            return False
        return True

    def append(self, spec: TableSpec, cluster: str, rows: DataFrame, *, application: str, number: int) -> None:
        """Append rows in one commit, but not a second time for the same `application` and `number`.

        Numbers must increase. Delta stores the last one of each application, so an interrupted run may repeat its
        commits.
        """
        self.create(spec)
        writer = shaped(rows, spec, cluster).write.mode("append")
        self._save(writer.option("txnAppId", application).option("txnVersion", number), spec.name)

    def delete_matching(self, table: str, cluster: str, rows: DataFrame, keys: Sequence[str]) -> None:
        """Delete those of a cluster's rows that have the same keys as one of `rows`."""
        same = " AND ".join([f"t.{_is_of(cluster)}", *(f"t.{key} = s.{key}" for key in keys)])
        merge = f"MERGE INTO {self._name(table)} t USING {{rows}} s ON {same} WHEN MATCHED THEN DELETE"
        self.spark.sql(merge, None, rows=rows)

    def restore(self, table: str, version: int | None) -> None:
        """Restore a version of a table; None: remove the table."""
        if version is not None:
            self.spark.sql(f"RESTORE {self._name(table)} TO VERSION AS OF {version}")
        elif (folder := self._folder(table)) is not None:
            shutil.rmtree(folder)
        else:
            self.spark.sql(f"DELETE FROM {self._name(table)}")  # noqa: S608 - quoted by `sql_name`

    def optimize(self, table: str, days: int) -> None:
        """Merge small files, and delete files that no version has used for so many days."""
        self.spark.sql(f"OPTIMIZE {self._name(table)}")
        self.spark.sql(f"VACUUM {self._name(table)} RETAIN {days * 24} HOURS")

    def columns(self, table: str) -> dict[str, Any] | None:
        """Return a table's schema as in Delta's log; None if it does not exist."""
        return read(self.spark, self.out, table).schema.jsonValue() if self.is_there(table) else None

    def add_columns(self, spec: TableSpec, missing: Sequence[MissingColumn]) -> None:
        """Add columns, and fields of columns, in one commit."""
        added = (column_sql(".".join(f"`{name}`" for name in each.path), each.type, each.comment) for each in missing)
        self.spark.sql(f"ALTER TABLE {self._name(spec.name)} ADD COLUMNS ({', '.join(added)})")

    def make_anew(self, spec: TableSpec) -> None:
        """Give a table the columns of this version, without rows, in one commit; it keeps its properties."""
        none = self.spark.createDataFrame([], spark_schema(spec)).write.mode("overwrite")
        self._save(none.option("overwriteSchema", "true").partitionBy(CLUSTER.name), spec.name)

    def _has_schema(self) -> bool:
        try:
            return self.spark.catalog.databaseExists(schema_name(self.out))
        except AnalysisException:  # the catalog does not exist either
            return False

    def _name(self, table: str) -> str:
        return sql_name(self.out, table)

    def _folder(self, table: str) -> Path | None:
        """Return the folder of a table; None if it is not on this machine."""
        return None if is_schema(self.out) else local_path(self.spark, table_path(self.out, table))

    def _create_locally(self, folder: Path, spec: TableSpec) -> bool:
        """Create a table without Spark; return whether it exists now."""
        try:
            create_locally(folder, spec)
        except PermissionError as error:
            raise DiskError.of_folder(str(folder), error) from None
        except OSError as error:
            if FULL in str(error):
                raise DiskError.full({self.out: folder}) from error
            return False
        return True

    def _save(self, writer: DataFrameWriter, table: str) -> None:
        if is_schema(self.out):
            writer.format("delta").saveAsTable(self._name(table))
        else:
            writer.format("delta").save(table_path(self.out, table))


def shaped(rows: DataFrame, spec: TableSpec, cluster: str) -> DataFrame:
    """Return rows with the columns of a table, in its order and types; missing columns become null.

    The columns of the rows are not asked for: a server of Spark Connect would keep their plan, and observe no metrics
    when it runs.
    """
    # Not `spark_schema`: `to` refuses a column that may be null where the schema has one that may not.
    columns = [StructField(column.name, from_arrow_type(column.type)) for column in spec.columns]
    return rows.withColumn("cluster", F.lit(cluster)).to(StructType(columns))


def spark_schema(spec: TableSpec) -> StructType:
    """Return the schema of a table, with comments and NOT NULL."""
    return StructType(
        [
            StructField(each.name, from_arrow_type(each.type), not each.required, {"comment": each.comment})
            for each in spec.columns
        ]
    )


def column_sql(name: str, kind: pa.DataType, comment: str | None, *, required: bool = False) -> str:
    """Return a column as Spark's SQL defines it. `StructType.toDDL` needs a session in each thread."""
    not_null = " NOT NULL" if required else ""
    said = "" if comment is None else f" COMMENT {sql_string(comment)}"
    return f"{name} {from_arrow_type(kind).simpleString()}{not_null}{said}"


def _is_of(cluster: str) -> str:
    return f"cluster = {sql_string(cluster)}"
