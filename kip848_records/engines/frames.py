"""Spark's engine for the functions that take DataFrames: importing them takes no PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kip848_records.engines.engine import Engine


def engine_of(rows: DataFrame) -> Engine:
    """Return the engine of a DataFrame's session."""
    from kip848_records.engines.spark.engine import SparkEngine  # noqa: PLC0415 - the other engine needs no PySpark

    return SparkEngine(rows.sparkSession)
