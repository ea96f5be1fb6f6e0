"""Worker processes: which rows they get, how their errors come back, and that none outlives its parent."""

import io
import os
import pickle
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from threading import Thread, active_count

import pyarrow as pa
import pytest

from kip848_records.engines.embedded import files, processes, worker
from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.engines.embedded.errors import EngineError
from kip848_records.engines.embedded.tagged_rows import tagged_by_class
from kip848_records.errors import InputError
from kip848_records.machine.budget import Budget
from kip848_records.sources.listing import Copy
from tests.commands import eventually
from tests.engines import engines
from tests.equal_rows import Rows
from tests.processes import told

pytestmark = pytest.mark.process

MUCH = 4 << 30
WORKERS = 2
AWAITED_S = 120
"""What is awaited takes a moment, and longer on a busy machine; if it never comes, a worker has 600 s of work."""


def sorted_rows(keys, rows=1000):
    return pa.table({"k": [key for key in keys for _ in range(rows)], "n": [*range(rows)] * len(keys)})


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs work over sorted rows in two processes, and returns the rows of topic names."""
    monkeypatch.setattr(processes, "ROWS_OF_ONE_PROCESS", 100)
    folders = (tmp_path / str(number) for number in range(9))

    def new_folder():
        folder = next(folders)
        folder.mkdir()
        return folder

    def run(work, rows, workers=2, batch=300):
        batches = rows.to_batches(max_chunksize=batch)
        found = processes.run_tagged(tagged_by_class(work), batches, ["k"], workers, new_folder)
        return Rows(row for rows in found.values() for each in rows.batches() for row in each.to_pylist())

    return run


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])  # all other tests have two
@pytest.mark.parametrize("keys", [["a"], ["a", "b", "c", "d"], [None, "a"]])
def test_rows_of_a_key_reach_one_process_in_order(run, keys, workers):
    expected = [{"topic_id": str(key), "topic": "1000"} for key in keys]
    found = run(engines.named, sorted_rows(keys), workers)
    assert Rows({name: row[name] for name in ("topic_id", "topic")} for row in found) == Rows(expected)


@pytest.mark.slow
def test_keys_of_one_row(run):
    found = run(engines.named, sorted_rows([f"{number:04}" for number in range(2000)], rows=1))
    assert len(found) == 2000


@pytest.mark.parametrize("keys", [["a", "b", "c", "d"], [None, "a", "b"]])
def test_rows_of_a_key_that_are_in_several_batches_are_for_one_process(keys):
    batches = sorted_rows(keys, rows=250).to_batches(max_chunksize=200)
    parts = [
        (number, row["k"]) for number, batch in processes._assigned(batches, ["k"], 2) for row in batch.to_pylist()
    ]
    assert [key for _, key in parts] == [key for key in keys for _ in range(250)]
    assert sorted(number for number, _ in set(parts)) == sorted(nth % 2 for nth in range(len(keys)))


def test_each_process_has_a_part(run, tmp_path):
    run(engines.named, sorted_rows("abcdef"))
    assert [len([*folder.glob("*.parquet")]) for folder in sorted(tmp_path.iterdir())] == [1, 1]


def test_a_process_has_its_rows_while_another_is_busy_with_a_large_key(run, tmp_path):
    run(partial(engines.waiting, tmp_path), sorted_rows("ab", rows=20_000))


def test_few_rows_stay_in_this_process(run, tmp_path):
    assert len(run(engines.named, sorted_rows("abcd", rows=20))) == 4
    assert not [*tmp_path.iterdir()]


def test_a_source_that_fails_leaves_no_thread(monkeypatch, tmp_path):
    monkeypatch.setattr(processes, "ROWS_OF_ONE_PROCESS", 100)

    def failing(batches):
        yield from batches
        raise OSError(tmp_path)

    rows = failing(sorted_rows("ab").to_batches(max_chunksize=300))
    threads = active_count()
    with pytest.raises(OSError, match=str(tmp_path)):
        processes.run_tagged(tagged_by_class(engines.named), rows, ["k"], 2, lambda: tmp_path)
    assert active_count() == threads


@pytest.mark.slow
@pytest.mark.parametrize("work", [engines.refused, engines.refused_at_the_end])
def test_an_error_comes_back_with_its_type_text_and_traceback(run, work):
    with pytest.raises(InputError, match=r"x\.log cannot be read: .*; copy it again") as refused:
        run(work, sorted_rows("abcdefgh"))
    assert "in refused" in "".join(refused.value.__notes__)


@pytest.mark.slow
def test_an_error_that_cannot_be_pickled(run):
    with pytest.raises(RuntimeError, match="OddError: odd"):
        run(engines.odd, sorted_rows("abcd"))


def test_a_process_that_the_system_kills(run):
    with pytest.raises(EngineError, match="a worker process ended with signal 9, perhaps for want of memory; free"):
        run(engines.killed, sorted_rows("abcdefgh"))


@pytest.mark.slow
def test_an_error_that_is_longer_than_a_pipe_while_rows_are_written(run):
    """The worker does not read them any more."""
    failures = []

    def refused():
        with pytest.raises(InputError) as error:
            run(engines.refused_at_length, sorted_rows("abcdefgh", rows=50_000), batch=100_000)
        failures.append(error.value)

    thread = Thread(target=refused, daemon=True)
    thread.start()
    thread.join(60)
    assert [len(error.message) for error in failures] == [1_000_000]


@pytest.mark.slow
def test_a_file_that_its_broker_truncates_while_a_process_reads_it(run):
    with pytest.raises(EngineError, match="a file became shorter while it was read, as its broker truncated it"):
        run(engines.truncated, sorted_rows("abcdefgh"))


def test_what_a_worker_prints_is_no_answer(run, capfd):
    assert len(run(engines.printing, sorted_rows("abcd"))) == 4
    assert "printed" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("size", "processes_used"), [(1 << 30, 1), (0, 2)])
def test_files_are_read_in_several_processes_if_they_are_large(tmp_path, monkeypatch, size, processes_used):
    monkeypatch.setattr(files, "BYTES_OF_ONE_PROCESS", size)
    folder = tmp_path / "[a] 100%41"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.log").write_bytes(b"x" * number * 1000)
    engine = EmbeddedEngine(str(tmp_path / "out"), Budget(MUCH, 2))
    copy = Copy(str(folder), "segments", [f"file://{file}" for file in sorted(folder.iterdir())])
    with engine.alone(str(tmp_path / "out")):
        sizes = engine.map(engines.sizes, engine.files(copy), engines.SIZES)
        for rows in (
            pa.Table.from_batches(sizes.batches()).to_pylist(),
            engine.collect(engine.sql("SELECT * FROM {s}", s=sizes)),
        ):
            found = [row if isinstance(row, dict) else row._asdict() for row in rows]
            assert sorted(row["size"] for row in found) == [0, 1000, 2000, 3000, 4000]
            assert len({row["process"] for row in found}) == processes_used
            assert (os.getpid() in {row["process"] for row in found}) == (processes_used == 1)
        assert len([*(tmp_path / "out" / "_staging").glob("*/*read*")]) == (processes_used if processes_used > 1 else 0)


@pytest.mark.parametrize("end", [worker.END, b""])
def test_rows_that_end_without_a_word_are_not_all(tmp_path, end):
    """Their parent was killed: what is not whole is not written."""
    rows, work = sorted_rows("ab"), pickle.dumps(tagged_by_class(engines.named))
    given = io.BytesIO()
    with pa.ipc.new_stream(given, rows.schema) as stream:
        stream.write_table(rows)
    command = [sys.executable, "-m", worker.__name__, tmp_path, str(os.getpid())]
    sent = len(work).to_bytes(worker.LENGTH, "big") + work + given.getvalue() + end
    ended = subprocess.run(command, input=sent, check=False, capture_output=True)
    assert (ended.returncode, len([*tmp_path.iterdir()])) == ((0, 1) if end else (1, 0))


def running():
    """The processes of this machine, but those that have ended, with their parents."""
    found = {}
    for process, text in told("status"):
        lines = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        if not lines["State"].startswith("Z"):
            found[process] = int(lines["PPid"])
    return found


def children(pid):
    return [each for each, parent in running().items() if parent == pid]


PARENT = """
import sys
from kip848_records.engines.embedded import files, processes
from kip848_records.machine.budget import Budget
from kip848_records.engines.embedded.engine import EmbeddedEngine
from tests.engines import engines, test_processes
processes.ROWS_OF_ONE_PROCESS = 100
engine = EmbeddedEngine(sys.argv[1], Budget(test_processes.MUCH, test_processes.WORKERS))
with engine.alone(sys.argv[1]):
    rows = engine.relation(test_processes.sorted_rows("abcdefgh", 5_000))  # several batches: one for each worker
    engine.replay(getattr(engines, sys.argv[2]), rows, key=["k"], order=["n"])
