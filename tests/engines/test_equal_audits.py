"""An audit by either engine writes the same tables, reports the same, and fails in the same way.

The product is its own oracle: one engine for the other.
"""

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kip848_records.engines.scratch import STAGING
from kip848_records.errors import InputError, Kip848Error
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.engines import open_tables
from kip848_records.tables.location import schema_location
from kip848_records.tables.registry import TABLES
from tests.engines.engines import EMBEDDED, SPARK, described_by_log, new_engine
from tests.engines.equal_cases import (
    AUDITS,
    ERRORS,
    LARGE_AUDITS,
    WITH_RECORD_TABLES,
    capture,
    of_every_kind,
    of_one_partition,
)
from tests.equal_rows import Rows
from tests.progress import Watcher
from tests.sessions import ON_CONNECT

WITHOUT_ROWS = {"anomaly", "group_configuration", "topic_content"}
"""The tables of which no source of every kind has a row."""
SMALL_LOGS = ("reports/poll-timeout-loop.jsonl", "reports/group-of-commits-only.jsonl")
SHAPES_OF_TABLES = ("audit_runs", "log", "diagnosis", "group_state")
"""Tables that have each type among them: maps, bytes, lists of structs, and plain ones."""
RESTORED = "log"
"""The table that a run that fails restores; Spark takes seconds for each, whatever its rows are."""


def audited(spark, options, out):
    """Audit; return what was said on the way and in the end, without the names of folders."""
    said = Watcher()
    try:
        ended = replace(run_audit(spark, replace(options, out=str(out)), said), options=None)
    except Kip848Error as error:
        ended = type(error), error.exit_code, str(error).replace(str(out), "OUT")
    notes = [note.replace(str(out), "OUT") for note in said.notes]
    return {"ended": ended, "phases": said.phases, "rows": said.rows, "notes": notes}


def tables_of(out):
    return {path.parent.name: DeltaTable(path.parent) for path in out.glob("*/_delta_log")}


def rows_of(out):
    """Table -> rows. When a run read the log differs, and so may versions: Spark commits nothing for no rows."""
    tables = tables_of(out)
    rows = {name: [timeless(row) for row in rows_in(tables, name)] for name in tables}
    for run in rows.get("audit_runs", ()):
        run["table_versions"] = [name for name, _ in run["table_versions"] or ()]
    return {name: Rows(found) for name, found in rows.items()}


def names_its_versions(out):
    """Whether the only run names the present versions of tables."""
    tables = tables_of(out)
    named = [run["table_versions"] for run in rows_in(tables, "audit_runs")]
    return all(tables[name].version() == version for versions in named for name, version in versions)


def rows_in(tables, name):
    return tables[name].to_pyarrow_table().to_pylist() if name in tables else []


def timeless(row):
    return row | {"run_info": row["run_info"] | {"read_ms": None}} if row.get("run_info") else row


def described(out):
    """Table -> what its Delta log says of it."""
    return {name: described_by_log(table) for name, table in tables_of(out).items()}


def entries(out, but=()):
    return sorted(path.name for path in out.iterdir() if path.name not in but) if out.exists() else None


def compared(spark, captures, folder, case, *, of_spark=SPARK, left=()):  # noqa: PLR0913 - two of them by name
    """Compare the audits of a case by both engines; return its options, the rows of each table, and how they ended.

    `left`: what Spark leaves in its folder besides.
    """
    (folder / "in").mkdir()
    options = AuditOptions(**{"out": "", **case(folder / "in", captures)})
    outs = folder / EMBEDDED, folder / of_spark
    found = [audited(session, options, out) for session, out in zip((None, spark), outs, strict=True)]
    assert found[0] == found[1]
    assert entries(outs[0]) == entries(outs[1], but=left)
    rows = rows_of(outs[0])
    assert rows == rows_of(outs[1])
    assert described(outs[0]) == described(outs[1])
    assert all(map(names_its_versions, outs))
    return options, rows, found[0]["ended"]


@pytest.fixture(scope="module")
def every_kind(spark, captures, tmp_path_factory):
    """The folder of the audits of sources of every kind, by engine, with their options and rows."""
    folder = tmp_path_factory.mktemp("every")
    options, tables, ended = compared(spark, captures, folder, of_every_kind)
    assert not isinstance(ended, tuple)
    return folder, options, tables


@pytest.mark.essential
def test_tables_of_every_kind_of_source_are_equal(every_kind):
    _, _, tables = every_kind
    assert {table for table, rows in tables.items() if not rows} == WITHOUT_ROWS


@ON_CONNECT
def test_tables_of_a_session_of_connect_are_equal(spark, captures, tmp_path):
    """A path may be on the machine of the server: Spark reads and writes what this process does for other sessions."""
    options, tables, ended = compared(spark, captures, tmp_path, of_one_partition, left=(STAGING,))
    assert not isinstance(ended, tuple)
    out = tmp_path / SPARK
    opened = open_tables(str(out), SPARK, session=lambda: spark, note=pytest.fail)
    found = opened.newest(
        "SELECT group_id, state FROM group_state WHERE cluster = :c", "group_state", c=options.cluster
    )
    assert {*found} == {(row["group_id"], row["state"]) for row in tables["group_state"]} != set()


