"""Sources read as a run reads them."""

import pyarrow as pa

from kip848_records.engines.engine import Engine
from kip848_records.sources.listing import find_copies
from kip848_records.sources.read import LogBatch, merged_rows, read_copies, read_sources
from kip848_records.sources.transactions import without_aborted
from tests.log_rows import table_of


def read_rows(engine: Engine, paths, source_format=None) -> pa.Table:
    """The log rows at some paths, one or several, with offset commits."""
    with engine.reading():
        return table_of(read_copies(engine, paths, source_format))


def read_batch(engine: Engine, paths, *, offset_commits) -> LogBatch:
    """The batch of the copies at some paths, one or several."""
    return read_sources(engine, find_copies(engine.listing(), paths), offset_commits=offset_commits)


def merged(engine: Engine, batch: LogBatch) -> pa.Table:
    """The rows of a batch, each record once."""
    return table_of(without_aborted(engine, merged_rows(engine, batch))[0])
