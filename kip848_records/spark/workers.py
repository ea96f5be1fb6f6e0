"""Spark's Python workers: the one module that sends work to them."""

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
    """Return the result of `work` on rows, as `DataFrame.mapInArrow` does, with tasks that start without delay."""
    return rows.mapInArrow(partial(_run, work), schema)


def forget_archives() -> None:
    """Make Python forget which zip files and jars it has searched for modules; it searches again on demand.

    Before every task Spark makes a worker search all locations of its imports again (`setup_spark_files` in
    `pyspark.worker_util`). These include PySpark's own archive, Spark's jar, and those of `spark.jars.packages`.
    Reading all their tables of contents takes Python longer than most tasks.
    """
    for place, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[place]


def _run(work: Work, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    forget_archives()
    return work(batches)
