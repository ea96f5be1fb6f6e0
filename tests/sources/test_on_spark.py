"""What Spark alone has: its own folder, file systems and tasks, its errors, and the plans of its queries."""

import shutil

import pyarrow.compute as pc
import pytest
from chispa.schema_comparer import assert_schema_equality
from pyspark.sql import functions as F

from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.errors import InputError
from kip848_records.sources.copies import drop_copies, merge_copies
from kip848_records.sources.read import read_log
from kip848_records.sources.topic.address import Topic
from kip848_records.sources.topic.spark_rows import LOG_SCHEMA, _log_rows
from kip848_records.spark.files import reading
from tests import made_tables
from tests.log_rows import assert_same_rows, log_of
from tests.sources.batches import read_rows
from tests.sources.test_segments import ODD_NAMES

URL = "kafka://localhost:9092/__consumer_offsets"


@pytest.mark.parametrize("source", ["segments", "kafka-source.parquet"])
def test_log_rows_have_the_schema_of_a_log(spark, captures, source):
    rows = read_log(spark, str(captures / "kafka-4.3.1-all-types" / source))
    assert_schema_equality(rows.schema, LOG_SCHEMA, ignore_nullable=True)


@pytest.mark.essential
def test_rows_of_the_kafka_source_are_those_of_a_dump_of_them(spark, engine, captures):
    dump = str(captures / "kafka-4.3.1-all-types" / "kafka-source.parquet")
    found = _log_rows(spark.read.parquet(dump), Topic(URL, "localhost:9092", "__consumer_offsets"))
    expected = read_rows(engine, dump)
    assert {row["copies"][0] for row in found.toArrow().to_pylist()} == {URL}
    assert_same_rows(found, expected)


