"""A live topic that Spark reads: its rows are staged in one pass, which also counts those that are not kept."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, ClassVar, Final

import pyarrow as pa
from pyspark.sql import Observation
from pyspark.sql import functions as F

from kip848_records.engines.engine import union_of
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.sources.dump import LOG_ROWS, with_by_key
from kip848_records.sources.dump_by_key import by_key_of_rows
from kip848_records.sources.known_keys import check_rows_are_log
from kip848_records.sources.predicates import NEWEST_MS, WITHOUT_OFFSET_COMMITS, key_of_types
from kip848_records.sources.topic.failures import failures_of
from kip848_records.sources.topic.live_log import LiveLog, TopicRows
from kip848_records.sources.topic.spark_rows import read_range
from kip848_records.specs.log_columns import LOG_COLUMNS, TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.engines.spark.engine import SparkEngine

_FORMAT: Final = "kafka"
_WITHOUT_COMMITS: Final = f"SELECT * FROM {{rows}} WHERE {WITHOUT_OFFSET_COMMITS}"  # noqa: S608 - a constant
_SPARK_READERS: Final = ("spark-kafka-source-", "spark-kafka-relation-")
"""Prefixes of the groups that Spark's own readers create: a new one each time, which no client uses again."""


@dataclass(frozen=True)
class SparkTopic(LiveLog):
    """A topic that Spark's Kafka source reads: without markers, at most to the end of the `isolation`."""

    engine: SparkEngine
    shows_markers: ClassVar[bool] = False

    def read(self, ranges: Mapping[int, tuple[int, int]]) -> DataFrame:
        """Return the rows of each partition from one offset to before another (`specs.log_columns.LOG_COLUMNS`)."""
        return read_range(self.engine.spark, self.brokers.topic, ranges, isolation=self.isolation)

    def stage(self, ranges: Mapping[int, tuple[int, int]], *, offset_commits: bool, by_key: bool = False) -> TopicRows:
        """Read the rows to keep once, and count the others."""
        return stage_rows(self.engine, self.read(ranges), ranges, offset_commits=offset_commits, by_key=by_key)

    def check_is_log(self, ranges: Mapping[int, tuple[int, int]]) -> None:
        """Raise InputError for a topic other than `__consumer_offsets`."""
        check_rows_are_log(self.engine, self.read(ranges), self.name)

    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which rows can be read: failures within it become a TopicError."""
        return failures_of(self.brokers)


def stage_rows(
    engine: Engine,
    rows: DataFrame,
    ranges: Mapping[int, tuple[int, int]],
    *,
    offset_commits: bool,
    by_key: bool = False,
) -> TopicRows:
    """Copy the rows to keep in one pass, and count the others. `ranges`: the offsets of the rows in each partition.

    `by_key`: all rows are copied then, and a row of coverage for each partition has what they hold by key.

    A topic's rows may be read only once: compaction may remove some between two reads.
    """
    starts = (F.col("group_id").startswith(prefix) for prefix in _SPARK_READERS)
    is_reader = F.coalesce(reduce(or_, starts), F.lit(False))  # noqa: FBT003
    untils = F.array(*(F.lit(ranges.get(partition, (0, 0))[1]) for partition in range(max(ranges) + 1)))
    is_last = F.col("offset") == F.get(untils, F.col("partition")) - 1
    last = F.struct("partition", F.unix_millis("timestamp").alias("ms"))
    counts = {
        f"type_{commit}": F.count_if(F.expr(key_of_types([commit])) & ~is_reader) for commit in OFFSET_COMMIT_TYPES
    }
    counts |= {
        # With a bin for each partition it counts exactly. Separate counters would cost more per row than all else here.
        "seen": F.to_json(F.histogram_numeric("partition", F.lit(max(2, len(ranges))))),
        "last": F.to_json(F.collect_list(F.when(is_last, last))),
        "newest_ms": F.expr(NEWEST_MS),
        "skipped": F.count_if(is_reader),
    }
    observed = Observation("topic")
    passing = rows.observe(observed, *(count.alias(name) for name, count in counts.items()))
    wanted = passing if offset_commits or by_key else passing.filter(WITHOUT_OFFSET_COMMITS)
    staged = engine.materialize(wanted.filter(~is_reader), "rows")
    found = observed.get
    if by_key:
        covered = engine.relation(_covered(engine, staged, ranges))
        kept = staged if offset_commits else engine.sql(_WITHOUT_COMMITS, rows=staged)
        staged = union_of(engine, [kept, covered])
    passed = {} if offset_commits else {commit: found[f"type_{commit}"] for commit in OFFSET_COMMIT_TYPES}
    seen: Counter[int] = Counter()
    for each in json.loads(found["seen"] or "[]"):  # each task may have its own bin
        seen[round(each["x"])] += round(each["y"])
    # Spark's source hides markers, so that only a range of which each offset is a record is known to be whole.
    return TopicRows(
        staged,
        seen,
        frozenset(partition for partition, (first, until) in ranges.items() if seen[partition] == until - first),
        last_ms={each["partition"]: each["ms"] for each in json.loads(found["last"])},
        newest_ms=found["newest_ms"],
        offset_commits={commit: count for commit, count in passed.items() if count},
        skipped=found["skipped"],
    )


def _covered(engine: Engine, rows: Relation, ranges: Mapping[int, tuple[int, int]]) -> pa.Table:
    """Return a row of coverage for each partition, with what rows hold by key."""
    columns = {name: f"dump.{name}" for name in LOG_COLUMNS.names}
    found = by_key_of_rows(engine, rows, columns, LOG_ROWS.is_readable)
    covered = [
        {
            "partition": partition,
            "offset": until - 1,
            "copies": [TOPIC],
            "file": {"format": _FORMAT, "first_offset": first, "last_offset": until - 1, "unread": [], "skipped": []},
        }
        for partition, (first, until) in sorted(ranges.items())
    ]
    return with_by_key(pa.Table.from_pylist(covered, LOG_COLUMNS), found)
