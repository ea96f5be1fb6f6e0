"""What an engine does with Delta tables, equal on both, whichever of them made a table."""

import json
import shutil
from datetime import datetime
from pathlib import Path
from threading import Thread
from zoneinfo import ZoneInfo

import deltalake
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError

from kip848_records import __version__
from kip848_records.engines.delta_rs import is_conflict
from kip848_records.errors import InputError
from kip848_records.tables.errors import TablesError
from kip848_records.tables.local import create_locally, delta_schema
from kip848_records.tables.registry import TABLES
from tests.engines import engines

SPEC = TABLES["topic_name"]
ODD = "it's \\ odd \N{SNOWMAN}"
TIME = datetime(2026, 11, 1, 2, 3, 4, 5, ZoneInfo("UTC"))


@pytest.fixture(params=[engines.EMBEDDED, engines.SPARK])
def kind(request):
    return request.param


@pytest.fixture
def new(request, tmp_path):
    """A function that returns an engine for the same tables."""
    return lambda kind: engines.new_engine(
        kind, request.getfixturevalue("spark") if kind == engines.SPARK else None, tmp_path / "out"
    )


@pytest.fixture
def engine(new, kind, tmp_path):
    engine = new(kind)
    with engine.alone(str(tmp_path / "out")):
        yield engine


def topics(*ids, source="cluster"):
    return pa.table({"topic_id": pa.array(ids, pa.string()), "topic": ids, "source": [source] * len(ids)})


def rows(engine, cluster):
    found = engine.collect(engine.table(SPEC.name, cluster))
    return sorted((row.cluster, row.topic_id, row.topic, row.source) for row in found)


def replaced(engine, cluster, *ids):
    engine.replace(SPEC, cluster, engine.relation(topics(*ids)))


