"""Sources read as a run reads them."""

from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.sources.listing import find_copies
from kip848_records.sources.read import read_sources


def read_batch(spark, paths, *, offset_commits):
    """The batch of the copies at some paths, one or several."""
    engine = SparkEngine(spark)
    return read_sources(engine, find_copies(engine.listing(), paths), offset_commits=offset_commits)
