"""Tables of an audit that never was: rows name only what matters."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kip848_records.tables.delta import ClusterTables, write_tables
from kip848_records.tables.specs import TABLES
from tests.sessions import CLASSIC, mode

_EMPTY = {"boolean": False, "int": 0, "bigint": 0, "string": "", "array<string>": []}

Rows = Iterable[dict[str, Any]]


def rows_of(spark: SparkSession, table: str, rows: Rows) -> DataFrame:
    """Rows of a table; what a row does not name is null, or empty where null may not be."""
    columns = TABLES[table].columns
    empty = {column.name: _EMPTY[column.type.simpleString()] if column.required else None for column in columns}
    tuples = [tuple((empty | row).values()) for row in rows]
    return spark.createDataFrame(tuples, TABLES[table].schema)


def write(classic: SparkSession, out: Path, cluster: str, **tables: Rows) -> None:
    with mode(CLASSIC):
        frames = {name: rows_of(classic, name, rows) for name, rows in tables.items()}
        write_tables(ClusterTables(classic, str(out), cluster), frames, lambda _: None)
