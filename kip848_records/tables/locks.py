"""The lock on a folder of tables that prevents other runs on this machine from writing to them."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
