"""Spark's own log of each session: a temporary file, kept until the next run if the run ended with an error."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX, _SUFFIX = "kip848-spark-", ".log"


def create() -> tuple[Path, int]:
    """Return a new log and its file descriptor, locked until the last process that writes to the log ends."""
    # Hidden until it is locked, so that no other run takes it for a log of an ended run.
    handle, name = tempfile.mkstemp(prefix=f".{_PREFIX}", suffix=_SUFFIX)
    hidden = Path(name)
    with suppress(OSError):  # a folder without locks: there no log is ever removed
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return hidden.rename(hidden.with_name(hidden.name.removeprefix("."))), handle


def remove_ended() -> None:
    """Remove this user's logs of all runs that have ended, with or without an error."""
    for log in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):  # another run may remove it at the same time
            _remove_if_ended(log)


def _remove_if_ended(log: Path) -> None:
    handle = os.open(log, os.O_RDWR | os.O_NOFOLLOW)
    try:
        if os.fstat(handle).st_uid == os.getuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            log.unlink()
    finally:
        os.close(handle)