"""


@pytest.fixture(params=["slow", "busy"])
def parent(request, tmp_path):
    """Another process, of which two workers have begun what takes long."""
    command = [sys.executable, "-c", PARENT, tmp_path / "out", request.param]
    begun = tmp_path / "begun"
    begun.mkdir()
    variables = os.environ | {engines.BEGUN: str(begun)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=variables) as process:
        assert eventually(lambda: len([*begun.iterdir()]) == WORKERS, AWAITED_S)
        process.workers = [int(file.name) for file in begun.iterdir()]
        assert {*process.workers} == {*children(process.pid)}
        yield process
        process.kill()


def _ignores_interrupts(pid):
    (line,) = (each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith("SigIgn:"))
    return int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1


def _alive(pids):
    return [pid for pid in pids if pid in running()]


@pytest.mark.skipif(sys.platform != "linux", reason="it asks /proc for processes")
class TestEnds:
    def test_none_goes_on_after_a_kill(self, parent, tmp_path):
        parent.kill()
        parent.wait()
        assert eventually(lambda: not _alive(parent.workers), AWAITED_S)
        (staged,) = (tmp_path / "out" / "_staging").iterdir()
        assert staged.stat().st_mode & 0o777 == staged.parent.stat().st_mode & 0o777 == 0o700
        with EmbeddedEngine(str(tmp_path / "out")).alone(str(tmp_path / "out")):
            assert not staged.exists()
        assert not staged.parent.exists()

    @pytest.mark.slow
    def test_workers_end_with_ctrl_c(self, parent, tmp_path):
        """They leave it to their parent, though others may send it to all processes."""
        assert all(map(_ignores_interrupts, parent.workers))
        for pid in (*parent.workers, parent.pid):
            os.kill(pid, signal.SIGINT)
        _, errors = parent.communicate(timeout=AWAITED_S)
        assert errors.splitlines()[-1] == "KeyboardInterrupt"
        assert errors.count("Traceback") == 1
        assert not _alive(parent.workers)
        assert not (tmp_path / "out" / "_staging").exists()


def test_processes_are_bounded_by_cores_and_memory():
    assert [Budget(MUCH, cores).workers for cores in (1, 2, 4)] == [1, 2, 4]
    assert Budget(1 << 30, 64).workers == 1
    assert Budget(MUCH, 64).workers == 6
    assert Budget(100 << 20, 2).workers <= 0
