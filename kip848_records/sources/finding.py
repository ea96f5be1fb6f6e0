"""Finds the copies of the log at paths that a session sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.machine.paths import local_path
from kip848_records.sources.files import list_spark_files
from kip848_records.sources.listing import find_copies_in
from kip848_records.sources.local_files import list_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from kip848_records.sources.listing import Copy


def find_copies(spark: SparkSession, paths: str | Iterable[str], source_format: str | None = None) -> list[Copy]:
    """Return the copies of the log at one path or several, with their formats recognised if not given.

    Raises InputError for the first path that does not exist, or has nothing of that format.
    """
    return find_copies_in(SparkListing(spark), paths, source_format)


@dataclass(frozen=True)
class SparkListing:
    """The files that a session sees; those on this machine are listed without it, which is faster."""

    spark: SparkSession

    def files(self, path: str, below: str = "") -> list[str] | None:
        """Return the files at a path that match the pattern `below` it; None if none exists."""
        local = local_path(self.spark, path)
        return list_spark_files(self.spark, path, below) if local is None else list_files(local, below)

    def has_files(self, path: str, below: str) -> bool:
        """Return whether there are files in the folder `below` a path."""
        return bool(self.files(path, below))
