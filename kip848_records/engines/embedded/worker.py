"""A worker process of the embedded engine: ``python -m kip848_records.engines.embedded.worker FOLDER PARENT``.

On stdin it reads a pickled function (`tagged_rows.TaggedWork`) behind its length, then batches as a stream of Arrow
IPC, then `END`. It writes what the function yields into Parquet files in FOLDER, one for each table. On failure it
writes the pickled exception to stdout. PARENT is the id of the process that started it.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from pathlib import Path
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, BinaryIO, Final

from kip848_records.machine.imports import skip_pandas

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

LENGTH: Final = 8
"""The length of the pickled function is a number of so many bytes, big-endian."""

END: Final = b"end of rows"
"""Follows the last batch. Without it the parent ended before it wrote all of them."""

_IN_MEMORY: Final = 32 << 20
_LOOK_SECONDS: Final = 0.3


def main() -> int:
    """Do the work; return the exit code."""
    skip_pandas()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    answer, sys.stdout = sys.stdout.buffer, sys.stderr  # a print is no answer
    try:
        _work(sys.stdin.buffer, folder)
    except Exception as error:  # noqa: BLE001 - the parent raises it again
        # The parent reads the error when it cannot write any more: a long one fills the pipe, and both would wait.
        os.close(sys.stdin.fileno())
        try:
            answer.write(_pickled(error))
            answer.flush()
        except BrokenPipeError:  # the parent has ended, and Python would report what it cannot write
            os._exit(1)
        return 1
    return 0


def _work(given: BinaryIO, folder: Path) -> None:
    from kip848_records.engines.embedded.tagged_rows import TaggedRows  # noqa: PLC0415 - Arrow is loaded while the parent works

    found = TaggedRows(lambda: folder, _IN_MEMORY)
    work = pickle.loads(given.read(int.from_bytes(given.read(LENGTH), "big")))  # noqa: S301 - of the parent
    for table, batch in work(_batches(given)):
        found.add(table, batch)
    found.end(to_files=True)


def _batches(given: BinaryIO) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa  # noqa: PLC0415 - as above

    with pa.ipc.open_stream(given) as stream:
        yield from stream
    if given.read(len(END)) != END:
        os._exit(1)


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, in whatever it does: a group may take minutes."""
    while os.getppid() == parent:
        sleep(_LOOK_SECONDS)
    os._exit(1)


def _pickled(error: Exception) -> bytes:
    """Return an exception for the parent, with the text of its traceback as a note."""
    where = "".join(traceback.format_exception(error))
    try:
        error.add_note(where)
        pickled = pickle.dumps(error)
        pickle.loads(pickled)  # noqa: S301 - some exceptions can be pickled, but not read again
    except Exception:  # noqa: BLE001 - whatever such an exception raises
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}\n{where}"))
    return pickled


if __name__ == "__main__":
    sys.exit(main())
