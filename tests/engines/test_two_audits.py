"""Two audits at once into one folder: one of them writes its tables, and the other says so in one line."""

import errno
import fcntl
import os
import signal

import pytest
from deltalake import DeltaTable

from kip848_records.engines import delta_rs
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from kip848_records.tables.errors import TablesError
from tests.commands import WITH_WORKERS, await_line, ended, started
from tests.progress import Watcher

pytestmark = pytest.mark.slow

NO_LOCKS = f"import fcntl; fcntl.flock = lambda *_: open('/dev/null/none'); {WITH_WORKERS}"
"""A command on a volume without locks: to open a file below a device is an OSError too."""


def refusal(out):
    return (
        f"another run writes to the tables in {out}",
        "wait until it ends, or pass another folder with --out",
    )


class Meanwhile(Watcher):
    """Does something else when a run begins a phase."""

    def __init__(self, name, work):
        super().__init__()
        self._name, self._work = name, work

    def phase(self, name, detail=""):
        super().phase(name, detail)
        if name == self._name:
            self._work()


def is_one_run(out):
    """Whether the tables are those of one run, which finished, and no other run changed them later."""
    (run,) = DuckTables(str(out)).chosen_runs("default")
    present = {name: DeltaTable(out / name).version() for name in run.table_versions}
    return present == run.table_versions and DeltaTable(out / "group_state").to_pyarrow_table().num_rows > 0


def test_a_second_run_is_refused_by_each_engine(classic, large_copies, tmp_path):
    out = tmp_path / "out"
    with started("audit", large_copies[0], "--out", out, program=WITH_WORKERS) as first:
        await_line(first, "replaying")
        os.kill(first.pid, signal.SIGSTOP)
        said = [refused_by(session, large_copies[1], out) for session in (None, classic)]
        os.kill(first.pid, signal.SIGCONT)
        first.communicate()
    assert said == [refusal(out)] * 2
    assert first.returncode == 0
    assert is_one_run(out)


def refused_by(session, copy, out):
    if session is not None:
        with pytest.raises(TablesError) as refused:
            run_audit(session, AuditOptions((str(copy),), str(out)), Watcher())
        return refused.value.message, refused.value.hint
    code, printed, (error, hint) = ended("audit", copy, "--out", out)
    assert (code, printed) == (2, [])
    return error.removeprefix("error: "), hint.removeprefix("hint: ")


def test_spark_s_run_is_alone_too(classic, captures, tmp_path):
    copy, out, said = captures / "reports" / "poll-timeout-loop.jsonl", tmp_path / "out", []
    other = Meanwhile("replaying", lambda: said.append(refused_by(None, copy, out)))
    run_audit(classic, AuditOptions((str(copy),), str(out)), other)
    assert said == [refusal(out)]
    assert is_one_run(out)


class TestWithoutLocks:
    """As on some network volumes: both go on, until one of them notices."""

    @pytest.fixture(autouse=True)
    def no_locks(self, monkeypatch):
        def refuse(*_):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        monkeypatch.setattr(fcntl, "flock", refuse)

    def test_a_run_whose_staged_rows_another_one_removes(self, large_copies, tmp_path):
        out = tmp_path / "out"
        with started("audit", large_copies[0], "--out", out, program=NO_LOCKS) as first:
            await_line(first, "replaying")
            os.kill(first.pid, signal.SIGSTOP)
            assert ended("audit", large_copies[1], "--out", out, program=NO_LOCKS)[0] == 0
            os.kill(first.pid, signal.SIGCONT)
            _, said = first.communicate()
        error, hint = refusal(out)
        assert (first.returncode, said.splitlines()[-2:]) == (2, [f"error: {error}", f"hint: {hint}"])
        assert is_one_run(out)

    @pytest.mark.parametrize("table", ["log", "group_state"])
    def test_commits_that_conflict(self, captures, tmp_path, monkeypatch, table):
        copy, out = captures / "kafka-4.0.0-zstd" / "segments", tmp_path / "out"
        replace_rows, others = delta_rs.replace_rows, []

        def replace(folder, spec, cluster, batches):
            def meanwhile():
                yield from batches
                if spec.name == table and not others:
                    others.append(ended("audit", copy, "--out", out, program=NO_LOCKS)[0])

            replace_rows(folder, spec, cluster, meanwhile())

        monkeypatch.setattr(delta_rs, "replace_rows", replace)
        with pytest.raises(TablesError) as refused:
            run_audit(None, AuditOptions((str(copy),), str(out)), Watcher())
        assert (refused.value.message, refused.value.hint) == refusal(out)
        assert others == [0]
        assert is_one_run(out)
