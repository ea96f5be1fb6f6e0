"""Tables that another version of this package wrote: an older one's are brought up to date, a newer one's refused."""

import shutil
from datetime import UTC, datetime

import pytest
from delta.tables import DeltaTable
from deltalake import DeltaTable as Table
from pyspark.sql import functions as F

from kip848_records import __version__
from kip848_records.cli import main
from kip848_records.errors import InputError
from kip848_records.tables.existing import prepare_tables
from kip848_records.tables.log import PARTITION_READ
from kip848_records.tables.registry import TABLES
from tests.audits import table_rows
from tests.made_tables import rows_of

OTHER = "it's \\ other"
OLD = "0.0.9"
RUN = {"version": OLD, "run": 3, "dialect": "kafka", "captured_at": datetime(2026, 11, 1, tzinfo=UTC)}
LACKING = {"audit_runs": ["table_versions"], "log": ["leader_epoch", "run_info"], "topic_name": ["source"]}
ROWS = {
    "audit_runs": RUN,
    "log": {"content": "record", "run": 3, "partition": 0, "offset": 7},
    "topic_name": {"topic_id": "id", "topic": "orders"},
}


@pytest.fixture(scope="module")
def old(spark, tmp_path_factory):
    """Tables of another version, and of another cluster, without what came later."""
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


def versions(out):
    return {name: Table(out / name).version() for name in LACKING}


def test_who_only_looks_changes_nothing(spark, old):
    before = versions(old)
    assert prepare_tables(spark, str(old), migrate=False) == [OTHER]
    assert versions(old) == before


def test_the_log_and_the_runs_get_columns_and_all_else_is_made_of_them(spark, copied):
    assert prepare_tables(spark, str(copied)) == [OTHER]
    assert columns(copied) == {name: set(TABLES[name].schema.names) for name in LACKING}
    (run,), (record,) = (table_rows(copied, name, OTHER) for name in ("audit_runs", "log"))
    assert (run["version"], run["table_versions"]) == (OLD, None)
    assert (record["offset"], record["leader_epoch"]) == (7, None)
    assert table_rows(copied, "topic_name", OTHER) == []


def test_a_column_of_fields_gets_those_that_it_lacks(spark, tmp_path):
    old = rows_of(spark, "log", [{"cluster": OTHER}]).withColumn("read", F.col("read").dropFields("last_ms"))
    old.write.format("delta").partitionBy("cluster").save(str(tmp_path / "log"))
    runs = rows_of(spark, "audit_runs", [{"cluster": OTHER, **RUN}])
    runs.write.format("delta").partitionBy("cluster").save(str(tmp_path / "audit_runs"))
    prepare_tables(spark, str(tmp_path))
    log = spark.read.format("delta").load(str(tmp_path / "log"))
    assert {*log.select("read.*").columns} == {*PARTITION_READ.names}
    assert log.where("read.last_ms IS NULL").count() == 1


def test_tables_of_this_version_are_left_alone(spark, copied):
    path = str(copied / "audit_runs")
    DeltaTable.forPath(spark, path).update(set={"version": f"'{__version__}'"})
    before = versions(copied)
    assert prepare_tables(spark, str(copied)) == []
    assert versions(copied) == before


@pytest.mark.parametrize("name", ["audit_runs", "topic_name"])
def test_someone_else_s_table_of_the_same_name_is_left_alone(spark, tmp_path, name):
    spark.range(2).selectExpr("id AS topic_id").write.format("delta").save(str(tmp_path / name))
    refused = f"the table {name} in {tmp_path}/ was not written by an audit; pass another location"
    with pytest.raises(InputError, match=refused):
        prepare_tables(spark, str(tmp_path))
    assert columns(tmp_path) == {name: {"topic_id"}}


@pytest.mark.parametrize("version", ["99.0.0", "0.10.0"])
def test_tables_of_a_newer_version_are_refused(spark, capsys, tmp_path, version):
    runs = rows_of(spark, "audit_runs", [{"cluster": "new", **RUN, "version": version}])
    runs.write.format("delta").save(str(tmp_path / "audit_runs"))
    for migrate in (True, False):
        with pytest.raises(InputError) as refused:
            prepare_tables(spark, str(tmp_path), migrate=migrate)
        said = f"the tables in {tmp_path} were written by version {version}, and this is {__version__}"
        assert str(refused.value).startswith(said)
    assert main(["maintain", str(tmp_path), "--keep", "1d"]) == 2
    assert f"error: {said}\n" in capsys.readouterr().err
