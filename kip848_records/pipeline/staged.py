"""Rows on their way into a table. Arrow reads them if they are on this machine, else Spark does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from kip848_records.machine.paths import local_path
from kip848_records.queries.duck import filtered
from kip848_records.spark.files import escape_glob
from kip848_records.spark.workers import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    Complete = Callable[[pa.RecordBatch], pa.RecordBatch]


# A list has up to a hundred rows (`replay.arrow_rows`).
_ROWS: Final = 10_000
_LISTS: Final = 100


class Rows(Protocol):
    """Rows that both engines read."""

    def frame(self) -> DataFrame:
        """Return the rows for Spark."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows, read in this process."""


@dataclass(frozen=True)
class StagedRows:
    """Rows in the Parquet files of a folder.

    `inlined`: the column of lists of structs whose elements are the rows; None: the files contain the rows directly.
    """

    spark: SparkSession
    path: str
    schema: StructType
    inlined: str | None = None

    def frame(self) -> DataFrame:
        """Return the rows for Spark."""
        rows = self.spark.read.schema(self.schema).parquet(escape_glob(self.path))
        return rows if self.inlined is None else rows.select(F.inline(self.inlined))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows; Spark collects those on an object store first."""
        folder = local_path(self.spark, self.path)
        if folder is None:
            yield from self.frame().toArrow().to_batches()
            return
        # Spark writes timestamps as INT96.
        files = ds.dataset(str(folder), format=ds.ParquetFileFormat(coerce_int96_timestamp_unit="us"))
        for batch in files.to_batches(batch_size=_LISTS if self.inlined else _ROWS):
            if batch.num_rows:
                yield batch if self.inlined is None else pa.RecordBatch.from_struct_array(batch[self.inlined].flatten())


@dataclass(frozen=True)
class ArrowRows:
    """Rows in memory."""

    spark: SparkSession
    table: pa.Table

    def frame(self) -> DataFrame:
        """Return the rows for Spark."""
        return self.spark.createDataFrame(self.table)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        yield from self.table.to_batches()


@dataclass(frozen=True)
class CompletedRows:
    """Rows with columns that the replay does not know: `complete` adds them to a batch."""

    rows: Rows
    complete: Complete

    def frame(self) -> DataFrame:
        """Return the rows for Spark."""
        frame = self.rows.frame()
        none = pa.RecordBatch.from_pylist([], to_arrow_schema(frame.schema))
        return map_in_arrow(frame, partial(_each, self.complete), from_arrow_schema(self.complete(none).schema))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        return _each(self.complete, self.rows.batches())


@dataclass(frozen=True)
class TableRows:
    """The rows of the table `name`: those of all `parts`, except those that match the condition `unless`, in SQL."""

    name: str
    parts: Sequence[Rows]
    unless: str | None = None

    def frame(self) -> DataFrame:
        """Return the rows for Spark."""
        frame, *more = (part.frame() for part in self.parts)
        for each in more:
            frame = frame.unionByName(each, allowMissingColumns=True)
        return frame if self.unless is None else frame.alias(self.name).where(self._condition)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        for part in self.parts:
            for batch in part.batches():
                yield from [batch] if self.unless is None else filtered(self.name, batch, self._condition)

    @property
    def _condition(self) -> str:
        return f"NOT coalesce({self.unless}, false)"


def _each(complete: Complete, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return map(complete, batches)
