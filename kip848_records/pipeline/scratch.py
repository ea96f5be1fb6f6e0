"""A scratch folder beside the tables for rows that several steps of a run read; the run removes it at its end."""

from __future__ import annotations

import shutil
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.machine.disks import DiskError
from kip848_records.machine.paths import local_path
from kip848_records.pipeline.staged import StagedRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Scratch:
    """A folder for rows that are computed once and read several times."""

    path: str

    def materialize(self, rows: DataFrame, name: str) -> DataFrame:
        """Write `rows` and return the written rows, which can be read several times."""
        return self.stage(rows, name).frame()

    def stage(self, rows: DataFrame, name: str) -> StagedRows:
        """Write `rows` and return their location."""
        path = f"{self.path}/{name}"
        rows.write.parquet(path)
        return StagedRows(rows.sparkSession, path, rows.schema)


@contextmanager
def scratch_folder(spark: SparkSession, out: str) -> Iterator[Scratch]:
    """Yield a folder below the folder `out`, which is removed when the block ends.

    The caller holds the lock of `out` (`tables.writers.only_writer`), so files of a killed run are removed first.
    """
    path = f"{out.rstrip('/')}/_staging/{uuid.uuid4()}"
    if (folder := local_path(spark, path)) is not None:
        shutil.rmtree(folder.parent, ignore_errors=True)
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise DiskError.of_folder(out, error) from None
    try:
        yield Scratch(path)
    finally:
        # After an interrupt the JVM may not answer, so it is not asked again for the folder.
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                folder.parent.rmdir()
        else:
            # Files on an object store cannot be deleted from here: an empty table remains.
            spark.createDataFrame([], "removed string").write.mode("overwrite").parquet(path)
