"""Log rows as a replay reads them, made of plain Python values."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from kip848_records.replay.decode.grouped_rows import LOG_SCHEMA
from kip848_records.replay.records import Record

Row = dict[str, Any]

CAPTURES = sorted(oracle.parent for oracle in (Path(__file__).parent.parent / "captures").glob("*/oracle"))


class Ignored:
    """A replay that makes nothing of a group."""

    def __init__(self, *of_group: object) -> None: ...

    def replay(self, record: Record) -> None: ...

    def finish(self) -> Iterator[NamedTuple]:
        return iter(())


_OFFSET_COMMITS = (b"\0\0", b"\0\1")


def group_of_key(key: bytes) -> str:
    """The group id behind the type, where every key has it."""
    return key[4 : 4 + int.from_bytes(key[2:4], "big")].decode()


def group_rows(rows: Iterable[Row]) -> list[Row]:
    """Rows of groups with their group ids, in the order in which a replay reads them."""
    of_groups = (row for row in rows if row["key"][:2] not in _OFFSET_COMMITS)
    with_groups = [{"group_id": group_of_key(row["key"]), **row} for row in of_groups]
    return sorted(with_groups, key=lambda row: (row["partition"], row["group_id"], row["offset"]))


def log_batch(rows: Iterable[Row], schema: pa.Schema = LOG_SCHEMA) -> pa.RecordBatch:
    """A batch of rows that name only what matters; partition 0, offsets count up, times (ms) are those plus 1000."""
    full = []
    for offset, row in enumerate(rows):
        filled = {"partition": 0, "offset": offset, "timestamp": 1000 + offset} | row
        if filled["timestamp"] is not None:
            filled["timestamp"] *= 1000
        full.append({name: filled.get(name) for name in schema.names})
    return pa.RecordBatch.from_pylist(full, schema=schema)


def cut(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    """Slices of a batch, with an empty one before each."""
    for first in range(0, batch.num_rows, rows):
        yield batch.slice(first, 0)
        yield batch.slice(first, rows)
