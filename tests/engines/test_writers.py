"""One writer at a time, and what is said to the second one, and where nothing can be written."""

import errno
import fcntl
import subprocess
import sys
from contextlib import contextmanager
from threading import Thread
from time import monotonic, sleep
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from kip848_records.engines.spark.tables import DeltaTables
from kip848_records.engines.spark.writers import is_locked, only_writer
from kip848_records.errors import InputError
from kip848_records.machine.disks import DiskError
from kip848_records.tables.registry import TABLES
from tests.sessions import BOTH
from tests.small_disks import small_disk

HOLDER = """
import sys
from kip848_records.engines.spark.writers import only_writer
with only_writer(None, sys.argv[1]):
    print("in", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holding(out):
    """Another process that writes to `out` until the block ends."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, out], stdin=-1, stdout=-1, text=True) as holder:
        assert holder.stdout.readline() == "in\n"
        try:
            yield holder
        finally:
            holder.kill()


def refusal(out):
    with pytest.raises(InputError) as refused, only_writer(None, out):
        pytest.fail("there were two writers")
    return str(refused.value)


class TestLock:
    # Without Spark: who writes file: needs no file system of its.
    @pytest.mark.process
    @pytest.mark.process
    def test_a_second_process_is_refused_until_the_first_is_killed(self, tmp_path):
        """It does not wait: the first one goes on until it is killed."""
        out = f"file:{tmp_path}/new/out"
        with holding(out) as holder:
            assert refusal(out).startswith(f"another run writes to the tables in {out}; wait until it ends")
            holder.kill()
            holder.wait()
            with only_writer(None, out):
                pass

    def test_a_second_writer_in_one_process_is_refused_and_a_later_one_is_not(self, tmp_path):
        out = f"file:{tmp_path}"
        with only_writer(None, out):
            assert "another run writes to" in refusal(out)
            assert "another run writes to" in refusal(out)
        with pytest.raises(KeyError), only_writer(None, out):
            raise KeyError
        with only_writer(None, out):
            pass

    def test_a_lock_leaves_nothing_in_the_folder(self, tmp_path):
        with only_writer(None, f"file:{tmp_path}"):
            assert not [*tmp_path.iterdir()]

    def test_folders_are_locked_one_by_one(self, tmp_path):
        with only_writer(None, f"file:{tmp_path}/a"), only_writer(None, f"file:{tmp_path}/b"):
            pass

    @pytest.mark.parametrize("out", ["a file", "a file/below", "/proc/self/none"])
    def test_where_nothing_can_be_written(self, tmp_path, out):
        (tmp_path / "a file").touch()
        out = f"file:{tmp_path / out}"
        assert refusal(out).startswith(f"nothing can be written to {out}: ")

    def test_an_object_store_has_no_lock(self):
        with only_writer(None, "s3://bucket/out"), only_writer(None, "s3://bucket/out"):
            assert not is_locked(None, "s3://bucket/out")

    def test_a_lock_is_seen_while_it_is_held(self, tmp_path):
        out = f"file:{tmp_path}/new"
        assert not is_locked(None, out)
        with only_writer(None, out):
            assert is_locked(None, out)
            assert "another run writes to" in refusal(out)  # still: who asks does not take it
        assert not is_locked(None, out)

    def test_a_volume_that_cannot_be_locked(self, tmp_path, monkeypatch):
        def refuse(*_):
            raise OSError(errno.ENOLCK, "no locks here")

        monkeypatch.setattr(fcntl, "flock", refuse)
        with only_writer(None, f"file:{tmp_path}"):
            assert not is_locked(None, f"file:{tmp_path}")


class TestFullDisk:
    def test_spark_finds_no_space(self, spark, tmp_path):
        rows = spark.range(200_000, numPartitions=1).select(F.expr("uuid()").alias("noise"))
        with small_disk(tmp_path / "disk") as disk:
            out = str(disk / "out")
            with pytest.raises(DiskError) as full, only_writer(spark, out):
                rows.write.format("delta").save(f"{out}/noise")
        assert full.value.message.startswith("there is no space left on a disk (")
        assert f"is free on the disk of {out}" in full.value.message

    @pytest.mark.parametrize("free", ["1m", "4k"])
    def test_delta_rs_finds_no_space(self, classic, tmp_path, free):
        """Spark is not asked to write the same rows again."""
        noise = pa.array([uuid4().hex for _ in range(100_000)])
        rows = pa.table({"topic_id": noise, "topic": noise, "source": noise})
        with small_disk(tmp_path / "disk", free) as disk:
            tables = DeltaTables(classic, str(disk / "out"))
            with pytest.raises(DiskError, match="there is no space left on a disk") as full:
                tables.replace_by_arrow(TABLES["topic_name"], "prod", rows.to_batches())
        assert f"is free on the disk of {tables.out}" in full.value.message


@contextmanager
def another_at_work(folder, change):
    """Yield a function of a column: whoever computes it, with a snapshot read, waits until `change` was made."""
    began, changed = folder / "began", folder / "changed"

    def waiting(column):
        @F.udf("string")
        def wait(value):
            began.touch()
            wait_for(changed)
            return value

        return wait(column)

    def make():
        wait_for(began)
        try:
            change()
        finally:
            changed.touch()

    other = Thread(target=make, daemon=True)
    other.start()
    try:
        yield waiting
    finally:
        began.touch()
        other.join()


def wait_for(file):
    last = monotonic() + 60
    while not file.exists() and monotonic() < last:
        sleep(0.05)


class TestConflict:
    @pytest.mark.parametrize(
        "condition", ["CONCURRENT_DELETE_READ.WITHOUT_HINT", "METADATA_CHANGED", "PROTOCOL_CHANGED"]
    )
    def test_a_condition_of_delta_in_a_text(self, tmp_path, condition):
        with pytest.raises(InputError, match="another run writes to") as refused, only_writer(None, f"file:{tmp_path}"):
            raise RuntimeError(f"a class of Java: [DELTA_{condition}] because\nof this")
        assert "\n" not in str(refused.value)

    @BOTH
    def test_as_delta_raises_it(self, spark, tmp_path):
        table = f"delta.`{tmp_path}/table`"
        spark.range(3).write.format("delta").save(f"{tmp_path}/table")
        with another_at_work(tmp_path, lambda: spark.sql(f"DELETE FROM {table} WHERE id = 1")) as waiting:  # noqa: S608
            rows = spark.range(1, 2).select(waiting("id").alias("id"))
            merge = f"MERGE INTO {table} t USING {{rows}} s ON t.id = s.id WHEN MATCHED THEN DELETE"
            with pytest.raises(InputError, match="another run writes to"), only_writer(spark, str(tmp_path)):
                spark.sql(merge, None, rows=rows)

    def test_two_first_runs_without_a_lock(self, spark, tmp_path):
        """Neither finds rows of the cluster; with both runs' rows, every table would hold them twice."""
        tables, spec = DeltaTables(spark, str(tmp_path / "out")), TABLES["topic_name"]
        tables.create(spec)
        ours, theirs = topic_names(spark, "ours"), topic_names(spark, "theirs")
        with another_at_work(tmp_path, lambda: tables.replace(spec, "prod", theirs)) as waiting:
            ours = ours.withColumn("topic", waiting("topic"))
            with pytest.raises(InputError, match="another run writes to"), only_writer(spark, "s3://bucket/out"):
                tables.replace(spec, "prod", ours)
        assert [row.topic for row in tables.rows(spec.name, "prod").collect()] == ["theirs"]


def topic_names(spark, topic):
    return spark.createDataFrame([("id", topic, "user")], "topic_id string, topic string, source string")
