"""Copies of segment files that lost parts: read and replayed as an audit does, in process.

The bytes of files -> `read_file` -> rows of the log -> `read_coverage` -> `replay_batches`.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.log.coverage import read_coverage
from kip848_records.queries.duck import _database, _with_dollars
from kip848_records.queries.tables import named_rows
from kip848_records.replay.coverage import OBSERVED, RIGHT_CENSORED
from kip848_records.replay.group import GroupReplay
from kip848_records.replay.log_rows import LOG_SCHEMA
from kip848_records.replay.records import PartitionCoverage, ReplayInputs
from kip848_records.replay.states import UNKNOWN
from kip848_records.replay.worker import replay_batches
from kip848_records.sources.file_coverage import SegmentFile
from kip848_records.sources.log_columns import LOG_COLUMNS
from kip848_records.sources.segment_rows import ROWS_SCHEMA, read_file
from tests.replay.compaction import KEYS
from tests.replay.logs import Rows

_FIRST_OF_GROUPS = 2
_ADDED_KEYS = {
    "ClassicGeneration": ("group_id", "offset"),
    "GroupMigration": ("group_id", "offset"),
    "StoppedPartition": ("group_id", "topic_id", "topic", "partition", "offset", "rebalance_offset", "kind"),
}
_KEYS = KEYS | _ADDED_KEYS
_NUMBERED = {"incarnation"}
"""The deletions that are counted may be lost."""
_COUNTS = {
    *("records", "operations", "largest_operation_bytes", "largest_operation_offset"),
    *("complete_from", "has_full_history", "has_lost_prefix", "history"),
}


@dataclass(frozen=True)
class Part:
    """A record batch as bytes, with its first and last offset."""

    first: int
    last: int
    data: bytes

    def damaged(self) -> "Part":
        return Part(self.first, self.last, self.data[:-1] + bytes([self.data[-1] ^ 1]))


def parts_of(segment: bytes) -> list[Part]:
    """The batches of a segment."""
    found = []
    place = 0
    while place < len(segment):
        size = 12 + int.from_bytes(segment[place + 8 : place + 12], "big")
        data = segment[place : place + size]
        first = int.from_bytes(data[:8], "big")
        found.append(Part(first, first + int.from_bytes(data[23:27], "big"), data))
        place += size
    return found


Files = Sequence[Sequence[Part]]
"""The segment files of a partition; each begins at the offset of its name, which is that of its first batch."""


def log_rows(partition: int, files: Files, copy: str = "a") -> pa.Table:
    """The rows of a copy (`LOG_COLUMNS`)."""
    tables = []
    start = min(parts[0].first for parts in files)
    for parts in files:
        content = memoryview(b"".join(part.data for part in parts))
        tables += read_file(content, f"{parts[0].first}.log", SegmentFile(partition, parts[0].first, start))
    rows = pa.Table.from_batches(tables, ROWS_SCHEMA)
    file = pc.list_element(pc.fill_null(rows["files"], [None]).combine_chunks(), 0) if len(rows) else rows["files"]
    columns = {name: rows[name] for name in LOG_COLUMNS.names if name in rows.schema.names}
    columns |= {"file": file, "copies": pa.array([[copy]] * len(rows), pa.list_(pa.string()))}
    return pa.table([columns[name] for name in LOG_COLUMNS.names], LOG_COLUMNS)


def partitions_of(rows: pa.Table) -> dict[int, PartitionCoverage]:
    """What the rows of a copy hold of each partition, by the product's SQL."""
    connection = _database().cursor()
    log = rows.append_column("cluster", pa.array(["c"] * len(rows)))
    connection.register("log", log)

    def ask(text: str, **parameters: object) -> list[Any]:
        named = {"cluster": "c", **parameters}
        return named_rows(connection.execute(_with_dollars(text), named).to_arrow_table())

    return dict(read_coverage(ask, None).partitions)  # type: ignore[arg-type] - rows of one copy are not compared


class _Kept(GroupReplay):
    """Keeps the rows as they are: Arrow would only slow their comparison."""

    rows: Rows

    def finish(self) -> Iterator[NamedTuple]:
        for row in super().finish():
            self.rows[type(row).__name__].append(row)
        return iter(())


def replayed_log(rows: pa.Table, partitions: dict[int, PartitionCoverage], captured_at: int) -> Rows:
    """Replay the rows of a log; the rows of each table by its class's name."""
    readable = pc.and_(pc.is_null(rows["control"]), pc.is_null(rows["file"]))
    is_commit = pc.less(pc.fill_null(rows["key_type"], _FIRST_OF_GROUPS), _FIRST_OF_GROUPS)
    chosen = rows.filter(pc.and_(readable, pc.invert(is_commit))).select(LOG_SCHEMA.names)
    in_order = chosen.sort_by([(name, "ascending") for name in ("partition", "group_id", "offset")])
    found: Rows = defaultdict(list)
    kept = type("Kept", (_Kept,), {"rows": found})
    inputs = ReplayInputs("kafka", captured_at, partitions)
    for _ in replay_batches(inputs, in_order.combine_chunks().to_batches(), kept):
        pass
    return found


def contradictions(whole: Rows, until_end: Rows, part: Rows) -> Counter[Any]:
    """What rows of a copy claim that the whole log contradicts, by table and column.

    Args:
        whole: the rows of the whole log: what is `observed` must be in it.
        until_end: the rows of the log up to the end of the copy: what is still open then, and the present state.
        part: the rows of the copy.
    """
    wrong: Counter[Any] = Counter()
    for table, names in _KEYS.items():
        known = {
            OBSERVED: {tuple(getattr(row, name) for name in names): row for row in whole[table]},
            RIGHT_CENSORED: {tuple(getattr(row, name) for name in names): row for row in until_end[table]},
        }
        for row in part[table]:
            if row.history in known:
                true = known[row.history].get(tuple(getattr(row, name) for name in names))
                wrong.update((table, row.history, column) for column in _differing(row, true))
    known_states = {row.group_id: row for row in until_end["GroupState"]}
    for row in part["GroupState"]:
        if row.state != UNKNOWN:
            skipped = _COUNTS if row.history == RIGHT_CENSORED else {*_COUNTS, "since"}
            columns = [name for name in _differing(row, known_states.get(row.group_id)) if name not in skipped]
            wrong.update(("GroupState", column) for column in columns)
    proven = {row._replace(incarnation=0) for row in whole["Anomaly"]}
    wrong.update(
        ("Anomaly", row.kind) for row in part["Anomaly"] if row.is_proven and row._replace(incarnation=0) not in proven
    )
    return wrong


def _differing(row: Any, true: Any) -> list[str]:
    """The columns of a row that are not null, and not those of the whole log's row."""
    if true is None:
        return ["no such row"]
    ours, theirs = row._asdict(), true._asdict()
    return [
        name for name, value in ours.items() if name not in _NUMBERED and value is not None and value != theirs[name]
    ]
