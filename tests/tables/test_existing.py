"""Tables that another version of this package wrote: an older one's are brought up to date, a newer one's refused."""

import shutil
from datetime import datetime, timedelta, timezone

import pytest
from delta.tables import DeltaTable
from deltalake import DeltaTable as Table
from pyspark.sql import functions as F

from kip848_records import __version__, check
from kip848_records.cli import main
from kip848_records.errors import InputError
from kip848_records.maintain import Retention, plan
from kip848_records.tables.existing import prepare_tables
from kip848_records.tables.specs import READ_SCHEMA, TABLES
from tests.audits import table_rows
from tests.made_tables import rows_of
from tests.quality.logs import Case, dump, lose, told
from tests.quality.stories import one

OTHER = "it's \\ other"
LACKING = {
    "audit_runs": ["run", "offset_commits", "is_set_aside", "partitions"],
    "consumer_group_metadata": ["is_inferred", "metadata_hash"],
    "group_event": ["timestamp"],
    "quarantine": ["position"],
}
ROWS = {
    "audit_runs": {"version": "0.0.9", "dialect": "kafka", "captured_at": datetime(2026, 11, 1, tzinfo=timezone.utc)},
    "consumer_group_metadata": {"group_id": "g", "epoch": 7},
    "group_event": {"group_id": "g"},
    "quarantine": {"reason": "because"},
}


@pytest.fixture(scope="module")
def old(spark, tmp_path_factory):
    """Tables of another cluster, some without what came later, and not all."""
    out = tmp_path_factory.mktemp("old")
    for name, lacking in LACKING.items():
        rows = rows_of(spark, name, [{"cluster": OTHER, **ROWS[name]}]).drop(*lacking)
        rows.write.format("delta").partitionBy("cluster").save(str(out / name))
    return out


@pytest.fixture
def copied(old, tmp_path):
    shutil.copytree(old, tmp_path / "out")
    return tmp_path / "out"


def columns(out):
    return {
        name: {field.name for field in Table(out / name).schema().fields} for name in TABLES if (out / name).exists()
    }


def lacking(out):
    return {name: sorted(set(TABLES[name].schema.names) - there) for name, there in columns(out).items()}


def test_who_only_looks_changes_nothing(spark, old):
    before = columns(old)
    prepare_tables(spark, str(old), migrate=False)
    (found,) = plan(spark, str(old), timedelta(days=1))
    assert found == Retention(OTHER, found.since_ms, {}, is_copy=True)
    assert columns(old) == before
    assert lacking(old) == {name: sorted(each) for name, each in LACKING.items()}


def test_tables_that_are_older_than_audit_runs_get_their_columns_too(spark, copied):
    shutil.rmtree(copied / "audit_runs")
    prepare_tables(spark, str(copied))
    assert not any(lacking(copied).values())


def test_a_column_of_fields_gets_those_that_it_lacks(spark, tmp_path):
    old = rows_of(spark, "log", [{"cluster": OTHER}]).withColumn("read", F.col("read").dropFields("last_ms"))
    old.write.format("delta").partitionBy("cluster").save(str(tmp_path / "log"))
    prepare_tables(spark, str(tmp_path))
    log = spark.read.format("delta").load(str(tmp_path / "log"))
    assert {*log.select("read.*").columns} == {*READ_SCHEMA.names}
    assert log.where("read.last_ms IS NULL").count() == 1


def test_tables_of_this_version_are_left_alone(spark, copied):
    prepare_tables(spark, str(copied))
    path = str(copied / "audit_runs")
    DeltaTable.forPath(spark, path).update(set={"version": f"'{__version__}'"})
    versions = {name: Table(copied / name).version() for name in LACKING}
    prepare_tables(spark, str(copied))
    assert {name: Table(copied / name).version() for name in LACKING} == versions


@pytest.mark.parametrize("name", ["audit_runs", "topic_name"])
def test_someone_else_s_table_of_the_same_name_is_left_alone(spark, tmp_path, name):
    spark.range(2).selectExpr("id AS topic_id").write.format("delta").save(str(tmp_path / name))
    with pytest.raises(InputError, match=f"the table {name} in {tmp_path}/ is not of an audit; name another place"):
        prepare_tables(spark, str(tmp_path))
    assert columns(tmp_path) == {name: {"topic_id"}}


@pytest.mark.parametrize("version", ["99.0.0", "0.10.0"])
def test_tables_of_a_newer_version_are_refused(spark, capsys, tmp_path, version):
    runs = rows_of(spark, "audit_runs", [{"cluster": "new", **ROWS["audit_runs"], "version": version}])
    runs.write.format("delta").save(str(tmp_path / "audit_runs"))
    for migrate in (True, False):
        with pytest.raises(InputError) as refused:
            prepare_tables(spark, str(tmp_path), migrate=migrate)
        said = f"the tables in {tmp_path} were written by version {version}, and this is {__version__}"
        assert str(refused.value).startswith(said)
    assert main(["maintain", str(tmp_path), "--keep", "1d"]) == 2
    assert f"error: {said}\n" in capsys.readouterr().err


def test_an_audit_beside_the_rows_of_an_older_version(spark, capsys, copied, tmp_path):
    story, *_ = one("g")
    dump([Case("r", "s", "pass", lambda _: lose(told(story), 3))], tmp_path / "log.parquet")
    command = ["audit", str(tmp_path / "log.parquet"), "--out", str(copied), "--cluster", "ours"]
    assert main([*command, "--max-quarantined", "0"]) == 1
    assert " rows were quarantined, more than --max-quarantined 0" in capsys.readouterr().err
    assert len(table_rows(copied, "quarantine", "ours")) == 1
    assert not any(lacking(copied).values())
    assert columns(copied).keys() == TABLES.keys() - {"log"}
    for name, row in ROWS.items():
        (there,) = table_rows(copied, name, OTHER)
        assert {column: there[column] for column in row} == row
        assert all(there[column] is None for column in LACKING[name])
    assert table_rows(copied, "group_state", "ours")
    # What is known of the older audit is still known.
    runs = {run.cluster: run.dialect for run in check._runs(spark, str(copied), None)}
    assert runs == {"ours": "kafka", OTHER: "kafka"}
    (again,) = [each for each in plan(spark, str(copied), timedelta(days=1)) if each.cluster == OTHER]
    assert again.is_copy
