"""One writer at a time: runs that change the same tables would undo each other's work."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from delta import exceptions as delta

from kip848_records.errors import InputError
from kip848_records.sources.files import local_path
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

# They have no class in common that Python could name.
_CONFLICTS = (
    delta.ConcurrentAppendException,
    delta.ConcurrentDeleteDeleteException,
    delta.ConcurrentDeleteReadException,
    delta.ConcurrentTransactionException,
    delta.ConcurrentWriteException,
    delta.DeltaConcurrentModificationException,
    delta.MetadataChangedException,
    delta.ProtocolChangedException,
)
_FULL = "No space left on device"


@contextmanager
def only_writer(spark: SparkSession, out: str) -> Iterator[None]:
    """Keep other runs from the tables in `out` until the block ends, or the process does, in whatever way.

    By a lock, among runs on this machine. An object store has none, nor have some volumes: there Delta refuses a commit
    that meets another one of the same table, and no more; in S3, of several drivers not even that (its "Storage
    configuration"). Raises InputError where it is refused, and where the disk is full.
    """
    folder = local_path(spark, out)
    try:
        if folder is None:
            yield
        else:
            with _locked(folder, out):
                yield
    except _CONFLICTS as error:
        raise TablesError.other_writer(out) from error
    except Exception as error:
        if _FULL in str(error):
            raise InputError.disk_full(out) from error
        raise


def is_locked(spark: SparkSession, out: str) -> bool:
    """Return whether a lock keeps other runs from the tables in `out`, not Delta alone."""
    folder = local_path(spark, out)
    return folder is not None and folder.is_dir() and _is_held(folder)


def _is_held(folder: Path) -> bool:
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # as below
        return False
    finally:
        os.close(lock)
    return False


@contextmanager
def _locked(folder: Path, out: str) -> Iterator[None]:
    """Lock the folder itself: nothing is left in it, and the system takes the lock from a process that ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise InputError.not_writable(out, error.strerror) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise TablesError.other_writer(out) from None
    except OSError:  # a volume that looks like a folder, and cannot be locked
        pass
    try:
        yield
    finally:
        os.close(lock)
