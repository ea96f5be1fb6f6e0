"""Kafka's log cleaner, run over the older part of a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kip848_records.machine.parquet import Writer

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

_CLEAN_SHARE: Final = (0.5, 0.95)
"""The share of a partition's segments that has been cleaned; the active one never is."""


def clean(path: Path, random: Random, delete_retention_ms: int) -> int:
    """Compact a partition's file as the cleaner does; return the offset up to which it was cleaned.

    Row groups represent segments. Below that offset only the last record of each key stays, and no tombstone older than
    `delete_retention_ms`. The cleaner runs at the newest timestamp that it reads.
    """
    with pq.ParquetFile(path) as file:
        segments = file.num_row_groups
        dirty = min(int(segments * random.uniform(*_CLEAN_SHARE)), segments - 1)
        last_offsets, now = _last_offsets(file, dirty)
        oldest_tombstone = pa.scalar(now - delete_retention_ms * 1000, pa.int64())
        cleaned_to = 0
        part = path.with_suffix(".cleaned")
        with Writer(part, file.schema_arrow, compression="zstd") as writer:
            for number in range(segments):
                segment = file.read_row_group(number)
                if number < dirty:
                    cleaned_to = segment["offset"][-1].as_py() + 1
                    young = pc.greater_equal(segment["timestamp"].cast(pa.int64()), oldest_tombstone)
                    keeps = pc.or_(segment["value"].is_valid(), young)
                    segment = segment.filter(pc.and_(pc.is_in(segment["offset"], last_offsets), keeps))
                if len(segment):
                    writer.write_table(segment, row_group_size=len(segment))
    part.replace(path)
    return cleaned_to


def _last_offsets(file: pq.ParquetFile, dirty: int) -> tuple[pa.Array, int]:
    """Return the offset of the last record of each key in the segments below `dirty`, and their newest time (µs)."""
    last: dict[bytes, int] = {}
    newest = 0
    for number in range(dirty):
        segment = file.read_row_group(number, columns=["key", "offset", "timestamp"])
        by_key = segment.group_by("key").aggregate([("offset", "max")])
        last.update(zip(by_key["key"].to_pylist(), by_key["offset_max"].to_pylist(), strict=True))
        newest = max(newest, pc.max(segment["timestamp"]).cast(pa.int64()).as_py())
    return pa.array(last.values(), pa.int64()), newest
