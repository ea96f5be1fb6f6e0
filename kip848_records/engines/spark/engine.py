"""Spark as the engine: relations are DataFrames, and functions run in its Python workers."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kip848_records.engines.existing import prepare_tables
from kip848_records.engines.rows import ArrowRows
from kip848_records.engines.scratch import STAGING, scratch_folder
from kip848_records.engines.spark.rows import StagedRows, frame_of
from kip848_records.engines.spark.tables import DeltaTables
from kip848_records.engines.spark.writers import only_writer
from kip848_records.errors import InputError
from kip848_records.machine.files import Listing
from kip848_records.machine.paths import is_empty, is_file_uri, local_path, without_scheme
from kip848_records.queries.engines import newest_rows
from kip848_records.queries.tables import named_rows
from kip848_records.queries.texts import plain
from kip848_records.replay.arrow_rows import union_batches, union_type
from kip848_records.replay.rows import ROW_CLASSES
from kip848_records.spark.files import escape_glob, list_spark_files, reading, spark_path
from kip848_records.spark.threads import for_each_parallel
from kip848_records.spark.workers import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from kip848_records.engines.engine import Rows, TableWork, Work
    from kip848_records.queries.tables import Parameter, Row
    from kip848_records.sources.listing import Copy
    from kip848_records.specs.columns import TableSpec

LARGEST_CONTENT_BYTES: Final = 1 << 30
"""The content of a file is a column in Arrow, whose buffer doubles until it fits: it grows to 1 GiB, but not to 2."""
_SPARKS_TASKS: Final = 200
"""Spark's own default of `spark.sql.shuffle.partitions`."""


