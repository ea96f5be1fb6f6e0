"""A live topic with all that is needed to read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.sources.topic.ends import look_up, look_up_ends
from kip848_records.sources.topic.failures import failures_of
from kip848_records.sources.topic.rows import read_range, stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.sources.topic.address import Topic
    from kip848_records.sources.topic.ends import Ends


@dataclass(frozen=True)
class LiveTopic:
    """A topic that is being written: its present ends, and its rows. `isolation`: see `look_up`."""

    spark: SparkSession
    topic: Topic
    isolation: str

    @property
    def name(self) -> str:
        """The topic as the user names it."""
        return self.topic.url

    def ends(self) -> Ends:
        """Return the present starts and ends of its partitions, and other facts of the cluster about it."""
        return look_up(self.spark, self.topic, isolation=self.isolation)

    def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> list[tuple[str, int, int, int, int]]:
        """Return topic, partition, start, end and time of the question, of other topics: see `look_up_ends`."""
        return look_up_ends(self.spark, self.topic, partitions)

    def read(self, ranges: Mapping[int, tuple[int, int]]) -> DataFrame:
        """Return the rows of each partition from one offset to before another (`specs.log_columns.LOG_COLUMNS`)."""
        return read_range(self.spark, self.topic, ranges, isolation=self.isolation)

    def stream(self, starting: Mapping[int, int]) -> DataFrame:
        """Return the same rows as a stream: each partition from an offset on, or from its position in a checkpoint."""
        return stream(self.spark, self.topic, list(starting), starting, isolation=self.isolation)

    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which rows can be read: failures within it become a TopicError."""
        return failures_of(self.topic, "read")
