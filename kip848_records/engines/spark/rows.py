"""Rows of this process, and rows in files that Spark wrote, as DataFrames: for tables that only Spark can write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, cast

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from kip848_records.engines.rows import ArrowRows, CompletedRows, TableRows
from kip848_records.machine.paths import local_path
from kip848_records.spark.files import escape_glob
from kip848_records.spark.workers import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kip848_records.engines.engine import Rows
    from kip848_records.engines.rows import Complete

# A list has up to a hundred rows (`replay.arrow_rows`).
_ROWS: Final = 10_000
_LISTS: Final = 100


@dataclass(frozen=True)
class StagedRows:
    """Rows in the Parquet files of a folder.

    `inlined`: the column of lists of structs whose elements are the rows; None: the files contain the rows directly.
    """

    spark: SparkSession
    path: str
    schema: StructType
    inlined: str | None = None

    @cached_property
    def frame(self) -> DataFrame:
        """The rows for Spark, which lists the files once."""
        rows = self.spark.read.schema(self.schema).parquet(escape_glob(self.path))
        return rows if self.inlined is None else rows.select(F.inline(self.inlined))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows; Spark collects those on an object store first."""
        folder = local_path(self.spark, self.path)
        if folder is None:
            yield from self.frame.toArrow().to_batches()
            return
        # Spark writes timestamps as INT96.
        files = ds.dataset(str(folder), format=ds.ParquetFileFormat(coerce_int96_timestamp_unit="us"))
        for batch in files.to_batches(batch_size=_LISTS if self.inlined else _ROWS):
            if batch.num_rows:
                yield batch if self.inlined is None else pa.RecordBatch.from_struct_array(batch[self.inlined].flatten())


def frame_of(spark: SparkSession, rows: DataFrame | Rows) -> DataFrame:
    """Return rows for Spark."""
    if isinstance(rows, StagedRows):
        return rows.frame
    if isinstance(rows, ArrowRows):
        # Without a schema a session of Connect refuses a table that has no rows.
        return spark.createDataFrame(rows.table, from_arrow_schema(rows.table.schema))
    if isinstance(rows, CompletedRows):
        frame = frame_of(spark, rows.rows)
        none = pa.RecordBatch.from_pylist([], to_arrow_schema(frame.schema))
        return map_in_arrow(frame, partial(_each, rows.complete), from_arrow_schema(rows.complete(none).schema))
    if isinstance(rows, TableRows):
        frame, *more = (frame_of(spark, part) for part in rows.parts)
        for each in more:
            frame = frame.unionByName(each, allowMissingColumns=True)
        return frame if rows.unless is None else frame.alias(rows.name).where(rows.condition)
    return cast("DataFrame", rows)


def _each(complete: Complete, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return map(complete, batches)
