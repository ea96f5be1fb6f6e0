"""All commands on a machine without Java, in a process that cannot import PySpark, Py4J, Delta or pandas."""

import json
import os
import subprocess
import sys

import pytest

from tests.engines import equal_cases

# Refuses the modules, runs the command lines on stdin, and prints the exit code and stdout of each.
PROGRAM = """
import io, json, sys
from contextlib import redirect_stdout

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "delta", "pandas"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refused())
from kip848_records.cli import main

answers = []
for line in json.load(sys.stdin):
    with redirect_stdout(io.StringIO()) as printed:
        code = main(line)
    answers.append((code, printed.getvalue()))
print(json.dumps(answers))
"""


@pytest.fixture
def kip848(tmp_path):
    """Run command lines one after the other in a process of their own; return what each did."""

    def run(*lines):
        (tmp_path / "bin").mkdir(exist_ok=True)
        kept = ("HOME", "LANG", "PYTHONPATH", "VIRTUAL_ENV")
        env = {name: os.environ[name] for name in kept if name in os.environ}
        env |= {"PATH": str(tmp_path / "bin"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps([[str(word) for word in line] for line in lines]),
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    return run


def test_every_command(kip848, captures, tmp_path):
    capture = captures / "kafka-4.3.1"
    copy, topics = capture / "segments", ["--topics", capture / "topics.json"]
    dump = captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"
    lines = [
        ["audit", copy, *topics, "--out", "out", "--offset-commits", "--record-tables"],
        ["audit", dump, "--cluster", "dump", "--out", "out", "--verbose"],
        ["explain", copy, *topics, "stuck"],
        ["explain", "out", "--group", "stuck", "--cluster", "default"],
        ["check", copy, *topics],
        ["query", copy, "slowest"],
        ["query", dump, "--sql", "SELECT count(*) AS n FROM consumer_group_metadata", "--csv"],
        ["report", copy, "--out", "page.html"],
        ["inspect", copy, "--limit", "3"],
        ["inspect", dump, "--limit", "3"],
        ["maintain", "out", "--keep", "30d"],
        ["demo", "--no-browser"],
        ["cache"],
        ["cache", "--clear"],
        ["simulate", "--out", "simulated", "--hours", "0.1", "--groups", "2"],
    ]
    answers, said = kip848(*lines)
    for line, (code, printed) in zip(lines, answers, strict=True):
        assert code == 0, (line, said)
        assert printed, line
    assert (tmp_path / "page.html").stat().st_size > 10_000
    assert "reading with the embedded engine: 466.4 kB on this machine\n" in said


def test_every_kind_of_source(kip848, captures, tmp_path):
    """What it imports depends on the columns and types that a source has."""
    (tmp_path / "kinds").mkdir()
    sources = equal_cases.of_every_kind(tmp_path / "kinds", captures)["sources"]
    lines = [["audit", source, "--out", "out", "--cluster", number] for number, source in enumerate(sources)]
    everything = ["--offset-commits", "--record-tables"]
    answers, said = kip848(*lines, ["audit", *sources, "--out", "out", *everything], ["inspect", *sources])
    assert [code for code, _ in answers] == [0] * len(answers), said


@pytest.mark.parametrize(
    "line",
    [
        ["audit", "kafka://127.0.0.1:1/__consumer_offsets", "--out", "out"],
        ["explain", "kafka://127.0.0.1:1/__consumer_offsets", "--group", "g"],
        ["audit", "COPY", "--out", "out", "--engine", "spark"],
        ["inspect", "COPY", "--engine", "spark"],
        ["inspect", "kafka://127.0.0.1:1/__consumer_offsets"],
        ["audit", "COPY", "--out", "s3a://bucket/out"],
        ["check", "--catalog", "main", "--schema", "kafka"],
    ],
)
def test_what_only_spark_can_do(kip848, captures, line):
    copy = str(captures / "kafka-4.3.1" / "segments")
    ((code, printed),), said = kip848([copy if word == "COPY" else word for word in line])
    assert (code, printed) == (2, "")
    if line[0] == "inspect":
        assert said.startswith("note: reading with Spark: ")
    assert said.splitlines()[-2:] == [
        "error: Spark is not installed: there is no module pyspark",
        "hint: pip install 'kip848-records[spark]'",
    ]
