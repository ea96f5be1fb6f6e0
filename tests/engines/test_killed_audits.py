"""kill -9 at any moment of an embedded audit: no process remains, readers see whole tables, the next run succeeds."""

import os
import random
import signal
from itertools import cycle
from time import monotonic, sleep, time_ns

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.pipeline.progress import Progress
from kip848_records.queries.duck import DuckTables
from tests.commands import WITH_WORKERS, ended, eventually, messages, processes_of, started

KILLS = 20
SPARK_EVERY = 5
"""Each fifth run behind a kill is Spark's, which takes several times as long."""

pytestmark = pytest.mark.slow


def seen(out):
    """What a reader sees: how many rows each table has, and the sum of their hashes."""
    tables = DuckTables(str(out))
    found = {}
    for name in sorted({*tables.names()} - {"audit_runs"}):
        # Each run notes its number, and when it read.
        rows = "(SELECT * EXCLUDE (run, run_info) FROM log WHERE run_info IS NULL)" if name == "log" else name
        found[name] = tuple(tables.rows(f"SELECT count(*) AS rows, sum(hash(t)) AS hashes FROM {rows} AS t")[0])  # noqa: S608
    return found


def test_runs_after_kills_write_what_one_run_would(classic, large_copies, tmp_path):
    seed = time_ns()
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    print(f"seed {seed}")  # noqa: T201 - shown if it fails, as what follows
    out, expected, seconds = tmp_path / "out", {}, 0.0
    for copy in large_copies:
        begun = monotonic()
        assert ended("audit", copy, "--out", out, program=WITH_WORKERS)[0] == 0
        seconds, expected[copy] = monotonic() - begun, seen(out)
    assert expected[large_copies[0]] != expected[large_copies[1]]
    had_workers, had_staged = [], []
    before = large_copies[1]
    for number, copy in zip(range(1, KILLS + 1), cycle(large_copies)):
        with started("audit", copy, "--out", out, program=WITH_WORKERS) as command:
            sleep(seconds * rng.random())
            had_workers.append(len(processes_of(command.pid)) > 1)
            os.kill(command.pid, signal.SIGKILL)
            assert eventually(lambda: not processes_of(command.pid), 2)
            said = command.stderr.read()
        had_staged.append((out / "_staging").exists())
        found = seen(out)
        is_whole = found == expected[copy]
        happened = f"workers: {had_workers[-1]}, staged: {had_staged[-1]}, {is_whole=}"
        print(f"kill {number}: behind {said.splitlines()[-1:]}, {happened}")  # noqa: T201
        assert is_whole or found == expected[before]
        assert not messages(said)
        if number % SPARK_EVERY:
            code, _, notes = ended("audit", copy, "--out", out)
            assert (code, notes) == (0, [])
        else:
            run_audit(classic, AuditOptions((str(copy),), str(out)), Progress())
        assert not (out / "_staging").exists()
        assert seen(out) == expected[copy]
        before = copy
    assert any(had_workers)
    assert any(had_staged)
