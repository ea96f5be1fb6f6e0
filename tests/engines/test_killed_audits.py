"""kill -9 of an embedded audit: no process remains, readers see whole tables, the next run succeeds."""

import os
import signal
from itertools import cycle
from random import Random
from time import monotonic, sleep

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.pipeline.progress import Progress
from kip848_records.queries.duck import DuckTables
from tests.commands import WITH_WORKERS, await_line, ended, eventually, messages, processes_of, started
from tests.seeds import daily_seeds

KILLS = 20
SPARK_EVERY = 5
"""Each fifth run behind a kill is Spark's, which takes several times as long."""


def audit(copy, out):
    assert ended("audit", copy, "--out", out, program=WITH_WORKERS)[::2] == (0, [])
    assert not (out / "_staging").exists()
    return seen(out)


def seen(out):
    """What a reader sees: how many rows each table has, and the sum of their hashes."""
    tables = DuckTables(str(out))
    found = {}
    for name in sorted({*tables.names()} - {"audit_runs"}):
        # Each run notes its number, and when it read.
        rows = "(SELECT * EXCLUDE (run, run_info) FROM log WHERE run_info IS NULL)" if name == "log" else name
        found[name] = tuple(tables.rows(f"SELECT count(*) AS rows, sum(hash(t)) AS hashes FROM {rows} AS t")[0])  # noqa: S608
    return found


def kill(command):
    """Kill a command, but not its workers; return what it said behind what was read."""
    os.kill(command.pid, signal.SIGKILL)
    assert eventually(lambda: not processes_of(command.pid))
    said = command.stderr.read()
    assert not messages(said)
    return said


@pytest.mark.slow
def test_a_kill_while_workers_replay(large_copies, tmp_path):
    copy, other = large_copies
    out = tmp_path / "out"
    expected = audit(copy, out)
    with started("audit", other, "--out", out, program=WITH_WORKERS) as command:
        await_line(command, "replaying")
        assert eventually(lambda: len(processes_of(command.pid)) > 1)
        kill(command)
    assert (out / "_staging").exists()
    assert seen(out) == expected
    assert audit(copy, out) == expected


@pytest.mark.nightly
def test_kills_at_any_moment(classic, large_copies, tmp_path):
    rng = Random(*daily_seeds(1, "kills of embedded audits"))  # noqa: S311 - not for secrets
    out, expected, seconds = tmp_path / "out", {}, 0.0
    for copy in large_copies:
        begun = monotonic()
        expected[copy] = audit(copy, out)
        seconds = monotonic() - begun
    assert expected[large_copies[0]] != expected[large_copies[1]]
    had_workers, had_staged = [], []
    before = large_copies[1]
    for number, copy in zip(range(1, KILLS + 1), cycle(large_copies)):
        with started("audit", copy, "--out", out, program=WITH_WORKERS) as command:
            sleep(seconds * rng.random())
            had_workers.append(len(processes_of(command.pid)) > 1)
            said = kill(command)
        had_staged.append((out / "_staging").exists())
        found = seen(out)
        is_whole = found == expected[copy]
        happened = f"workers: {had_workers[-1]}, staged: {had_staged[-1]}, {is_whole=}"
        print(f"kill {number}: behind {said.splitlines()[-1:]}, {happened}")  # noqa: T201 - shown if it fails
        assert is_whole or found == expected[before]
        if number % SPARK_EVERY:
            assert audit(copy, out) == expected[copy]
        else:
            run_audit(classic, AuditOptions((str(copy),), str(out)), Progress())
            assert seen(out) == expected[copy]
            assert not (out / "_staging").exists()
        before = copy
    assert any(had_workers)
    assert any(had_staged)