class TestOneTable:
    def test_there_is_none(self, engine):
        assert not engine.tables.is_there(SPEC.name)
        assert engine.tables.version(SPEC.name) is None
        assert rows(engine, "a") == []
        engine.replace(SPEC, "a", None)
        assert not engine.tables.is_there(SPEC.name)
        with pytest.raises(TablesError, match="has no table topic_name"):
            engine.ask("SELECT * FROM topic_name", SPEC.name)

    def test_rows_of_one_cluster_are_replaced_in_one_commit(self, engine):
        for cluster in ("a", ODD):
            replaced(engine, cluster, "1", "2")
        version = engine.tables.version(SPEC.name)
        replaced(engine, ODD, "3")
        assert engine.tables.version(SPEC.name) == version + 1
        assert rows(engine, ODD) == [(ODD, "3", "3", "cluster")]
        assert rows(engine, "a") == [("a", "1", "1", "cluster"), ("a", "2", "2", "cluster")]
        assert engine.ask("SELECT count(*) AS rows FROM topic_name WHERE cluster = :c", SPEC.name, c="a")[0].rows == 2

    def test_rows_are_deleted_by_their_keys(self, engine):
        replaced(engine, "a", "1", "2", "3")
        replaced(engine, ODD, "1", "2")
        version = engine.tables.version(SPEC.name)
        engine.delete(SPEC, ODD, engine.relation(topics("2", "3")), ("topic_id", "topic"))
        assert engine.tables.version(SPEC.name) == version + 1
        assert [row[1] for row in rows(engine, ODD)] == ["1"]
        assert [row[1] for row in rows(engine, "a")] == ["1", "2", "3"]

    def test_no_rows_are_written_once(self, engine):
        replaced(engine, "a", "1")
        engine.replace(SPEC, "a", None)
        assert rows(engine, "a") == []
        version = engine.tables.version(SPEC.name)
        engine.replace(SPEC, "a", None)
        assert engine.tables.version(SPEC.name) == version

    def test_rows_of_this_process_and_missing_columns(self, engine):
        spec = TABLES["partition_history"]
        given = pa.table(
            {"partition": pa.array([1], pa.int32()), "copy": ["x"], "captured_at": [TIME], "is_base": [True]}
        )
        engine.replace(spec, "a", engine.materialize(engine.relation(given), "given"))
        (row,) = engine.collect(engine.table(spec.name, "a"))
        known = {name: value for name, value in row._asdict().items() if value is not None}
        assert known == {"cluster": "a", "partition": 1, "copy": "x", "captured_at": TIME, "is_base": True}

    @pytest.mark.parametrize("partition", [None, 1 << 40])
    def test_what_does_not_fit_is_not_written(self, engine, partition):
        spec = TABLES["partition_history"]
        engine.tables.create(spec)
        given = pa.table({"partition": pa.array([partition], pa.int64()), "copy": ["x"], "is_base": [True]})
        with pytest.raises(Exception, match=r"(?i)null|overflow|bounds"):
            engine.replace(spec, "a", engine.relation(given))
        assert engine.collect(engine.table(spec.name, "a")) == []
        assert engine.tables.version(spec.name) == 0

    def test_an_append_is_made_once(self, engine):
        for number, name in [(3, "3"), (3, "again"), (2, "before"), (4, "4")]:
            engine.append(SPEC, "a", engine.relation(topics(name)), application="kip848 a", number=number)
        assert [topic for _, topic, *_ in rows(engine, "a")] == ["3", "4"]
        engine.append(SPEC, "a", engine.relation(topics("5")), application="another", number=1)
        assert [topic for _, topic, *_ in rows(engine, "a")] == ["3", "4", "5"]

    def test_what_many_runs_wrote_is_one_checkpoint(self, new, engine):
        """Without it, the next run reads all earlier commits. The engine that makes the tenth commit writes it."""
        for number in range(9):
            replaced(new(engines.EMBEDDED), "a", str(number))
        assert engine.tables.version(SPEC.name) == 9
        assert not list(Path(engine.out).rglob("_last_checkpoint"))
        replaced(engine, "a", "10")
        log = Path(engine.out) / SPEC.name / "_delta_log"
        assert json.loads((log / "_last_checkpoint").read_text())["version"] == 10
        for commit in log.glob("*[0-9].json"):
            if int(commit.stem) < 10:
                commit.unlink()
        assert rows(engine, "a") == [("a", "10", "10", "cluster")]

    def test_restored(self, engine):
        replaced(engine, "a", "1")
        version = engine.tables.version(SPEC.name)
        replaced(engine, "a", "2")
        engine.tables.restore(SPEC.name, version)
        assert rows(engine, "a") == [("a", "1", "1", "cluster")]
        engine.tables.restore(SPEC.name, None)
        assert not engine.tables.is_there(SPEC.name)
        assert rows(engine, "a") == []

    def test_optimized(self, engine):
        for number in range(2):
            engine.append(SPEC, "a", engine.relation(topics(str(number))), application="x", number=number)
        engine.tables.optimize(SPEC.name, 7)
        assert len(DeltaTable(f"{engine.out}/{SPEC.name}").file_uris()) == 1
        assert len(rows(engine, "a")) == 2

    def test_an_error_of_the_rows_is_raised_and_nothing_changes(self, engine):
        replaced(engine, "a", "1")
        broken = engine.map(engines.refused, engine.relation(topics("2")), topics().schema)
        with pytest.raises(InputError, match=r"x\.log cannot be read"), engine.reading():
            engine.replace(SPEC, "a", broken)
        assert rows(engine, "a") == [("a", "1", "1", "cluster")]


def test_only_this_user_reads_what_is_computed_once(engine, tmp_path):
    engine.materialize(engine.relation(topics("1")), "rows")
    (scratch,) = (tmp_path / "out" / "_staging").iterdir()
    assert {folder.stat().st_mode & 0o777 for folder in (scratch, scratch.parent)} == {0o700}