@pytest.mark.parametrize("written", ["parquet", "json", "delta"])
def test_dumps_as_spark_writes_them(spark, engine, captures, tmp_path, written):
    rows = spark.read.parquet(str(captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"))
    options = {"compression": "gzip"} if written == "json" else {}
    rows.filter("partition in (1, 3)").write.format(written).partitionBy("partition").save(
        str(tmp_path / "dump"), **options
    )
    expected = read_rows(engine, str(captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"))
    expected = expected.filter(pc.field("partition").isin([1, 3]))
    assert_same_rows(read_log(spark, str(tmp_path / "dump")), expected)
    assert_same_rows(read_rows(engine, str(tmp_path / "dump")), expected)


@pytest.mark.parametrize("name", [*ODD_NAMES, "copied 2026-11-21T08:00:00"])
def test_paths_are_taken_as_they_are_written(spark, partition, expected, tmp_path, name):
    shutil.copytree(partition, tmp_path / name / "__consumer_offsets-0")
    assert_same_rows(read_log(spark, str(tmp_path / name)), expected)


@pytest.mark.parametrize("form", ["{}/", "file:{}", "file://{}"])
def test_a_path_may_end_in_a_slash_or_be_a_uri(spark, partition, expected, form):
    assert_same_rows(read_log(spark, form.format(partition)), expected)


def test_a_path_may_be_relative(spark, partition, expected):
    # The JVM keeps the folder that it was started in.
    cwd = spark.sparkContext._jvm.java.lang.System.getProperty("user.dir")
    assert_same_rows(read_log(spark, str(partition.relative_to(cwd))), expected)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("spark.sql.files.minPartitionNum", 1), ("spark.sql.files.maxPartitionBytes", 3)],
)
def test_small_segments_share_tasks_and_large_ones_do_not(spark, captures, setting, expected):
    spark.conf.set(setting, "1")
    try:
        log = read_log(spark, str(captures / "kafka-4.3.1" / "segments"))
        tasks = log.select("partition", F.spark_partition_id().alias("task")).distinct().collect()
    finally:
        spark.conf.unset(setting)
    assert len({row.partition for row in tasks}) == 3
    assert len({row.task for row in tasks}) == expected


def test_a_file_that_is_gone_when_it_is_read(spark, partition, tmp_path):
    folder = tmp_path / "__consumer_offsets-0"
    shutil.copytree(partition, folder)
    log = read_log(spark, str(folder))
    (file,) = folder.glob("*.log")
    file.unlink()
    with pytest.raises(InputError, match=f"{file} cannot be read: "), reading():
        log.collect()


def test_a_file_that_cannot_be_opened(spark, partition, tmp_path):
    folder = tmp_path / "__consumer_offsets-0"
    shutil.copytree(partition, folder)
    log = read_log(spark, str(folder))
    (file,) = folder.glob("*.log")
    file.unlink()
    file.mkdir()  # which nobody can open as a file, root neither
    with pytest.raises(InputError, match=f"^file:{file} cannot be read: Is a directory; read it as a "), reading():
        log.collect()


def test_the_jvm_reads_no_content_of_local_files(spark, partition):
    plan = read_log(spark, str(partition))._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<path:string>" in plan


def test_another_file_system(spark, partition, expected, elsewhere):
    assert_same_rows(read_log(spark, f"{elsewhere(partition)}/__consumer_offsets-0"), expected)


def test_a_file_too_large_for_another_file_system(spark, partition, elsewhere, monkeypatch):
    (file,) = partition.glob("*.log")
    monkeypatch.setattr("kip848_records.engines.spark.engine.LARGEST_CONTENT_BYTES", file.stat().st_size - 1)
    path = elsewhere(partition)
    with pytest.raises(InputError, match=rf"{path}/.*{file.name} is larger than 1 GiB.*; copy it to a local"):
        read_log(spark, path)
    assert read_log(spark, str(partition)).count() > 0


@pytest.fixture
def elsewhere(spark):
    """Show the folder above a partition's own under another file system, which needs Hadoop to be read."""

    def mount(partition):
        settings = spark.sparkContext._jsc.hadoopConfiguration()
        settings.set("fs.viewfs.mounttable.tests.link./mounted", partition.parent.as_uri())
        return "viewfs://tests/mounted"

    return mount


@pytest.mark.parametrize(("drop", "sorts"), [(drop_copies, 1), (merge_copies, 2)])
def test_the_log_is_shuffled_once_and_sorted_no_oftener_than_it_must_be(classic, drop, sorts):
    engine = SparkEngine(classic)
    plan = drop(engine, engine.relation(log_of([{"key": b"\x00\x03"}])))._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange ") == 1
    assert plan.count("Sort [") == sorts


def test_a_file_that_the_system_keeps_from_spark_is_not_called_damaged():
    java = "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:///a%20b.json. It ...\n"
    java += "Caused by: java.io.FileNotFoundException: /a b.json (Permission denied)\n\tat java.base/java.io..."
    with pytest.raises(InputError, match=r"^/a b\.json cannot be read: Permission denied; read it as"), reading():
        raise RuntimeError(java)


def test_too_little_memory_is_the_user_s_to_mend():
    with pytest.raises(InputError, match=r"ran out of memory .*; raise spark.driver.memory"), reading():
        raise RuntimeError("Job aborted: scala.MatchError: java.lang.OutOfMemoryError: Java heap space (of class ...")


def test_other_errors_stay_what_they_are():
    with pytest.raises(KeyError), reading():
        raise KeyError


def test_the_tables_of_an_audit_that_lie_elsewhere(spark, tmp_path, monkeypatch):
    made_tables.write(tmp_path, "c", audit_runs=[{"version": "1"}], group_state=[{"group_id": "g"}])
    monkeypatch.setattr("kip848_records.spark.files.local_path", lambda *_: None)
    with pytest.raises(InputError) as caught:
        read_log(spark, str(tmp_path))
    assert caught.value.message == f"{tmp_path} holds the tables of an audit, not a log"
