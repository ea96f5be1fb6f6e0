"""Existing tables as Spark changes them: `engines.existing` says which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kip848_records.specs.tables import CLUSTER
from kip848_records.tables.location import sql_name
from kip848_records.tables.places import is_there, read, save
from kip848_records.tables.spark_types import column_sql, spark_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from kip848_records.engines.existing import MissingColumn
    from kip848_records.specs.columns import TableSpec


@dataclass(frozen=True)
class SparkExistingTables:
    """The tables at the location `out` (`engines.existing.ExistingTables`)."""

    spark: SparkSession
    out: str

    def columns(self, table: str) -> dict[str, Any] | None:
        """Return a table's schema; None if it does not exist."""
        return read(self.spark, self.out, table).schema.jsonValue() if is_there(self.spark, self.out, table) else None

    def add_columns(self, spec: TableSpec, missing: Sequence[MissingColumn]) -> None:
        """Add columns and fields in one commit."""
        added = ", ".join(map(_definition, missing))
        self.spark.sql(f"ALTER TABLE {sql_name(self.out, spec.name)} ADD COLUMNS ({added})")

    def make_anew(self, spec: TableSpec) -> None:
        """Give a table the columns of this version, without rows."""
        none = self.spark.createDataFrame([], spark_schema(spec)).write.mode("overwrite")
        save(none.option("overwriteSchema", "true").partitionBy(CLUSTER.name), self.out, spec.name)


def _definition(missing: MissingColumn) -> str:
    return column_sql(".".join(f"`{each}`" for each in missing.path), missing.type, missing.comment)
