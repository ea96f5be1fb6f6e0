"""All commands on a machine without Java, in a process that cannot import PySpark, Py4J, Delta or pandas."""

import json
import os
import re
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from tests.cli import offsets_log
from tests.engines import equal_cases
from tests.expectations.only import only

pytestmark = pytest.mark.process

# Refuses the modules, runs the command lines on stdin, and prints the exit code, stdout and stderr of each.
PROGRAM = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "delta", "pandas"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refused())
from kip848_records.cli import main

answers = []
for line in json.load(sys.stdin):
    with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()) as said:
        code = main(line)
    answers.append((code, printed.getvalue(), said.getvalue()))
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def kip848():
    """Run command lines one after the other in a process of their own, in a folder; return what each did."""

    def run(folder, lines):
        (folder / "bin").mkdir(exist_ok=True)
        kept = ("HOME", "LANG", "PYTHONPATH", "VIRTUAL_ENV")
        env = {name: os.environ[name] for name in kept if name in os.environ}
        env |= {"PATH": str(folder / "bin"), "XDG_CACHE_HOME": str(folder / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps([[str(word) for word in line] for line in lines]),
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.slow
def test_every_command(kip848, captures, tmp_path):
    log = offsets_log.write(tmp_path / "log", *offsets_log.member(0, "t"), offsets_log.commit(1, 5))
    (tmp_path / "audit.toml").write_text(only("group_stable", "restart_loop"))
    rows = pq.read_table(captures / "kafka-4.3.1-all-types" / "kafka-source.parquet")
    pq.write_table(rows.slice(0, 200), tmp_path / "dump.parquet")
    topics = ["--topics", captures / "kafka-4.3.1" / "topics.json"]
    lines = [
        ["audit", log, *topics, "--out", "out", "--offset-commits", "--record-tables"],
        ["audit", "dump.parquet", "--cluster", "dump", "--out", "out"],
        ["explain", log, *topics, "g"],
        ["explain", "out", "--group", "g", "--cluster", "default"],
        ["check", log, "--config", "audit.toml"],
        ["query", log, "slowest"],
        ["query", "dump.parquet", "--sql", "SELECT count(*) AS n FROM consumer_group_metadata", "--csv"],
        ["report", log, "--out", "page.html", "--config", "audit.toml"],
        ["inspect", log, "--limit", "3"],
        ["inspect", "dump.parquet", "--limit", "3"],
        ["maintain", "out", "--keep", "30d"],
        ["demo", "--no-browser"],
        ["cache"],
        ["cache", "--clear"],
        ["simulate", "--out", "simulated", "--hours", "0.1", "--groups", "2"],
    ]
    answers = kip848(tmp_path, lines)
    for line, (code, printed, said) in zip(lines, answers, strict=True):
        assert code == 0, (line, said)
        assert printed, line
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert re.search(r"reading with the embedded engine: \d+ B on this machine\n", answers[0][2])


@pytest.mark.slow
def test_every_kind_of_source(kip848, captures, tmp_path):
    """What it imports depends on the columns and types that a source has."""
    (tmp_path / "kinds").mkdir()
    sources = equal_cases.of_every_kind(tmp_path / "kinds", captures)["sources"]
    _, _, *others = sources  # `test_every_command` audits segments and Parquet alone
    lines = [["audit", source, "--out", f"out {number}"] for number, source in enumerate(others)]
    everything = ["--offset-commits", "--record-tables"]
    lines += [["audit", *sources, "--out", "out", *everything], ["inspect", *sources]]
    for line, (code, _, said) in zip(lines, kip848(tmp_path, lines), strict=True):
        assert code == 0, (line, said)


ONLY_BY_SPARK = (
    ["audit", "log", "--out", "out", "--engine", "spark"],
    ["inspect", "log", "--engine", "spark"],
    ["audit", "log", "--out", "s3a://bucket/out"],
    ["check", "--catalog", "main", "--schema", "kafka"],
)


@pytest.fixture(scope="module")
def refusals(kip848, tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused")
    offsets_log.write(folder / "log", *offsets_log.member(0, "t"))
    return kip848(folder, ONLY_BY_SPARK)


@pytest.mark.parametrize("nth", range(len(ONLY_BY_SPARK)), ids=[" ".join(line) for line in ONLY_BY_SPARK])
def test_what_only_spark_can_do(refusals, nth):
    code, printed, said = refusals[nth]
    assert (code, printed) == (2, "")
    if ONLY_BY_SPARK[nth][0] == "inspect":
        assert said.startswith("note: reading with Spark: ")
    assert said.splitlines()[-2:] == [
        "error: Spark is not installed: there is no module pyspark",
        "hint: pip install 'kip848-records[spark]'",
    ]
