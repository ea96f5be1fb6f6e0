"""Parquet files of this machine: a writer that says once when a disk is full, and whether a file can be read."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path


class Writer(pq.ParquetWriter):  # type: ignore[misc]  # Arrow has no types
    """Without this, a writer whose `close` failed tries again when it is collected, and Python prints that failure."""

    def __del__(self) -> None:
        """Close the file, if nobody did."""
        with suppress(OSError):
            super().__del__()


def is_whole(file: Path) -> bool:
    """Return whether Arrow can read all rows of a Parquet file."""
    try:
        with pq.ParquetFile(file) as opened:
            deque(opened.iter_batches(), maxlen=0)
    except (pa.ArrowException, OSError):
        return False
    return True
