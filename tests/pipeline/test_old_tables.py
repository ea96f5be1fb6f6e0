"""Tables of an older version, without Spark: what changes them makes them anew of their log."""

from dataclasses import replace
from datetime import timedelta

import pytest
from deltalake import DeltaTable, write_deltalake

from kip848_records import __version__
from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.pipeline import maintain
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from tests.audits import table_rows
from tests.equal_rows import Rows
from tests.progress import Watcher

TABLES = ("group_state", "epoch_timeline", "rebalance", "latest_state")


@pytest.fixture
def old(captures, tmp_path):
    """The folder of tables that an older version wrote, and their rows."""
    source = str(captures / "kafka-4.3.1" / "segments")
    run_audit(None, AuditOptions(sources=(source,), out=str(tmp_path), cluster="old"), Watcher())
    DeltaTable(tmp_path / "audit_runs").update({"version": "'0.0.9'"})
    return tmp_path, {table: table_rows(tmp_path, table, "old") for table in TABLES}


@pytest.mark.slow
def test_maintain_makes_them_anew(old):
    out, before = old
    engine = EmbeddedEngine(str(out))
    maintain.maintain(engine, maintain.plan(engine, timedelta(days=1)), Watcher())
    for table, rows in before.items():
        assert rows
        assert Rows(table_rows(out, table, "old")) == Rows(rows)
    assert {row["version"] for row in table_rows(out, "audit_runs", "old")} == {__version__}


@pytest.mark.slow
def test_an_audit_makes_those_anew_that_lack_a_column(captures, tmp_path):
    """A version under development wrote them: its number is the same."""
    options = AuditOptions(sources=(str(captures / "kafka-4.3.1" / "segments"),), out=str(tmp_path), cluster="dev")
    run_audit(None, options, Watcher())
    before = {table: table_rows(tmp_path, table, "dev") for table in TABLES}
    rebalances = DeltaTable(tmp_path / "rebalance").to_pyarrow_table().drop_columns("blockers")
    write_deltalake(tmp_path / "rebalance", rebalances, mode="overwrite", schema_mode="overwrite")
    run_audit(None, replace(options, cluster="other"), Watcher())
    for table, rows in before.items():
        assert Rows(table_rows(tmp_path, table, "dev")) == Rows(rows)


@pytest.mark.slow
def test_an_upgrade_keeps_the_rows_of_all_clusters_and_is_done_once(captures, tmp_path):
    """Emptied tables are those of all clusters, also of one whose version is this one."""
    source = str(captures / "reports" / "group-of-commits-only.jsonl")
    options = AuditOptions(sources=(source,), out=str(tmp_path), cluster="old", offset_commits=True)
    for cluster in ("old", "other"):
        run_audit(None, replace(options, cluster=cluster), Watcher())
    before = table_rows(tmp_path, "group_state", "other")
    DeltaTable(tmp_path / "audit_runs").update({"version": "'0.0.9'"}, predicate="cluster = 'old'")
    run_audit(None, options, Watcher())
    assert Rows(table_rows(tmp_path, "group_state", "other")) == Rows(before) != Rows([])
    assert {row["version"] for row in table_rows(tmp_path, "audit_runs", "old")} == {"0.0.9", __version__}
    assert EmbeddedEngine(str(tmp_path)).prepare() == []
