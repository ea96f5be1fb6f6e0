"""The lock on a folder of tables that prevents other runs on this machine from writing to them."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kip848_records.machine.disks import DiskError
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def is_locked(folder: Path) -> bool:
    """Return whether a process, possibly this one, holds the lock of a folder.

    Volumes that look like folders but cannot be locked never are.
    """
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(lock)
    return False


@contextmanager
def locked(folder: Path, out: str) -> Iterator[None]:
    """Lock the folder itself: no lock file remains, and the system releases the lock when the process ends.

    `out`: the folder as the user names it. Raises InputError if another run holds the lock.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise DiskError.of_folder(out, error) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise TablesError.other_writer(out) from None
    except OSError:  # a volume that looks like a folder, but cannot be locked
        pass
    try:
        yield
    finally:
        os.close(lock)
