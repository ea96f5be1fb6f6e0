"""Finds the copies of the log at paths that a session sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.sources.listing import find_copies_in
from kip848_records.spark.files import SparkListing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from kip848_records.sources.listing import Copy


def find_copies(spark: SparkSession, paths: str | Iterable[str], source_format: str | None = None) -> list[Copy]:
    """Return the copies of the log at one path or several, with their formats recognised if not given.

    Raises InputError for the first path that does not exist, or has nothing of that format.
    """
    return find_copies_in(SparkListing(spark), paths, source_format)
