"""Tables that nobody keeps: they have the rows of those that an audit writes."""

from dataclasses import replace
from pathlib import Path

import pytest

from kip848_records.engines.embedded import relations
from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.engines.embedded.unwritten import UnwrittenEngine
from kip848_records.pipeline.audit import audit_into
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from tests.progress import Watcher


def rows_of(tables, name):
    """All rows of a table but the times of the run, in any order."""
    rows = tables.arrow(f"SELECT * FROM {name}")  # noqa: S608
    of_runs = [column for column in ("run_info", "read") if column in rows.column_names]
    return sorted(map(repr, rows.drop_columns(of_runs).to_pylist()))


@pytest.mark.slow
@pytest.mark.parametrize("in_memory", [relations.IN_MEMORY, 0], ids=["in memory", "in files"])
def test_rows_are_those_of_written_tables(captures, tmp_path, monkeypatch, in_memory):
    monkeypatch.setattr(relations, "IN_MEMORY", in_memory)
    options = AuditOptions((str(captures / "kafka-4.3.1" / "segments"),), str(tmp_path / "out"), offset_commits=True)
    audit_into(EmbeddedEngine(options.out), options, Watcher())
    written = DuckTables(options.out)
    with UnwrittenEngine() as engine:
        audit_into(engine, replace(options, out=engine.out), Watcher())
        unwritten, count = engine.answers(), 0
        assert unwritten.names() == written.names()
        for name in written.names() - {"audit_runs"}:
            assert rows_of(unwritten, name) == rows_of(written, name), name
            count += len(rows_of(written, name))
        assert count > 100
        assert list(Path(engine.out).iterdir()) == []
        scratch = Path(engine.out).parent
        assert any(scratch.rglob("*.parquet")) == (in_memory == 0)
    assert not scratch.exists()
