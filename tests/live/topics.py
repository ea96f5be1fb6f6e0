"""A topic that a test writes to: rows of a log, up to where the test says it ends, less what the test removed."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.pipeline.live import audit_topic
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.simulate.spec import START_MS
from kip848_records.sources.known_keys import check_rows_are_log
from kip848_records.sources.read import read_copies
from kip848_records.sources.topic.ends import Ends
from kip848_records.sources.topic.live_log import TopicRows
from kip848_records.sources.topic.spark_topic import stage_rows
from kip848_records.specs.log_columns import LOG_COLUMNS
from kip848_records.tables.registry import TABLES
from tests.audits import table_rows
from tests.equal_rows import Rows
from tests.progress import Watcher

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

DAY_MS = 24 * 60 * 60 * 1000


@dataclass
class Topic:
    """`rows` is all that is ever written to it (`LOG_COLUMNS`); `until` how much of it is there yet, by partition.

    `open_after`: how many offsets a partition has behind that, which an open transaction hides. `now_ms`: when a run
    asks for the ends (`topic_ends`: of other topics, by topic and partition), by default 10 s behind the log of
    `two_days`. `spark`: the session that audits all topics (fixture `each_engine`); without one no JVM is started.
    """

    rows: pa.Table
    until: dict[int, int]
    starts: dict[int, int] = field(default_factory=dict)
    removed: set[tuple[int, int]] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    topic_id: str = "AAAAAAAAAAAAAAAAAAAAAQ"
    now_ms: int = START_MS + 2 * DAY_MS + 120_000
    retention_ms: int | None = DAY_MS
    offsets_retention_ms: int | None = None
    open_after: dict[int, int] = field(default_factory=dict)
    asked: list[dict[int, tuple[int, int]]] = field(default_factory=list)
    topic_ends: dict[tuple[str, int], int] = field(default_factory=dict)
    name: str = "kafka://localhost:9092/__consumer_offsets"
    shows_markers: bool = False
    spark: ClassVar[SparkSession | None] = None

    def ends(self) -> Ends:
        offsets = {partition: (self.starts.get(partition, 0), end) for partition, end in self.until.items()}
        marks = {partition: end + self.open_after.get(partition, 0) for partition, (_, end) in offsets.items()}
        named = (self.retention_ms, self.names, self.now_ms, self.offsets_retention_ms)
        return Ends(self.topic_id, offsets, marks, *named)

    def end_offsets(self, partitions):
        return [(*each, 0, self.topic_ends[each], self.now_ms) for each in partitions if each in self.topic_ends]

    def read(self, ranges):
        self.asked.append(dict(ranges))
        return self._engine.relation(self.there(ranges))

    def there(self, ranges):
        """The rows of these offsets that were not removed."""
        places = zip(self.rows["partition"].to_pylist(), self.rows["offset"].to_pylist(), strict=True)
        there = [p in ranges and ranges[p][0] <= o < ranges[p][1] and (p, o) not in self.removed for p, o in places]
        return self.rows.filter(pa.array(there, pa.bool_()))

    def newest_ms(self):
        """The time of the newest record that is there yet, by partition."""
        shown = self.there({partition: (0, end) for partition, end in self.until.items()})
        times = zip(shown["partition"].to_pylist(), shown["timestamp"].to_pylist(), strict=True)
        return {p: round(at.timestamp() * 1000) for p, at in sorted(each for each in times if each[1])}

    def row(self, partition, offset):
        (found,) = [row for row in self.rows.to_pylist() if _at(row) == (partition, offset)]
        return found

    def change(self, partition, offset, **values):
        """Let a record have other values."""
        rows = [row | (values if _at(row) == (partition, offset) else {}) for row in self.rows.to_pylist()]
        self.rows = pa.Table.from_pylist(rows, LOG_COLUMNS)

    def stage(self, ranges, *, offset_commits, by_key=False):
        if self.spark:
            return stage_rows(self._engine, self.read(ranges), ranges, offset_commits=offset_commits, by_key=by_key)
        self.asked.append(dict(ranges))
        rows = self.there(ranges)
        seen = Counter(rows["partition"].to_pylist())
        millis = [None if at is None else round(at.timestamp() * 1000) for at in rows["timestamp"].to_pylist()]
        at = dict(zip(zip(rows["partition"].to_pylist(), rows["offset"].to_pylist(), strict=True), millis, strict=True))
        is_commit = pc.fill_null(
            pc.is_in(rows["key_type"], pa.array(OFFSET_COMMIT_TYPES, pa.int32())), fill_value=False
        )
        passed = Counter() if offset_commits else Counter(rows.filter(is_commit)["key_type"].to_pylist())
        return TopicRows(
            self._engine.relation(rows if offset_commits else rows.filter(pc.invert(is_commit))),
            seen,
            frozenset(p for p, (first, until) in ranges.items() if seen[p] == until - first),
            last_ms={p: at[p, until - 1] for p, (_, until) in ranges.items() if (p, until - 1) in at},
            newest_ms=max((each for each in millis if each is not None), default=None),
            offset_commits=dict(passed),
        )

    def check_is_log(self, ranges):
        check_rows_are_log(self._engine, self.read(ranges), self.name)

    def reading(self):
        return nullcontext()

    def audit(self, out, progress=None, **options):
        """One run, into the folder `out`."""
        given = AuditOptions(sources=(self.name,), out=str(out), **options)
        self._engine = SparkEngine(self.spark, given.out) if self.spark else EmbeddedEngine(given.out)
        return audit_topic(self._engine, self, given, progress or Watcher())


def tables(out, cluster="default", *, without=("audit_runs", "log")):
    """Every table's rows: what two folders must agree on."""
    return {
        name: Rows(table_rows(out, name, cluster)) for name in TABLES if name not in without and (out / name).exists()
    }


def read_as_consumed(path: Path) -> pa.Table:
    """The records of a copy as a consumer sees them, with no word of transactions."""
    schema, batches = read_copies(EmbeddedEngine(str(path)), str(path)).opened()
    unknown = dict.fromkeys(("producer_id", "producer_epoch", "leader_epoch"))
    records = [
        row | unknown | {"transaction": "unknown" if row["key_type"] in OFFSET_COMMIT_TYPES else "none"}
        for row in pa.Table.from_batches(batches, schema).to_pylist()
        if row["control"] is row["error_code"] is row["file"] is None
    ]
    return pa.Table.from_pylist(records, LOG_COLUMNS)


def ends_of(rows: pa.Table) -> dict[int, int]:
    """Where each partition ends."""
    ends = rows.group_by("partition").aggregate([("offset", "max")]).to_pylist()
    return {row["partition"]: row["offset_max"] + 1 for row in ends}


def _at(row):
    return row["partition"], row["offset"]
