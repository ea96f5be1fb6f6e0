"""What a run has to be told of a topic, whoever tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame

    from kip848_records.sources.topic import Ends


class LiveLog(Protocol):
    """A topic that is being written to, as `sources.topic` reads it."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    def ends(self) -> Ends:
        """Where its partitions start and end now, and what else the cluster says of it."""

    def read(self, ranges: Mapping[int, tuple[int, int]]) -> DataFrame:
        """The rows of each partition from one offset to before another (`sources.log.COPY_SCHEMA`)."""

    def reading(self) -> AbstractContextManager[None]:
        """A context in which rows can be read: what fails there becomes an error for the user."""
