"""Work in several processes: `worker` processes take sorted rows from pipes, and write files."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from contextlib import suppress
from itertools import chain
from queue import SimpleQueue
from threading import Condition, Thread
from typing import IO, TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.engines.embedded.errors import EngineError
from kip848_records.engines.embedded.tagged_rows import TaggedRows, files_by_table
from kip848_records.engines.embedded.worker import END, LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kip848_records.engines.embedded.tagged_rows import TaggedWork
    from kip848_records.engines.engine import Rows

ROWS_OF_ONE_PROCESS: Final = 20_000
"""Up to so many records, the start of worker processes takes longer than it saves."""

BYTES_OF_ONE_PROCESS: Final = 64 << 20
"""Up to so many bytes of files, as above."""

IN_MEMORY: Final = 64 << 20
"""The bytes of result rows of this process that stay in memory."""

_WAITING_BYTES: Final = 64 << 20
"""How many bytes wait for a worker at most. Rows come in the order of keys: while those of a large group wait for its
worker, the others get none. So it should be more than such a group has: 100,000 records have about 20 MB.
"""

_LOOK_SECONDS: Final = 0.1


def run_tagged(
    work: TaggedWork,
    batches: Iterable[pa.RecordBatch],
    key: Sequence[str],
    workers: int,
    new_folder: Callable[[], Path],
) -> Mapping[str, Rows]:
    """Return what a function yields for rows sorted by `key`, by table: in this process if they are few.

    All rows of a key reach one call, one key after another.
    """
    source = iter(batches)
    first, rows = list[pa.RecordBatch](), 0
    for batch in source:
        first.append(batch)
        rows += batch.num_rows
        if rows > ROWS_OF_ONE_PROCESS:
            break
    if rows > ROWS_OF_ONE_PROCESS and workers > 1:
        parts = _assigned(chain(_released(first), source), key, workers)
        return _in_processes(work, first[0].schema, parts, [new_folder() for _ in range(workers)])
    found = TaggedRows(new_folder, IN_MEMORY)
    for table, batch in work(chain(_released(first), source)):
        found.add(table, batch)
    return found.end()


def run_on_files(
    work: TaggedWork, files: Sequence[Path], workers: int, new_folder: Callable[[], Path]
) -> Mapping[str, Rows]:
    """Return what a function yields for files (`path`), by table, in several processes: each has as much to read."""
    parts, sizes = list[tuple[int, pa.RecordBatch]](), [0] * workers
    for size, file in sorted(((file.stat().st_size, file) for file in files), reverse=True):
        number = sizes.index(min(sizes))
        sizes[number] += size
        parts.append((number, file_batch([file])))
    return _in_processes(work, parts[0][1].schema, parts, [new_folder() for _ in range(workers)])


def file_batch(files: Iterable[Path]) -> pa.RecordBatch:
    """Return files as rows: ``path``, with the scheme of local files as Spark writes it. Tables name these files."""
    return pa.RecordBatch.from_pydict({"path": pa.array([f"file:{file}" for file in files], pa.string())})


def _released(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches without keeping them."""
    batches.reverse()
    while batches:
        yield batches.pop()


def _in_processes(
    work: TaggedWork,
    schema: pa.Schema,
    parts: Iterable[tuple[int, pa.RecordBatch]],
    folders: Sequence[Path],
) -> Mapping[str, Rows]:
    """Return what a function yields, by table; each part has the number of its process."""
    pickled = pickle.dumps(work)
    workers = list[_Worker]()
    try:
        workers += (_Worker(pickled, schema, folder) for folder in folders)
        for number, batch in parts:
            workers[number].put(batch, workers)
        for worker in workers:
            worker.put(None, workers)
        for worker in workers:
            worker.join(workers)
    finally:
        for worker in workers:
            worker.end()
    return files_by_table(folders)