class TestBothEngines:
    def test_a_conflict_without_a_lock(self, new, kind, tmp_path):
        """As on a volume that cannot be locked: the rows of one of two first runs are refused."""
        engine = new(kind)
        replaced(engine, "a", "before")

        def interrupted():
            yield from topics("ours").to_batches()
            other = new(engines.EMBEDDED)
            thread = Thread(target=replaced, args=(other, "a", "theirs"))
            thread.start()
            thread.join()

        rows = type("Rows", (), {"batches": staticmethod(interrupted)})()
        said = f"another run writes to the tables in {tmp_path}/out; wait until it ends"
        with pytest.raises(TablesError, match=said):
            engine.replace(SPEC, "a", rows)
        assert [row.topic for row in engine.collect(engine.table(SPEC.name, "a"))] == ["theirs"]

    def test_a_storage_that_takes_no_commit_is_no_other_writer(self):
        assert not is_conflict(CommitFailedError("Log storage error: Generic LocalFileSystem error: No space left"))
        assert not is_conflict(DeltaError("Failed to commit transaction: no such class"))

    @pytest.mark.parametrize("name", TABLES)
    def test_tables_are_equal(self, spark, tmp_path, name):
        logs = []
        for kind in (engines.EMBEDDED, engines.SPARK):
            out = tmp_path / kind
            engines.new_engine(kind, spark, out).tables.create(TABLES[name])
            logs.append(engines.described_by_log(DeltaTable(out / name)))
        assert logs[0] == logs[1]

    @pytest.mark.spark
    def test_one_engine_goes_on_where_the_other_ended(self, new, tmp_path):
        others = {engines.EMBEDDED: engines.SPARK, engines.SPARK: engines.EMBEDDED}
        for number, kind in enumerate(others):
            engine, other = new(kind), new(others[kind])
            with engine.alone(str(tmp_path / "out")):
                replaced(engine, "a", f"replaced {number}")
                engine.append(SPEC, "a", engine.relation(topics("one more")), application="x", number=number)
                assert [topic for _, topic, *_ in rows(engine, "a")] == ["one more", f"replaced {number}"]
                version = engine.tables.version(SPEC.name)
                replaced(engine, "a", "nothing")
                other.tables.restore(SPEC.name, version)
                assert len(rows(new(others[kind]), "a")) == 2
                other.append(SPEC, "a", other.relation(topics("late")), application="x", number=number)
                assert len(rows(engine, "a")) == 2

    def test_a_spark_table_made_by_its_builder(self, new, spark, tmp_path):
        """On a volume without atomic renames Spark's own builder creates a table."""
        from delta.tables import DeltaTable as Builder  # noqa: PLC0415

        from kip848_records.engines.spark.tables import spark_schema  # noqa: PLC0415

        made = Builder.createIfNotExists(spark).location(f"{tmp_path}/out/{SPEC.name}").comment(SPEC.comment)
        made.addColumns(spark_schema(SPEC)).partitionedBy("cluster").execute()
        engine = new(engines.EMBEDDED)
        engines.new_engine(engines.EMBEDDED, None, tmp_path / "other").tables.create(SPEC)
        found, expected = (
            engines.described_by_log(DeltaTable(tmp_path / folder / SPEC.name)) for folder in ("out", "other")
        )
        assert found == expected
        replaced(engine, "a", "1")
        assert rows(new(engines.SPARK), "a") == rows(engine, "a") == [("a", "1", "1", "cluster")]


RUN = {
    "cluster": "old",
    "version": "0.0.9",
    "run": 3,
    "dialect": "kafka",
    "captured_at": TIME,
    "sources": ["x"],
    "is_copy": True,
    "has_capture_time": True,
    "offset_commits": False,
    "is_archived": False,
}
LACKING = {"audit_runs": ["table_versions"], "log": ["leader_epoch"], "topic_name": ["source"]}
LACKING_FIELDS = {"note", "source", "skipped", "error_code"}
"""Of structs of the log, and of structs in lists of structs."""
ROWS = {
    "audit_runs": RUN,
    "log": {"cluster": "old", "content": "record", "run": 3, "partition": 0, "offset": 7, "is_inferred": False},
    "topic_name": {"cluster": "old", "topic_id": "id", "topic": "orders"},
}
PROPERTY = {"delta.logRetentionDuration": "interval 9 days"}


def write_old(out, name, row):
    """Write a table without what came later, also of a struct."""
    fields = [each for each in TABLES[name].schema if each.name not in LACKING.get(name, [])]
    schema = pa.schema([each.with_type(_older(each.type)) for each in fields])
    rows = pa.Table.from_pylist([row], schema)
    deltalake.write_deltalake(out / name, rows, partition_by=["cluster"], configuration=PROPERTY)


def write_now(out, *runs):
    """Write tables as this version has them, and one run, or those of these clusters, versions and numbers."""
    for name in ROWS:
        create_locally(out / name, TABLES[name])
    found = [
        RUN | dict(zip(("cluster", "version", "run"), run, strict=True)) for run in runs or [("old", __version__, 3)]
    ]
    runs = pa.Table.from_pylist(found, TABLES["audit_runs"].schema)
    deltalake.write_deltalake(out / "audit_runs", runs, mode="append")


def _older(kind):
    if pa.types.is_list(kind):
        return pa.list_(_older(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_older(each.type)) for each in kind if each.name not in LACKING_FIELDS])
    return kind


def _shape(kind):
    """A type of Delta's, with the names of fields in any order."""
    if isinstance(kind, str):
        return kind
    if "elementType" in kind:
        return [_shape(kind["elementType"])]
    if "fields" in kind:
        return {field["name"]: _shape(field["type"]) for field in kind["fields"]}
    return {name: _shape(kind[name]) for name in ("keyType", "valueType")}


