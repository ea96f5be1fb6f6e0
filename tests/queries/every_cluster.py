"""Rows of all sorts as the tables of one cluster, in files and in Spark's memory: both engines are asked about them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kip848_records.engines.spark.tables import spark_schema
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.spark import SparkTables
from kip848_records.queries.tables import Part
from kip848_records.tables.registry import TABLES

Source = Callable[[str], pa.Table | None]
"""Returns the rows of a table; None without the table."""

CLUSTER = "every cluster"
_PARTITIONS = 100
"""How many partitions of the log a source may have: those of the next one have the numbers behind them."""

# A query has one small task, and no plan is made twice: planning is most of its time.
_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
}


def write(out: Path, sources: Sequence[Source]) -> None:
    """Write the tables of `CLUSTER`: the rows of all sources, and the run of the first one."""
    for name, spec in TABLES.items():
        found = [source(name) for source in (sources[:1] if name == "audit_runs" else sources)]
        parts = [_moved(name, rows, nth * _PARTITIONS) for nth, rows in enumerate(found) if rows is not None]
        rows = pa.concat_tables([spec.schema.empty_table(), *parts])
        deltalake.write_deltalake(str(out / name), rows, partition_by=["cluster"])


def rows_of(folder: Path, cluster: str) -> Source:
    """Return the rows of one cluster in a folder of tables."""

    def source(name: str) -> pa.Table | None:
        if not (folder / name).is_dir():
            return None
        return DeltaTable(folder / name).to_pyarrow_table(filters=[("cluster", "=", cluster)])

    return source


def _moved(name: str, rows: pa.Table, first_partition: int) -> pa.Table:
    schema = TABLES[name].schema
    return pa.Table.from_arrays([_column(rows, field, first_partition) for field in schema], schema=schema)


def _column(rows: pa.Table, field: pa.Field, first_partition: int) -> pa.ChunkedArray:
    if field.name == "cluster":
        return pa.chunked_array([pa.repeat(CLUSTER, len(rows))])
    if field.name == "table_versions":
        return pa.chunked_array([pa.array([[(name, 0) for name in TABLES]] * len(rows), field.type)])
    column = rows[field.name].cast(field.type)
    # In tables about consumption `partition` is that of another topic.
    is_place = field.name == ("offsets_partition" if "offsets_partition" in rows.schema.names else "partition")
    if not is_place:
        return column
    is_small = pc.and_(pc.greater_equal(column, 0), pc.less(column, _PARTITIONS))
    return pc.if_else(is_small, pc.add(column, pa.scalar(first_partition, field.type)), column)


class SparkRows(SparkTables):
    """The same rows in Spark's memory: its answers differ from those over files only in where the rows come from."""

    def __init__(self, spark: SparkSession, tables: DuckTables) -> None:
        """`spark`: a session for these tables alone, whose settings and views are changed."""
        super().__init__(spark, tables.location)
        self._runs = tables.runs()
        for name, value in _SETTINGS.items():
            spark.conf.set(name, value)
        for name, spec in TABLES.items():
            rows = DeltaTable(f"{tables.location}/{name}").to_pyarrow_table().cast(spec.schema)
            frame = spark.createDataFrame(rows if len(rows) else [], None if len(rows) else spark_schema(spec))
            frame.coalesce(1).createOrReplaceTempView(_view(name))

    def _is_there(self, name: str) -> bool:
        return name in TABLES

    def _select(self, name: str, parts: Sequence[Part]) -> str:
        (part,) = parts
        assert part.clusters in (None, [CLUSTER])
        return f"SELECT * FROM {_view(name)}"  # noqa: S608 - ours


def _view(name: str) -> str:
    return f"every_{name}"
