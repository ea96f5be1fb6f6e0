"""Copies of segment files that lost parts: read and replayed as an audit does, in process.

The bytes of files -> `read_file` -> rows of the log -> `read_coverage` -> `replay_batches`.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.log.coverage import LogCoverage, read_coverage
from kip848_records.queries.duck import _database, _with_dollars
from kip848_records.queries.tables import named_rows
from kip848_records.replay.decode.grouped_rows import LOG_SCHEMA
from kip848_records.replay.group.known_history import OBSERVED, RIGHT_CENSORED
from kip848_records.replay.group.vocabulary import OPEN, UNKNOWN
from kip848_records.replay.group_replay import GroupReplay
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.worker import replay_batches
from kip848_records.sources.file_coverage import SegmentFile
from kip848_records.sources.rows import ROWS_SCHEMA
from kip848_records.sources.segment_rows import read_file
from kip848_records.specs.log_columns import LOG_COLUMNS
from tests.replay.compaction import KEYS
from tests.replay.logs import Rows
from tests.replay.segment_copies import captured_at

_FIRST_OF_GROUPS = 2
_ADDED_KEYS = {
    "ClassicGeneration": ("group_id", "offset"),
    "GroupMigration": ("group_id", "offset"),
    "PartitionHandover": (*KEYS["PartitionHandover"], "topic"),
    "TaskHandover": (*KEYS["TaskHandover"], "connector"),
    "StoppedPartition": ("group_id", "topic_id", "topic", "partition", "offset", "rebalance_offset", "kind"),
}
_KEYS = KEYS | _ADDED_KEYS
_NUMBERED = {"incarnation"}
"""The deletions that are counted may be lost."""
_COUNTS = {
    *("records", "operations", "largest_operation_bytes", "largest_operation_offset"),
    *("complete_from", "has_full_history", "has_lost_prefix", "history"),
}

_OF_UNKNOWN = {"state", "since", "offset", "group_type"}
"""What a row in state unknown says of itself: since when, its last record, behind which others may be lost, and the
type by that record: a lost one may have converted the group."""


class Part(NamedTuple):
    """A record batch as bytes, with its first and last offset."""

    first: int
    last: int
    data: bytes

    def damaged(self) -> "Part":
        """The same batch with another CRC than its header's."""
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
    file = pa.array([(files or [None])[0] for files in rows["files"].to_pylist()], LOG_COLUMNS.field("file").type)
    columns = {name: rows[name] for name in rows.schema.names}
    columns |= {"file": file, "copies": pa.array([[copy]] * len(rows), pa.list_(pa.string()))}
    return pa.table([columns[name] for name in LOG_COLUMNS.names], LOG_COLUMNS)


def coverage_of(rows: pa.Table) -> LogCoverage:
    """What the rows of one copy hold of each partition, by the SQL of an audit."""
    connection = _database().cursor()
    log = rows.append_column("cluster", pa.array(["c"] * len(rows))).append_column("run", pa.array([1] * len(rows)))
    connection.register("log", log)

    def ask(text: str, **parameters: object) -> list[Any]:
        named = {"cluster": "c", **parameters}
        return named_rows(connection.execute(_with_dollars(text), named).to_arrow_table())

    return read_coverage(None, ask, None)  # type: ignore[arg-type] - only rows of several copies are compared


class _Kept(GroupReplay):
    """Keeps the rows as they are: Arrow would only slow their comparison."""

    rows: Rows

    def finish(self) -> Iterator[NamedTuple]:
        for row in super().finish():
            self.rows[type(row).__name__].append(row)
        return iter(())


def replayed_log(rows: pa.Table, partitions: Mapping[int, PartitionCoverage], at: int) -> Rows:
    """Replay the rows of a log; the rows of each table by its class's name."""
    readable = pc.and_(pc.is_null(rows["control"]), pc.is_null(rows["file"]))
    is_commit = pc.less(pc.fill_null(rows["key_type"], _FIRST_OF_GROUPS), _FIRST_OF_GROUPS)
    chosen = rows.filter(pc.and_(readable, pc.invert(is_commit))).select(LOG_SCHEMA.names)
    in_order = chosen.sort_by([(name, "ascending") for name in ("partition", "group_id", "offset")])
    return replayed_batches(
        ReplayInputs("kafka", at, partitions, offset_commits=True), in_order.combine_chunks().to_batches()
    )


