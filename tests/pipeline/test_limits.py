"""Limits of the diagnosis of one's own: which rows change, and what the tables know of it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.maintain import maintain, plan
from kip848_records.pipeline.options import AuditOptions
from kip848_records.replay.diagnosis.limits import ENABLED
from kip848_records.replay.inputs import ChangedLimit
from kip848_records.specs.tables import DERIVED
from tests.audits import table_rows
from tests.equal_rows import Rows
from tests.progress import Watcher

OFF = ChangedLimit("restart_loop", "churn*", ENABLED, 0)
MORE = ChangedLimit("restart_loop", "chur?", "short_stays", 100)
OTHERS = ChangedLimit("restart_loop", "s*", ENABLED, 0)


@pytest.fixture(scope="module")
def options(captures, tmp_path_factory):
    return AuditOptions((str(captures / "kafka-4.3.1" / "segments"),), str(tmp_path_factory.mktemp("out")))


@pytest.fixture(scope="module")
def before(options):
    """The rows of each table with the defaults; the group `churn` has a restart loop."""
    found = audited(options)
    assert [(row["group_id"], row["pattern"]) for row in found["diagnosis"]] == [("churn", "restart_loop")]
    return found


def audited(options, *limits):
    run_audit(None, replace(options, limits=limits), Watcher())
    return rows_of(options)


def rows_of(options):
    return {name: Rows(table_rows(Path(options.out), name, "default")) for name in DERIVED if name != "audit_runs"}


def stored(options):
    """The limits with which each run made its rows."""
    runs = sorted(table_rows(Path(options.out), "audit_runs", "default"), key=lambda row: row["run"])
    return [row["diagnosis_limits"] for row in runs]


@pytest.mark.slow
@pytest.mark.parametrize("change", [OFF, MORE])
def test_they_change_the_rows_of_their_groups_only(options, before, change):
    changed = audited(options, change, OTHERS)
    assert not changed["diagnosis"]
    assert {name: rows for name, rows in changed.items() if rows != before[name]}.keys() == {"diagnosis"}
    assert stored(options)[-1] == [change._asdict(), OTHERS._asdict()]
    assert audited(options, OTHERS) == before


@pytest.mark.slow
def test_the_next_run_has_its_own(options, before):
    audited(options, OFF)
    assert audited(options) == before
    assert stored(options)[-2:] == [[OFF._asdict()], None]


@pytest.mark.slow
def test_tables_that_are_made_anew_have_those_of_the_run(options, before):
    changed = audited(options, OFF)
    DeltaTable(f"{options.out}/audit_runs").update({"version": "'0.0.9'"})
    engine = EmbeddedEngine(options.out)
    maintain(engine, plan(engine, timedelta(days=1)), Watcher())
    assert rows_of(options) == changed != before
    assert stored(options)[-1] == [OFF._asdict()]