@pytest.mark.parametrize("name", AUDITS)
def test_tables_are_equal(spark, captures, tmp_path, name):
    """Spark writes to a folder whose name has what its paths and patterns could take for something else."""
    _, _, ended = compared(spark, captures, tmp_path, AUDITS[name], of_spark="a [b] 50% #1 \N{SNAKE}, c")
    assert not isinstance(ended, tuple)


@pytest.mark.nightly
@pytest.mark.parametrize("name", LARGE_AUDITS)
def test_tables_of_large_logs_are_equal(spark, captures, tmp_path, name):
    _, _, ended = compared(spark, captures, tmp_path, LARGE_AUDITS[name])
    assert not isinstance(ended, tuple)


@pytest.fixture
def schema(spark, tmp_path):
    """A schema of a catalog, and the folder of its tables."""
    name = "kip848_equal"
    spark.sql(f"CREATE SCHEMA {name} LOCATION '{tmp_path / name}'")
    yield schema_location("spark_catalog", name), tmp_path / name
    spark.sql(f"DROP SCHEMA {name} CASCADE")


def test_what_is_in_the_topic_is_equal_and_so_is_a_schema(spark, schema, captures, tmp_path):
    place, folder = schema
    given = capture(WITH_RECORD_TABLES, topic_content=True)(None, captures)
    run_audit(None, AuditOptions(out=str(tmp_path / "out"), **given), Watcher())
    run_audit(spark, AuditOptions(out=place, scratch=str(tmp_path / "scratch"), **given), Watcher())
    embedded, in_schema = rows_of(tmp_path / "out"), rows_of(folder)
    assert embedded.keys() == in_schema.keys()
    assert {name for name in embedded if embedded[name] != in_schema[name]} <= {"audit_runs"}
    assert embedded["topic_content"]


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_equal(spark, captures, tmp_path, name):
    _, _, (kind, code, _) = compared(spark, captures, tmp_path, ERRORS[name])
    assert issubclass(kind, Kip848Error)
    assert code == 2


def contents(out):
    """Table -> rows, without what tells one run from another."""
    rows = rows_of(out)
    del rows["audit_runs"]
    nameless = {"run": None, "run_info": None}
    rows["log"] = Rows({**row, **nameless} for row in rows["log"])
    return rows


def test_each_engine_audits_again_where_the_other_did(spark, captures, tmp_path):
    """Runs have their numbers, other clusters stay, and a failure leaves everything as it was."""
    out = tmp_path / "out"
    options, other = (AuditOptions(sources=(str(captures / log),), out=str(out), cluster=log) for log in SMALL_LOGS)
    run_audit(None, other, Watcher())
    first = None
    for run, session in enumerate((None, spark, None), start=1):
        assert run_audit(session, options, Watcher()).run == run
        found = contents(out)
        first = first or found
        assert found == first
        versions = {name: table.version() for name, table in tables_of(out).items()}
        with pytest.raises(InputError, match="not copied at"):
            run_audit(session, replace(options, captured_at=datetime(2020, 1, 1, tzinfo=UTC)), Watcher())
        assert contents(out) == first
        changed = {name for name, table in tables_of(out).items() if table.version() != versions[name]}
        assert changed == {"log"}  # which was restored


@pytest.mark.parametrize(("writer", "other"), [(EMBEDDED, SPARK), (SPARK, EMBEDDED)])
def test_each_engine_reads_appends_to_and_restores_tables_of_the_other(spark, every_kind, tmp_path, writer, other):
    folder, options, _ = every_kind
    for name in SHAPES_OF_TABLES:
        shutil.copytree(folder / writer / name, tmp_path / "out" / name)
    engine = new_engine(other, spark, tmp_path / "out")
    with engine.alone(str(tmp_path / "out")):
        for name in SHAPES_OF_TABLES:
            check_table(engine, tmp_path / "out", name, options.cluster)


def check_table(engine, out, name, cluster):
    table = DeltaTable(out / name)
    written = Rows(table.to_pyarrow_table().to_pylist())
    assert len(written) > 0
    assert collected(engine, name, cluster) == written
    one = engine.sql("SELECT * FROM {rows} LIMIT 1", rows=engine.table(name, cluster))
    engine.append(TABLES[name], cluster, one, application="another", number=1)
    assert len(rows_in(tables_of(out), name)) == len(written) + 1
    if name == RESTORED:
        engine.tables.restore(name, table.version())
        assert Rows(rows_in(tables_of(out), name)) == written
    assert described_by_log(DeltaTable(out / name)) == described_by_log(table)


def collected(engine, name, cluster):
    names = TABLES[name].schema.names
    batches = list(engine.materialize(engine.table(name, cluster), uuid4().hex).batches())
    rows = pa.Table.from_batches(batches).select(names).cast(TABLES[name].schema) if batches else None
    return Rows(rows.to_pylist() if rows else [])