class TestOtherVersions:
    @pytest.fixture
    def old(self, tmp_path):
        write_old(tmp_path / "out", "audit_runs", RUN)
        write_old(tmp_path / "out", "log", ROWS["log"] | {"read": {"last_ms": 5}})
        write_old(tmp_path / "out", "topic_name", ROWS["topic_name"])
        return tmp_path / "out"

    @pytest.mark.usefixtures("old")
    def test_who_only_looks_changes_nothing(self, engine):
        assert engine.prepare(migrate=False) == ["old"]
        assert {engine.tables.version(name) for name in ("audit_runs", "log", "topic_name")} == {0}

    def test_the_log_and_the_runs_get_columns_and_all_else_is_emptied(self, engine, old):
        assert engine.prepare() == ["old"]
        for name in ("audit_runs", "log", "topic_name"):
            found = json.loads(DeltaTable(old / name).schema().to_json())["fields"]
            assert _shape({"fields": found}) == _shape(json.loads(delta_schema(TABLES[name]).to_json()))
        (record,) = engine.collect(engine.table("log", "old"))
        assert (record.offset, record.leader_epoch) == (7, None)
        assert {name: value for name, value in record.read.items() if value is not None} == {"last_ms": 5}
        (run,) = engine.collect(engine.table("audit_runs", "old"))
        assert (run.version, run.captured_at, run.table_versions) == ("0.0.9", TIME, None)
        assert engine.collect(engine.table("topic_name", "old")) == []
        replaced(engine, "old", "1")
        assert rows(engine, "old") == [("old", "1", "1", "cluster")]
        assert DeltaTable(old / "topic_name").metadata().configuration == PROPERTY

    def test_of_this_version(self, engine, tmp_path):
        write_now(tmp_path / "out")
        before = {name: engine.tables.version(name) for name in ROWS}
        assert engine.prepare() == []
        assert {name: engine.tables.version(name) for name in ROWS} == before

    def test_what_wrote_earlier_runs_does_not_matter(self, engine, tmp_path):
        write_now(tmp_path / "out", ("old", "0.0.9", 3), ("old", __version__, 4))
        assert engine.prepare() == []

    def test_all_clusters_must_be_rebuilt_if_one_must(self, engine, tmp_path):
        """The tables are emptied for all of them."""
        write_now(tmp_path / "out", ("old", __version__, 3), ("old", "0.0.9", 4), ("other", __version__, 1))
        assert engine.prepare() == ["old", "other"]

    @pytest.mark.parametrize("lacking", ROWS)
    def test_of_this_version_before_it_had_all_columns(self, engine, tmp_path, lacking):
        out = tmp_path / "out"
        write_now(out)
        shutil.rmtree(out / lacking)
        write_old(out, lacking, ROWS[lacking] | ({"version": __version__} if lacking == "audit_runs" else {}))
        assert engine.prepare(migrate=False) == ["old"]
        assert engine.tables.version(lacking) == 0
        assert engine.prepare() == ["old"]
        assert {*LACKING[lacking]} <= {field.name for field in DeltaTable(out / lacking).schema().fields}
        assert engine.prepare() == []

    def test_of_this_version_with_a_column_that_it_does_not_know(self, engine, tmp_path):
        out = tmp_path / "out"
        write_now(out)
        DeltaTable(out / "log").alter.add_columns([deltalake.Field("later", "string")])
        with pytest.raises(InputError, match=f"the table log in {out}/ has columns that .* does not know: later"):
            engine.prepare()

    @pytest.mark.parametrize("version", ["99.0", "0.10.0"])
    def test_of_a_newer_version(self, engine, tmp_path, version):
        write_old(tmp_path / "out", "audit_runs", RUN | {"version": version})
        said = f"the tables in {tmp_path}/out were written by version {version}, and this is {__version__}"
        for migrate in (True, False):
            with pytest.raises(InputError, match=said):
                engine.prepare(migrate=migrate)

    @pytest.mark.parametrize("name", ["audit_runs", "topic_name"])
    def test_someone_else_s_table(self, engine, tmp_path, name):
        deltalake.write_deltalake(tmp_path / "out" / name, pa.table({"topic_id": ["1"]}))
        with pytest.raises(InputError, match=f"the table {name} in {tmp_path}/out/ was not written by an audit"):
            engine.prepare()
        assert engine.tables.version(name) == 0
