"""Spark's Python workers: one place from which everything that runs in them is sent there."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING
from zipimport import zipimporter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    Work = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def map_in_arrow(rows: DataFrame, work: Work, schema: StructType | str) -> DataFrame:
    """Return what Python workers make of rows, as `DataFrame.mapInArrow` does, in tasks that start at once."""
    return rows.mapInArrow(partial(_run, work), schema)


def forget_archives() -> None:
    """Make Python forget in which zip files and jars it has looked for modules; it looks again when it needs one.

    Before every task Spark lets a worker look anew at all places that it has imported from (`setup_spark_files` in
    `pyspark.worker_util`). PySpark's own archive is among them, Spark's jar, and those of `spark.jars.packages`, and to
    read all their tables of contents takes Python longer than most tasks.
    """
    for place, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[place]


def _run(work: Work, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    forget_archives()
    return work(batches)
