"""Which engine moves the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kip848_records.engines.engine import Engine


def new_engine(spark: SparkSession | None, out: str) -> Engine:
    """Return the engine for tables at a location: Spark's with a session, else the one in this process."""
    if spark is not None:
        from kip848_records.engines.spark import SparkEngine  # noqa: PLC0415 - it cannot be imported without Spark

        return SparkEngine(spark, out)
    from kip848_records.engines.embedded import EmbeddedEngine  # noqa: PLC0415 - DuckDB and delta-rs take a while

    return EmbeddedEngine(out)
