"""One writer at a time: runs that change the same tables would undo each other's work."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    DeltaConcurrentModificationException,
    MetadataChangedException,
    ProtocolChangedException,
)

from kip848_records.errors import InputError
from kip848_records.sources.files import local_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

# They have no class in common that Python could name.
_CONFLICTS = (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    DeltaConcurrentModificationException,
    MetadataChangedException,
    ProtocolChangedException,
)
_FULL = "No space left on device"


@contextmanager
def only_writer(spark: SparkSession, out: str) -> Iterator[None]:
    """Keep other runs from the tables in `out` until the block ends, or the process does, in whatever way.

    On this machine by a lock on a file. On an object store nothing of that kind is there: Delta refuses the commit of
    the second one. Raises InputError in both cases, and where the disk is full.
    """
    folder = local_path(spark, out)
    try:
        if folder is None:
            yield
        else:
            with _locked(folder, out):
                yield
    except _CONFLICTS as error:
        raise InputError.other_writer(out, "Delta refused to commit what it had changed meanwhile") from error
    except Exception as error:
        if _FULL in str(error):
            raise InputError.disk_full(out) from error
        raise


@contextmanager
def _locked(folder: Path, out: str) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "_writer.lock").open("a+")
    except OSError as error:
        raise InputError.not_writable(out, error.strerror) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise InputError.other_writer(out, lock.read().strip() or "it has just begun") from None
        lock.seek(0)
        lock.truncate()
        lock.write(f"process {os.getpid()}")
        lock.flush()
        yield
