"""A live topic that Spark reads: the engine of clusters, catalogs and object stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kip848_records.sources.known_keys import check_rows_are_log
from kip848_records.sources.topic.failures import failures_of
from kip848_records.sources.topic.live_log import LiveLog
from kip848_records.sources.topic.rows import read_range
from kip848_records.sources.topic.staged_rows import stage_rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame

    from kip848_records.engines.spark.engine import SparkEngine
    from kip848_records.sources.topic.live_log import TopicRows


@dataclass(frozen=True)
class LiveTopic(LiveLog):
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
