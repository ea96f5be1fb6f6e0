"""A writer of Parquet files that says once when a disk is full."""

from __future__ import annotations

from contextlib import suppress

import pyarrow.parquet as pq


class Writer(pq.ParquetWriter):  # type: ignore[misc]  # Arrow has no types
    """Without this, a writer whose `close` failed tries again when it is collected, and Python prints that failure."""

    def __del__(self) -> None:
        """Close the file, if nobody did."""
        with suppress(OSError):
            super().__del__()
