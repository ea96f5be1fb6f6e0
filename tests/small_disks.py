"""Disks of a few kilobytes, in memory."""

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str = "1m", options: str = "") -> Iterator[Path]:
    """Mount a disk at a new folder until the block ends; skip the test where the user may not."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}{options}", "none", folder]
    mounted = subprocess.run(command, check=False, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # Spark may have a file of it open still


def fill(folder: Path, leave: int = 0) -> Path:
    """Fill a disk up to a number of bytes; return the file that does."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017 - any other is a failure of the test
        file.truncate(max(0, file.tell() - leave))
    return filler
