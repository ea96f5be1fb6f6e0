"""Spark's own log of a run that ended badly is removed by the next run, and no other file is."""

import os
import subprocess
import sys

import pytest

from kip848_records.spark import logs as spark_logs
from tests import users

# A run whose JVM, here a shell, goes on when the run is killed.
_RUN = """
import os, signal, subprocess
from kip848_records.spark import logs as spark_logs
log, handle = spark_logs.create()
jvm = subprocess.Popen(["sh", "-c", "read line; exec sleep 0"], stdin=0, stdout=handle, stderr=1)
print(log, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_log_stays_while_its_run_lives_and_then_goes(folder):
    log, handle = spark_logs.create()
    assert log.parent == folder
    spark_logs.remove_ended()
    assert list(folder.iterdir()) == [log]
    os.close(handle)
    spark_logs.remove_ended()
    assert not list(folder.iterdir())


@pytest.mark.process
def test_a_run_that_was_killed_has_ended_with_its_jvm(folder):
    run = subprocess.Popen(
        [sys.executable, "-c", _RUN],
        env=users.environment(TMPDIR=str(folder)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with run:
        log = run.stdout.readline().strip()
        assert run.wait() < 0
        spark_logs.remove_ended()
        assert [str(path) for path in folder.iterdir()] == [log]
        run.stdin.close()
        run.stdout.read()  # until the shell has ended
    spark_logs.remove_ended()
    assert not list(folder.iterdir())


def test_files_of_others_stay(folder, monkeypatch):
    others = ["kip848-spark-a.txt", "a-kip848-spark-b.log", "spark.log"]
    for name in [*others, "kip848-spark-c.log"]:
        (folder / name).touch()
    monkeypatch.setattr(os, "getuid", lambda: -1)
    spark_logs.remove_ended()
    assert len(list(folder.iterdir())) == 4
    monkeypatch.undo()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    spark_logs.remove_ended()
    assert sorted(path.name for path in folder.iterdir()) == sorted(others)


def test_a_link_is_not_followed(folder, tmp_path_factory):
    target = tmp_path_factory.mktemp("elsewhere") / "file"
    target.touch()
    link = folder / "kip848-spark-a.log"
    link.symlink_to(target)
    spark_logs.remove_ended()
    assert link.exists()
