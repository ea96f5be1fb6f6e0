"""A topic that a test writes to: rows of a log, up to where the test says it ends, less what the test removed."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.pipeline.live import audit_topic
from kip848_records.pipeline.options import AuditOptions
from kip848_records.simulate.spec import START_MS
from kip848_records.sources.topic.ends import Ends
from kip848_records.sources.topic.log_rows import LOG_SCHEMA
from kip848_records.tables.registry import TABLES
from tests.audits import table_rows
from tests.equal_rows import Rows
from tests.progress import Watcher

DAY_MS = 24 * 60 * 60 * 1000


@dataclass
class Topic:
    """`rows` is all that is ever written to it (`LOG_COLUMNS`); `until` how much of it is there yet, by partition.

    `open_after`: how many offsets a partition has behind that, which an open transaction hides. `now_ms`: when a run
    asks for the ends (`topic_ends`: of other topics, by topic and partition), by default 10 s behind the log of
    `two_days`.
    """

    spark: SparkSession
    rows: DataFrame
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

    def ends(self) -> Ends:
        offsets = {partition: (self.starts.get(partition, 0), end) for partition, end in self.until.items()}
        marks = {partition: end + self.open_after.get(partition, 0) for partition, (_, end) in offsets.items()}
        named = (self.retention_ms, self.names, self.now_ms, self.offsets_retention_ms)
        return Ends(self.topic_id, offsets, marks, *named)

    def end_offsets(self, partitions):
        return [(*each, 0, self.topic_ends[each], self.now_ms) for each in partitions if each in self.topic_ends]

    def read(self, ranges):
        self.asked.append(dict(ranges))
        wanted = [(partition, first, until) for partition, (first, until) in ranges.items()]
        places = self.spark.createDataFrame(wanted, "partition int, first bigint, until bigint")
        there = self.rows.join(F.broadcast(places), "partition").where("offset >= first AND offset < until")
        if self.removed:
            gone = self.spark.createDataFrame(sorted(self.removed), "partition int, offset bigint")
            there = there.join(F.broadcast(gone), ["partition", "offset"], "left_anti")
        return there.select(*LOG_SCHEMA.names)

    def reading(self):
        return nullcontext()

    def audit(self, out, progress=None, **options):
        """One run, into the folder `out`."""
        given = AuditOptions(sources=(self.name,), out=str(out), **options)
        return audit_topic(SparkEngine(self.spark, given.out), self, given, progress or Watcher())


def tables(out, cluster="default", *, without=("audit_runs", "log")):
    """Every table's rows: what two folders must agree on."""
    return {
        name: Rows(table_rows(out, name, cluster)) for name in TABLES if name not in without and (out / name).exists()
    }


def as_consumed(log: DataFrame) -> DataFrame:
    """Rows of segment files as a consumer sees them: records alone, with no word of transactions."""
    is_commit = F.col("key").substr(1, 2).isin(b"\x00\x00", b"\x00\x01")
    records = log.where("control IS NULL AND error_code IS NULL AND file IS NULL")
    unknown = {
        name: F.lit(None).cast(LOG_SCHEMA[name].dataType) for name in ("producer_id", "producer_epoch", "leader_epoch")
    }
    transaction = F.when(is_commit, "unknown").otherwise("none")
    return records.withColumns(unknown | {"transaction": transaction}).select(*LOG_SCHEMA.names)


def ends_of(rows: DataFrame) -> dict[int, int]:
    """Where each partition ends."""
    return {row.partition: row.end + 1 for row in rows.groupBy("partition").agg(F.max("offset").alias("end")).collect()}
