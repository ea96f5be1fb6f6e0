"""A live topic with all that reading it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.sources.topic.ends import look_up
from kip848_records.sources.topic.failures import failures_of
from kip848_records.sources.topic.rows import read_range, stream

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.sources.topic.address import Topic
    from kip848_records.sources.topic.ends import Ends


@dataclass(frozen=True)
class LiveTopic:
    """A topic that is being written to: where it ends now, and its rows. `isolation` as `look_up` takes it."""

    spark: SparkSession
    topic: Topic
    isolation: str

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self.topic.url

    def ends(self) -> Ends:
        """Return where its partitions start and end now, and what else the cluster says of it."""
        return look_up(self.spark, self.topic, isolation=self.isolation)

    def read(self, ranges: Mapping[int, tuple[int, int]]) -> DataFrame:
        """Return the rows of each partition from one offset to before another (`sources.log.COPY_SCHEMA`)."""
        return read_range(self.spark, self.topic, ranges, isolation=self.isolation)

    def stream(self, starting: Mapping[int, int]) -> DataFrame:
        """Return the same rows as a stream: of each partition from an offset on, or from where its checkpoint is."""
        return stream(self.spark, self.topic, list(starting), starting, isolation=self.isolation)

    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which rows can be read: what fails there becomes a TopicError."""
        return failures_of(self.topic, "read")
