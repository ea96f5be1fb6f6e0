"""One writer at a time: two runs that change the same tables would undo each other's changes."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kip848_records.machine.disks import FULL, DiskError
from kip848_records.machine.paths import local_path
from kip848_records.spark.scratch import scratch_places
from kip848_records.tables import locks
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_CONFLICT = re.compile(r"\[DELTA_(CONCURRENT_|METADATA_CHANGED|PROTOCOL_CHANGED)")
"""The conditions of Delta's conflicts: the classes of its errors differ by session, and Python has no base of them."""


@contextmanager
def only_writer(spark: SparkSession, out: str) -> Iterator[None]:
    """Keep other runs from writing to the tables in `out` until the block or the process ends.

    A lock does this for runs on this machine. Object stores and some volumes have no locks: there Delta only refuses a
    commit that conflicts with another one of the same table. In S3 it does not even do that for several drivers (see
    its "Storage configuration"). Raises InputError if another run holds the lock, or if the disk is full.
    """
    folder = local_path(spark, out)
    try:
        if folder is None:
            yield
        else:
            with locks.locked(folder, out):
                yield
    except Exception as error:
        if _CONFLICT.search(str(error)):
            raise TablesError.other_writer(out) from error
        if FULL in str(error):
            places = {} if folder is None else {out: folder}
            raise DiskError.full(places | scratch_places()) from error
        raise


def is_locked(spark: SparkSession, out: str) -> bool:
    """Return whether a lock keeps other runs from the tables in `out`, rather than Delta alone."""
    folder = local_path(spark, out)
    return folder is not None and folder.is_dir() and locks.is_locked(folder)
