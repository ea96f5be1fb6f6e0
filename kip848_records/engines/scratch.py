"""The folder for rows that are computed once: no other user may read it, and it is removed."""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from kip848_records.machine.disks import DiskError
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STAGING = "_staging"
"""The folder in a work folder that contains those of runs."""


@contextmanager
def scratch_folder(work: Path, named: str) -> Iterator[Path]:
    """Yield a folder that is removed when the block ends; files of a killed run are removed first.

    `named`: the work folder as the user names it. Raises InputError if no folder can be made in it, or if the block
    fails because another run removed it: on a volume without locks that takes this run for a killed one.
    """
    staging = work / STAGING
    shutil.rmtree(staging, ignore_errors=True)
    scratch = staging / str(uuid4())
    try:
        staging.mkdir(mode=0o700, exist_ok=True)
        scratch.mkdir(mode=0o700)
    except OSError as error:
        raise DiskError.of_folder(named, error) from None
    try:
        yield scratch
    except Exception as error:
        if scratch.exists():
            raise
        raise TablesError.other_writer(named) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):
            staging.rmdir()
