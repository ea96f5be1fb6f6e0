"""A live topic that Spark reads: the engine of clusters, catalogs and object stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kip848_records.sources.known_keys import check_rows_are_log
from kip848_records.sources.topic.failures import failures_of
from kip848_records.sources.topic.rows import read_range
from kip848_records.sources.topic.staged_rows import stage_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame

    from kip848_records.engines.spark.engine import SparkEngine
    from kip848_records.sources.topic.client import Brokers
    from kip848_records.sources.topic.ends import Ends
    from kip848_records.sources.topic.live_log import TopicRows


@dataclass(frozen=True)
class LiveTopic:
    """A topic that is being written: its present ends, and its rows.

    `isolation`: see `Brokers.look_up`. `group`: only its partition is read; None: all.
    """

    engine: SparkEngine
    brokers: Brokers
    isolation: str
    group: str | None = None
    shows_markers: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The topic as the user names it."""
        return self.brokers.topic.url

    def ends(self) -> Ends:
        """Return the present starts and ends of its partitions, and other facts of the cluster about it."""
        return self.brokers.look_up(self.isolation).of_group(self.group)

    def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> list[tuple[str, int, int, int, int]]:
        """Return topic, partition, start, end and time of the question, of other topics too."""
        return self.brokers.end_offsets(partitions)

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
