"""The interface to a topic that a run needs, for Kafka's topics and for substitutes in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame

    from kip848_records.sources.topic.ends import Ends


class LiveLog(Protocol):
    """A topic that is being written, as `sources.topic` reads it."""

    @property
    def name(self) -> str:
        """The topic as the user names it."""

    def ends(self) -> Ends:
        """Return the present starts and ends of its partitions, and other facts of the cluster about it."""

    def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> list[tuple[str, int, int, int, int]]:
        """Return topic, partition, start, end and time of the question, of other topics: see `look_up_ends`."""

    def read(self, ranges: Mapping[int, tuple[int, int]]) -> DataFrame:
        """Return the rows of each partition from one offset to before another (`specs.log_columns.COPY_COLUMNS`)."""

    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which rows can be read: failures within it become errors for the user."""