def _assigned(
    batches: Iterable[pa.RecordBatch], key: Sequence[str], workers: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield batches with the number of a worker: it has had the fewest rows, or the key's first rows.

    So the numbers depend on the rows alone, and no key is in two workers.
    """
    rows = [0] * workers
    current, last = 0, None
    for batch in batches:
        if not batch.num_rows:
            continue
        cut = _rows_of_key(batch, key, last)
        last = batch.select(list(key)).slice(batch.num_rows - 1)
        if cut:
            rows[current] += cut
            yield current, batch.slice(0, cut)
        if cut < batch.num_rows:
            current = rows.index(min(rows))
            rows[current] += batch.num_rows - cut
            yield current, batch.slice(cut)


def _rows_of_key(batch: pa.RecordBatch, key: Sequence[str], last: pa.RecordBatch | None) -> int:
    """Return how many rows at the start of a batch have the key of the last row before it."""
    if last is None:
        return 0
    rows: int = batch.num_rows
    for name in key:
        value = last[name][0]
        is_same = pc.equal(batch[name], value) if value.is_valid else pc.is_null(batch[name])
        other = pc.index(pc.fill_null(is_same, False), False).as_py()  # noqa: FBT003
        rows = rows if other < 0 else min(rows, other)
    return rows


class _Worker:
    """A worker process, and the thread that writes to it."""

    def __init__(self, pickled: bytes, schema: pa.Schema, folder: Path) -> None:
        self._batches: SimpleQueue[pa.RecordBatch | None] = SimpleQueue()
        self._waiting_bytes = 0
        self._changed = Condition()
        self._error: BaseException | None = None
        command = [sys.executable, "-P", "-m", "kip848_records.engines.embedded.worker", str(folder), str(os.getpid())]
        path = os.pathsep.join(os.path.abspath(each) for each in sys.path)  # noqa: PTH100 - an empty one is here
        self._process = subprocess.Popen(  # noqa: S603 - ours
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
            process_group=0,  # the terminal sends Ctrl-C to the parent alone
        )
        self._thread = Thread(target=self._feed, args=(pickled, schema), daemon=True)
        self._thread.start()

    def put(self, batch: pa.RecordBatch | None, workers: Sequence[_Worker]) -> None:
        """Give the worker a batch, or None behind the last one; raise the error of any worker."""
        _raise_first(workers)
        with self._changed:
            while self._waiting_bytes > _WAITING_BYTES:
                self._changed.wait(_LOOK_SECONDS)
                _raise_first(workers)
            self._waiting_bytes += 0 if batch is None else batch.nbytes
        self._batches.put(batch)

    def join(self, workers: Sequence[_Worker]) -> None:
        """Wait until the worker has ended; raise the error of any worker."""
        while self._thread.is_alive():
            self._thread.join(_LOOK_SECONDS)
            _raise_first(workers)
        _raise_first(workers)

    def end(self) -> None:
        """End the process, if it still runs, and its thread, which may wait for rows."""
        self._process.kill()
        self._batches.put(None)
        self._thread.join()
        self._process.wait()

    def raise_error(self) -> None:
        """Raise the error of the worker, if it failed."""
        if self._error is not None:
            raise self._error

    def _feed(self, pickled: bytes, schema: pa.Schema) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 - they are pipes
        assert stdout is not None  # noqa: S101
        try:
            with suppress(BrokenPipeError), stdin:
                stdin.write(len(pickled).to_bytes(LENGTH, "big") + pickled)
                self._write_batches(stdin, schema)
            with stdout:
                text = stdout.read()
            code = self._process.wait()
            if code:
                self._error = pickle.loads(text) if text else EngineError.worker_ended(code)  # noqa: S301 - our worker's
        except BaseException as error:  # noqa: BLE001 - raised in the thread of the caller
            self._error = error

    def _write_batches(self, stdin: IO[bytes], schema: pa.Schema) -> None:
        with pa.ipc.new_stream(stdin, schema) as stream:
            while (batch := self._batches.get()) is not None:
                stream.write_batch(batch)
                with self._changed:
                    self._waiting_bytes -= batch.nbytes
                    self._changed.notify()
        stdin.write(END)


def _raise_first(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.raise_error()