def replayed_batches(inputs: ReplayInputs, batches: Iterable[pa.RecordBatch]) -> Rows:
    """Replay log rows in order; the rows of each table by its class's name."""
    found: Rows = defaultdict(list)
    kept = type("Kept", (_Kept,), {"rows": found})
    for _ in replay_batches(inputs, batches, kept):
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
        skipped = _COUNTS if row.history == RIGHT_CENSORED else {*_COUNTS, "since"}
        true = known_states.get(row.group_id)
        if row.state == UNKNOWN:
            if true is None:  # the loss may hide its deletion
                continue
            skipped = {*_COUNTS, *_OF_UNKNOWN}
        columns = [name for name in _differing(row, true) if name not in skipped]
        wrong.update(("GroupState", column) for column in columns)
    unknown = {row.group_id for row in part["GroupState"] if row.state == UNKNOWN}
    wrong.update(("open", type(row).__name__) for _, row in called_open(part) if row.group_id in unknown)
    proven = {row._replace(incarnation=0) for row in whole["Anomaly"]}
    wrong.update(
        ("Anomaly", row.kind) for row in part["Anomaly"] if row.is_proven and row._replace(incarnation=0) not in proven
    )
    return wrong


def called_open(rows: Rows) -> list[tuple[int, Any]]:
    """The rows of groups that the copy says are open at its end, with the offset at which each began."""
    rebalances = [(row.began_offset, row) for row in rows["Rebalance"] if row.outcome == OPEN]
    epochs = [(row.bump_offset, row) for row in rows["Epoch"] if row.status == OPEN]
    gaps = [(row.released_offset, row) for row in rows["TaskHandover"] if row.status == OPEN]
    owned = [(row.from_offset, row) for row in rows["OwnershipInterval"] if row.to_at is None]
    stays = [(row.acquired_offset, row) for row in rows["OwnedPartition"] if row.released_offset is None]
    return [*rebalances, *epochs, *gaps, *owned, *stays]


def _differing(row: Any, true: Any) -> list[str]:
    """The columns of a row that are not null, and not those of the whole log's row."""
    if true is None:
        return ["no such row"]
    ours, theirs = row._asdict(), true._asdict()
    return [
        name for name, value in ours.items() if name not in _NUMBERED and value is not None and value != theirs[name]
    ]


@dataclass(frozen=True)
class WholeLog:
    """The log of one partition of a capture, of which copies lose parts."""

    capture: Path
    partition: int

    @cached_property
    def parts(self) -> list[Part]:
        """Its batches."""
        (file,) = (self.capture / "segments" / f"__consumer_offsets-{self.partition}").glob("*.log")
        return parts_of(file.read_bytes())

    @cached_property
    def captured_at(self) -> int:
        """The time of the capture in ms since 1970."""
        return captured_at(self.capture)

    @cached_property
    def _replayed(self) -> dict[int, Rows]:
        return {}

    def rows_until(self, last: int) -> Rows:
        """The rows of the log up to an offset."""
        if last not in self._replayed:
            self._replayed[last] = self._rows([[part for part in self.parts if part.last <= last]])[1]
        return self._replayed[last]

    def compared(self, files: Files) -> tuple[Counter[Any], Rows]:
        """What the rows of a copy with these files contradict of the whole log, and the rows."""
        coverage, rows = self._rows(files)
        known = coverage.partitions.get(self.partition)
        if known is None:  # nothing could be read
            return Counter(), rows
        end = max(part.last for part in self.parts if part.last <= (known.last_offset or 0))
        return contradictions(self.rows_until(self.parts[-1].last), self.rows_until(end), rows), rows

    def _rows(self, files: Files) -> tuple[LogCoverage, Rows]:
        rows = log_rows(self.partition, files)
        coverage = coverage_of(rows)
        return coverage, replayed_log(rows, coverage.partitions, self.captured_at)

    def without(self, number: int) -> Files:
        """The files of a copy that lacks one batch: it was a file of its own."""
        return [parts for parts in (self.parts[:number], self.parts[number + 1 :]) if parts]

    def damaged(self, number: int) -> Files:
        """The file of a copy with one batch that cannot be read."""
        return [[*self.parts[:number], self.parts[number].damaged(), *self.parts[number + 1 :]]]

    def without_several(self, rng: random.Random) -> Files:
        """The files of a copy that lost its head, its end, files in the middle, or batches, up to five times."""
        share = rng.choice([0, 0, 0.01, 0.02])
        parts = [part.damaged() if rng.random() < share else part for part in self.parts]
        size = rng.choice([1, 2, 3, 5, 8, 20, 50])
        cuts = [0]
        while cuts[-1] < len(parts):
            cuts.append(min(len(parts), cuts[-1] + rng.randint(1, 2 * size)))
        files = [parts[begin:end] for begin, end in pairwise(cuts)]
        for _ in range(rng.choice([1, 1, 1, 2, 3, 5])):
            few = rng.randint(1, max(1, len(files) // 3))
            match rng.choice(["head", "end", "middle", "middle", "middle"]):
                case "head":
                    del files[:few]
                case "end":
                    del files[-few:]
                case _:
                    first = rng.randrange(len(files))
                    del files[first : first + rng.choice([1, 1, 2])]
            if len(files) <= 1:
                break
        return files or [parts[:1]]
