"""The jobs of `jobs/` by spark-submit, one after the other in one driver: a JVM starts once."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kip848_records.pipeline.audit import run_audit
from tests import users
from tests.audits import CLUSTERS, capture_options, table_rows
from tests.conftest import QUICK_JAVA
from tests.equal_rows import Rows
from tests.progress import Watcher

ROOT = Path(__file__).parents[2]
CAPTURE = "kafka-4.0.0-zstd"
DRIVER = """
import json, runpy, sys
from pathlib import Path
from kip848_records.spark.session import get_session

jobs, ended = json.loads(sys.argv[1]), []
for name, *arguments in jobs:
    sys.argv = [name, *arguments]
    try:
        runpy.run_path(f"jobs/{name}.py", run_name="__main__")
        ended.append(0)
    except SystemExit as exit:
        ended.append(exit.code)
partitions = get_session().conf.get("spark.sql.shuffle.partitions")
Path(__file__).with_name("ended").write_text(json.dumps([*ended, partitions]))
"""
WRITTEN = ("group_state", "rebalance", "partition_handover", "membership", "diagnosis")


@pytest.mark.spark
def test_the_jobs(captures, tmp_path):
    """The audit writes what the embedded engine does, the check fails because a group is stuck, and no broker answers.

    Before the tables are written nothing but the progress is printed: a start of Spark has no words of its own.
    """
    options = replace(capture_options(captures / CAPTURE, tmp_path / "embedded"), offset_commits=False)
    run_audit(None, options, Watcher())
    out, driver, impatient = (str(tmp_path / name) for name in ("out", "driver.py", "client.properties"))
    Path(driver).write_text(DRIVER)
    Path(impatient).write_text("default.api.timeout.ms=2000\\nrequest.timeout.ms=1000\\n")
    copy = [*options.sources, "--topics", str(captures / CAPTURE / "topics.json"), "--cluster", CLUSTERS[CAPTURE]]
    topic = ["kafka://127.0.0.1:9/__consumer_offsets", "--kafka-config", impatient]
    jobs = [
        ("nightly_audit", *copy, "--out", out),
        ("check_convergence", out, "--config", "conf/audit-demo.toml"),
        ("ingest_topic", *topic, "--out", str(tmp_path / "live")),
    ]
    binaries = Path(sys.executable).parent
    command = [binaries / "spark-submit", "--properties-file", "conf/spark-defaults.conf", driver, json.dumps(jobs)]
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    variables = users.environment(PATH=path, PYSPARK_PYTHON=sys.executable, JDK_JAVA_OPTIONS=QUICK_JAVA)
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert json.loads((tmp_path / "ended").read_text()) == [0, 1, 2, "4"], said
    begun, written, _ = done.stdout.partition("] writing tables")
    assert written
    assert [line for line in begun.splitlines() if not line.startswith("[ ")] == []
    assert "reading with Spark: a session is there" in said
    assert "127.0.0.1:9" in said.partition("error: ")[2]
    for name in WRITTEN:
        ours, theirs = (Rows(table_rows(tmp_path / each, name, CLUSTERS[CAPTURE])) for each in ("out", "embedded"))
        assert ours == theirs, name
        assert ours.rows
