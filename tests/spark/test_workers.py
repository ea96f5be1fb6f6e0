"""Tasks in Python workers start at once: what Spark lets a worker forget before each task, it need not read again."""

import os
import sys
import zipfile
import zipimport

import pyarrow as pa
import pytest

from kip848_records.spark.workers import forget_archives, map_in_arrow

SCHEMA = "worker bigint, archives bigint"


def archives(batches):
    """The worker, and how many archives it has just looked through."""
    found = sum(isinstance(finder, zipimport.zipimporter) for finder in sys.path_importer_cache.values())
    for _ in batches:
        pass
    yield pa.RecordBatch.from_pydict({"worker": [os.getpid()], "archives": [found]})


def test_after_our_tasks_a_worker_reads_no_archives_before_its_next(spark):
    one = spark.range(4).coalesce(1).select("id")
    ours = {map_in_arrow(one, archives, SCHEMA).collect()[0].worker for _ in range(4)}
    others = [one.mapInArrow(archives, SCHEMA).collect()[0] for _ in range(4)]
    found = {row.worker: row.archives for row in reversed(others) if row.worker in ours}  # the first of each worker
    assert found
    assert set(found.values()) == {0}


def test_what_is_in_a_jar_can_still_be_imported(tmp_path, monkeypatch):
    jar = tmp_path / "some.jar"
    with zipfile.ZipFile(jar, "w") as file:
        file.writestr("in_a_jar.py", "answer = 42")
    monkeypatch.syspath_prepend(str(jar))
    with pytest.raises(ModuleNotFoundError):
        __import__("not_in_a_jar")
    assert isinstance(sys.path_importer_cache[str(jar)], zipimport.zipimporter)
    forget_archives()
    assert str(jar) not in sys.path_importer_cache
    assert __import__("in_a_jar").answer == 42
