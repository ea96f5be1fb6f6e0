"""Delta tables: each holds the rows of all clusters, and a write replaces those of one cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalake.exceptions import DeltaError
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from kip848_records.machine.paths import local_path
from kip848_records.tables.arrow import is_conflict, mistaken, replace_rows
from kip848_records.tables.errors import TablesError
from kip848_records.tables.location import is_schema, sql_name, sql_string, table_path
from kip848_records.tables.places import create, is_there, read, save
from kip848_records.tables.registry import TABLES
from kip848_records.tables.spark_types import spark_schema
from kip848_records.tables.writers import is_locked

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.specs.columns import TableSpec


@dataclass(frozen=True)
class ClusterTables:
    """The rows of one cluster in the tables at the location `out`."""

    spark: SparkSession
    out: str
    cluster: str

    def read(self, name: str) -> DataFrame:
        """Return the cluster's rows of a table; none if the table does not exist."""
        if not is_there(self.spark, self.out, name):
            return self.spark.createDataFrame([], spark_schema(TABLES[name]))
        return read(self.spark, self.out, name).filter(F.col("cluster") == self.cluster)

    def replace(self, spec: TableSpec, rows: DataFrame | None) -> None:
        """Replace the cluster's rows, or delete them, in one commit: a reader sees the old rows or the new ones.

        Without rows, a missing table is not created.
        """
        is_new = not is_there(self.spark, self.out, spec.name)
        if rows is not None:
            if is_new:
                create(self.spark, self.out, spec)
            writer = shaped(rows, spec, self.cluster).write
            # An append is faster than a replacement, and a new table has no rows. But without a lock, two runs at the
            # same time would both append their rows.
            is_alone = is_new and is_locked(self.spark, self.out)
            writer = (
                writer.mode("append") if is_alone else writer.mode("overwrite").option("replaceWhere", self._is_own)
            )
            save(writer, self.out, spec.name)
        elif not is_new and not self.read(spec.name).isEmpty():
            self.spark.sql(f"DELETE FROM {sql_name(self.out, spec.name)} WHERE {self._is_own}")  # noqa: S608 - quoted

    def replace_by_arrow(self, spec: TableSpec, batches: Iterable[pa.RecordBatch]) -> bool:
        """Replace the cluster's rows by others, without Spark; return whether that succeeded.

        Raises InputError if another run changes the rows at the same time.
        """
        folder = None if is_schema(self.out) else local_path(self.spark, table_path(self.out, spec.name))
        if folder is None or mistaken(folder):
            return False
        create(self.spark, self.out, spec)
        try:
            replace_rows(folder, spec, self.cluster, batches)
        except (OSError, DeltaError) as error:
            if is_conflict(error):
                raise TablesError.other_writer(self.out) from error
            return False
        return True

    def append(self, spec: TableSpec, rows: DataFrame, application: str, number: int) -> None:
        """Append rows in one commit, but not a second time for the same `application` and `number`.

        Numbers must increase. Delta stores the last one of each application, so an interrupted run may repeat its
        commits.
        """
        create(self.spark, self.out, spec)
        writer = shaped(rows, spec, self.cluster).write.mode("append")
        save(writer.option("txnAppId", application).option("txnVersion", number), self.out, spec.name)

    @property
    def _is_own(self) -> str:
        return f"cluster = {sql_string(self.cluster)}"


def shaped(rows: DataFrame, spec: TableSpec, cluster: str) -> DataFrame:
    """Return rows with the columns of a table, in its order and types; missing columns become null.

    The columns of the rows are not asked for: a server of Spark Connect would keep their plan, and observe no metrics
    when it runs.
    """
    # Not `spark_schema`: `to` refuses a column that may be null where the schema has one that may not.
    columns = [StructField(column.name, from_arrow_type(column.type)) for column in spec.columns]
    return rows.withColumn("cluster", F.lit(cluster)).to(StructType(columns))
