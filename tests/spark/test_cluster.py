"""On a cluster: executors are processes of their own, and have nothing of the package but the wheel they are sent."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import pytest

from kip848_records.tables.registry import TABLES
from tests import users
from tests.audits import WITH_RECORD_TABLES, table_rows
from tests.conftest import QUICK_JAVA

ROOT = Path(__file__).parents[2]
TELLS_OF_THE_RUN = {"audit_runs", "partition_history"}
"""Tables that name the paths that were read."""


@pytest.fixture
def submit(captures, tmp_path):
    """Runs the nightly audit on two executors that cannot import this checkout, and returns where it wrote."""
    python = tmp_path / "python"
    # Without `site` nothing of what is installed as a link to this checkout is found; the rest is.
    packages = sysconfig.get_path("purelib")
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    assert subprocess.run([python, "-c", "import pyarrow"], check=False).returncode == 0
    assert subprocess.run([python, "-c", "import kip848_records"], check=False, cwd=tmp_path).returncode == 1

    events = tmp_path / "events"
    events.mkdir()

    def run(*options):
        out = tmp_path / "out"
        binaries = Path(sys.executable).parent
        command = [binaries / "spark-submit", "--properties-file", "conf/spark-defaults.conf"]
        command += ["--master", "local-cluster[2,1,1024]", "--conf", "spark.executor.memory=1g", *options]
        settings = {
            "spark.pyspark.python": python,
            "spark.pyspark.driver.python": sys.executable,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }
        command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        command += [ROOT / "jobs" / "nightly_audit.py", captures / WITH_RECORD_TABLES / "segments"]
        command += [
            "--topics",
            captures / WITH_RECORD_TABLES / "topics.json",
            "--offset-commits",
            "--record-tables",
            "--out",
            out,
        ]
        environment = users.environment()
        environment |= {"JDK_JAVA_OPTIONS": QUICK_JAVA, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SCALA_VERSION": "2.13"}
        # The script looks for its Spark with the `python3` that is first on the path.
        environment["PATH"] = f"{binaries}{os.pathsep}{os.environ['PATH']}"
        environment["SPARK_WORKER_DIR"] = str(tmp_path / "workers")
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        return out, done

    return run


@pytest.mark.nightly
def test_the_wheel_is_all_that_executors_get_of_the_package(submit, wheel, audits, tmp_path):
    # A wheel is a zip file, and Spark knows those by their names only.
    out, done = submit("--py-files", shutil.copy(wheel, tmp_path / "kip848_records.zip"))
    assert done.returncode == 0, done.stdout + done.stderr
    for name in TABLES.keys() - {"log"} - TELLS_OF_THE_RUN:
        ours = Counter(map(repr, table_rows(out, name, "default")))
        theirs = [{**row, "cluster": "default"} for row in audits.rows(WITH_RECORD_TABLES, name)]
        assert ours == Counter(map(repr, theirs)), name
    (log,) = (path for path in (tmp_path / "events").iterdir() if path.suffix != ".crc")
    tasks = re.findall(r'"Executor ID":"(\w+)","Host":"[^"]*","Locality"', log.read_text(encoding="utf-8"))
    assert set(tasks) == {"0", "1"}
