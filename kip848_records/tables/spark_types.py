"""Spark's types of tables and columns, derived from those of their specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

if TYPE_CHECKING:
    from kip848_records.specs.columns import Column, TableSpec


def spark_schema(spec: TableSpec) -> StructType:
    """Return the schema of a table, with comments and NOT NULL."""
    return StructType([_field(column) for column in spec.columns])


def _field(column: Column) -> StructField:
    return StructField(column.name, from_arrow_type(column.type), not column.required, {"comment": column.comment})