class SparkEngine:
    """The engine of clusters, catalogs and object stores (`engines.engine.Engine`)."""

    name = "spark"

    def __init__(self, spark: SparkSession, out: str = "") -> None:
        """`out`: the location of the tables; without it the engine has none."""
        self.spark = spark
        self.out = out
        self.tables = DeltaTables(spark, out)
        self._scratch: str | None = None
        self._numbers = count()

    def sql(self, text: str, **relations: DataFrame | Rows) -> DataFrame:
        """Return the answer to a query. The session is that of the rows: a stream has one of its own."""
        frames = {name: self.relation(each) for name, each in relations.items()}
        session = next((each.sparkSession for each in frames.values()), self.spark)
        return session.sql(plain(text), None, **frames)

    def relation(self, rows: pa.Table | DataFrame | Rows) -> DataFrame:
        """Return rows of this process."""
        return frame_of(self.spark, ArrowRows(rows) if isinstance(rows, pa.Table) else rows)

    def types(self, rows: DataFrame | Rows) -> dict[str, str]:
        """Return the columns of rows with their types."""
        return dict(self.relation(rows).dtypes)

    def map(self, work: Work, rows: DataFrame | Rows, schema: pa.Schema) -> DataFrame:
        """Return the result of a function over rows."""
        return map_in_arrow(self.relation(rows), work, from_arrow_schema(schema))

    def map_sorted(
        self, work: Work, rows: DataFrame | Rows, schema: pa.Schema, *, key: Sequence[str], order: Sequence[str]
    ) -> DataFrame:
        """Return the result of a function over sorted rows: one shuffle brings those of a key to one task."""
        return map_in_arrow(_sorted(self.relation(rows), key, order), work, from_arrow_schema(schema))

    def replay(self, work: TableWork, rows: DataFrame, *, key: Sequence[str], order: Sequence[str]) -> dict[str, Rows]:
        """Return what a function over sorted rows yields, by table, in files of the scratch folder."""
        schema = from_arrow_schema(union_type(ROW_CLASSES))
        path = self._path("replayed")
        tagged = map_in_arrow(_sorted(rows, key, order), partial(_tagged, work), schema)
        tagged.write.partitionBy("table").parquet(path)
        return {
            table: StagedRows(self.spark, f"{path}/table={table}", StructType([schema[table]]), table)
            for table in self._written(path)
        }

    def materialize(self, rows: DataFrame | Rows, name: str) -> StagedRows:
        """Write rows, and return the written ones."""
        frame, path = self.relation(rows), self._path(name)
        frame.write.parquet(path)
        # Its own session reads them: a stream has another one, and a text names relations of one session.
        return StagedRows(self.spark, path, frame.schema)

    def observed(self, rows: DataFrame, aggregate: str, kept: str) -> tuple[DataFrame, Callable[[], int]]:
        """Return rows with what a job over them observes."""
        found = Observation(str(uuid4()))
        observed = rows.observe(found, F.expr(aggregate).alias("found"))
        return observed.where(kept), lambda: int(found.get["found"] or 0)

    def iterate(self, rows: DataFrame) -> Iterator[Row]:
        """Yield rows, one partition after another."""
        return iter(rows.toLocalIterator())

    def collect(self, rows: DataFrame) -> list[Row]:
        """Return a few rows."""
        return named_rows(rows.toArrow())

    def listing(self) -> Listing:
        """Return what lists the files that the session sees."""
        return Listing(partial(local_path, self.spark), partial(list_spark_files, self.spark))

    def scan(self, copy: Copy) -> DataFrame:
        """Return the rows of a copy in Parquet or Delta."""
        path = spark_path(self.spark, copy.name)
        return self.spark.read.format(copy.format).load(path if copy.format == "delta" else escape_glob(path))

    def lines(self, copy: Copy) -> DataFrame:
        """Return the lines of a copy."""
        path = spark_path(self.spark, copy.name)
        return self.spark.read.text(escape_glob(path)).withColumn("value", F.col("value").cast("binary"))

    def files(self, copy: Copy) -> DataFrame:
        """Return the files of a copy, those of another file system than this machine's with their content."""
        found = self.spark.read.format("binaryFile").load([escape_glob(file) for file in copy.files])
        if all(map(is_file_uri, copy.files)):
            # Spark returns no row for an empty file. But such a file shows that its partition is empty.
            empty = [(f"file:{without_scheme(file)}",) for file in copy.files if is_empty(file)]
            paths = found.select("path")
            return paths.union(self.spark.createDataFrame(empty, paths.schema)) if empty else paths
        for row in found.filter(F.col("length") > LARGEST_CONTENT_BYTES).select("path").limit(1).collect():
            raise InputError(
                f"{row.path} is larger than 1 GiB, the limit for remote files", "copy it to a local folder"
            )
        return found.select("path", "content")

    def reading(self) -> AbstractContextManager[None]:
        """Turn failures to read a source within the block into InputErrors."""
        return reading()

    @contextmanager
    def alone(self, work_folder: str) -> Iterator[None]:
        """Keep other runs from the tables, and offer a scratch folder below `work_folder`."""
        with only_writer(self.spark, work_folder), self._scratch_folder(work_folder) as path:
            self._scratch = path
            try:
                yield
            finally:
                self._scratch = None

    def prepare(self, *, migrate: bool = True) -> list[str]:
        """Add this version's columns to the tables of an older one; return the clusters that must be rebuilt."""
        self.tables.check_schema()
        return prepare_tables(self, migrate=migrate)

    def table(self, table: str, cluster: str) -> DataFrame:
        """Return the newest rows of one cluster in a table."""
        return self.tables.rows(table, cluster)

    def ask(self, text: str, *tables: str, **parameters: Parameter) -> list[Row]:
        """Return the answer to a query over the newest rows of some tables."""
        return newest_rows(self.spark, self.out, text, *tables, **parameters)

    def replace(self, spec: TableSpec, cluster: str, rows: DataFrame | Rows | None) -> None:
        """Replace a cluster's rows: delta-rs writes rows of this process where it can."""
        tables = self.tables
        if rows is None or isinstance(rows, DataFrame) or not tables.replace_by_arrow(spec, cluster, rows.batches()):
            tables.replace(spec, cluster, None if rows is None else self.relation(rows))

    def append(self, spec: TableSpec, cluster: str, rows: DataFrame, *, application: str, number: int) -> None:
        """Append rows in one commit, but not a second time."""
        self.tables.append(spec, cluster, rows, application=application, number=number)

    def delete(self, spec: TableSpec, cluster: str, rows: DataFrame | Rows, keys: Sequence[str]) -> None:
        """Delete rows by their keys."""
        self.tables.delete_matching(spec.name, cluster, self.relation(rows), keys)

    def for_each(self, work: Callable[[Any], object], items: Iterable[Any]) -> None:
        """Do the work for each item, some at a time: small jobs leave cores idle."""
        for_each_parallel(work, items)

    def _path(self, name: str) -> str:
        if self._scratch is None:
            message = "rows are staged only within `alone`"
            raise RuntimeError(message)
        return f"{self._scratch}/{next(self._numbers)}-{name}"

    def _written(self, path: str) -> set[str]:
        """Return the tables with rows: each has a folder. Without any there is nothing that Spark could read."""
        if (folder := local_path(self.spark, path)) is not None:
            folders = [each.name for each in folder.iterdir()]
        else:
            files = self.spark.read.schema("x int").parquet(escape_glob(path)).inputFiles()
            folders = [file.rpartition("/")[0].rpartition("/")[2] for file in files]
        return {folder.partition("=")[2] for folder in folders if "=" in folder}

    @contextmanager
    def _scratch_folder(self, work_folder: str) -> Iterator[str]:
        """Yield a folder that is removed when the block ends."""
        staging = f"{work_folder.rstrip('/')}/{STAGING}"
        if (folder := local_path(self.spark, work_folder)) is not None:
            # After an interrupt the JVM may not answer, so it is not asked for the folder.
            with scratch_folder(folder, work_folder) as scratch:
                yield f"{staging}/{scratch.name}"
            return
        path = f"{staging}/{uuid4()}"
        try:
            yield path
        finally:
            # Files on an object store cannot be deleted from here: an empty table remains.
            self.spark.createDataFrame([], "removed string").write.mode("overwrite").parquet(path)


def _sorted(rows: DataFrame, key: Sequence[str], order: Sequence[str]) -> DataFrame:
    # Without a number Spark merges partitions that are small in bytes, although their work takes long.
    tasks = shuffle_tasks(rows.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    return rows.repartition(tasks, *key).sortWithinPartitions(*key, *order)


def shuffle_tasks(setting: str | None) -> int:
    """Return the number of tasks of a shuffle by its setting, which Databricks sets to ``auto``."""
    return int(setting) if setting is not None and setting.isdecimal() else _SPARKS_TASKS


def _tagged(work: TableWork, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return union_batches(ROW_CLASSES, work(batches))
