"""Spark's types of tables and columns, derived from those of their specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from kip848_records.tables.location import sql_string

if TYPE_CHECKING:
    import pyarrow as pa

    from kip848_records.specs.columns import Column, TableSpec


def spark_schema(spec: TableSpec) -> StructType:
    """Return the schema of a table, with comments and NOT NULL."""
    return StructType([_field(column) for column in spec.columns])


def column_sql(name: str, kind: pa.DataType, comment: str | None, *, required: bool = False) -> str:
    """Return a column as Spark's SQL defines it. `StructType.toDDL` needs a session in each thread."""
    not_null = " NOT NULL" if required else ""
    said = "" if comment is None else f" COMMENT {sql_string(comment)}"
    return f"{name} {from_arrow_type(kind).simpleString()}{not_null}{said}"


def _field(column: Column) -> StructField:
    return StructField(column.name, from_arrow_type(column.type), not column.required, {"comment": column.comment})
