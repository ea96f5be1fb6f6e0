"""What had ended before a time: both engines leave out the same rows, of every table that retention prunes."""

from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable

from kip848_records.engines.rows import ArrowRows, TableRows
from kip848_records.engines.spark.rows import frame_of
from kip848_records.log.retention import ended_before
from kip848_records.specs.columns import TIMESTAMP
from kip848_records.tables.registry import TABLES
from tests import made_tables

PRUNED = [name for name, spec in TABLES.items() if spec.ended_at is not None]
EARLY, LATE = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 3))
SINCE_MS = 1_767_312_000_000  # 2 January 2026


def row(table, at):
    """A row all of whose times are `at`, as far as they may be null, of something that has ended."""
    columns = TABLES[table].columns
    times = {column.name: at for column in columns if column.type == TIMESTAMP and (at or not column.required)}
    known = {"status": "reconciled", "outcome": "converged", "history": "observed"}
    return times | {column.name: known[column.name] for column in columns if column.name in known}


@pytest.mark.parametrize("table", PRUNED)
def test_rows_that_ended_before_are_left_out(spark, table, tmp_path):
    made_tables.write(tmp_path, "c", **{table: [row(table, EARLY), row(table, LATE), row(table, None)]})
    rows = DeltaTable(tmp_path / table).to_pyarrow_table()
    kept = TableRows(table, [ArrowRows(rows)], ended_before(table, SINCE_MS))
    expected = [each for each in rows.to_pylist() if EARLY not in each.values()]
    assert [each for batch in kept.batches() for each in batch.to_pylist()] == expected
    assert frame_of(spark, kept).toArrow().to_pylist() == expected
