"""The specs of tables and columns: name, type, meaning, nullability."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyarrow as pa


@dataclass(frozen=True)
class Column:
    """A column; `required` ones are NOT NULL in the table."""

    name: str
    type: pa.DataType
    comment: str
    required: bool = False


@dataclass(frozen=True)
class TableSpec:
    """A table, partitioned by cluster: one row for each value of `key`, a list of columns.

    `ended_at`: SQL for the time at which a row's subject had ended, as far as the row shows it; null
    for rows about something open. Retention removes old rows by it, and keeps all rows without it.
    """

    name: str
    comment: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    ended_at: str | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        """The table's columns as an Arrow schema. `engines.spark.tables` derives Spark's, with the comments."""
        return pa.schema([pa.field(each.name, each.type, nullable=not each.required) for each in self.columns])

    def type_of(self, name: str) -> pa.DataType:
        """The type of a column."""
        return self.schema.field(name).type

    def schema_without(self, name: str) -> pa.Schema:
        """The schema without one of the columns."""
        return pa.schema([field for field in self.schema if field.name != name])


def list_of(element: pa.DataType) -> pa.ListType:
    """Return the type of lists; Spark calls an element so."""
    return pa.list_(pa.field("element", element))


PRIMITIVES: Final = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", "UTC"),
}
"""The types of columns by their names in SQL."""

STRING, INT, BIGINT = PRIMITIVES["string"], PRIMITIVES["int"], PRIMITIVES["bigint"]
BOOLEAN, TIMESTAMP = PRIMITIVES["boolean"], PRIMITIVES["timestamp"]
STRINGS = list_of(STRING)
