"""The interface to a topic that a run needs, for Kafka's topics and for substitutes in tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager

    from kip848_records.engines.engine import Relation
    from kip848_records.sources.topic.client import Brokers
    from kip848_records.sources.topic.ends import Ends


@dataclass(frozen=True)
class TopicRows:
    """The rows of a topic that were staged, and the facts of that pass.

    `rows`: those to keep (`specs.log_columns.LOG_COLUMNS`), None if there was nothing to read. `seen`: the number of
    records of each partition, those that are not kept too. `gapless`: the partitions of which no record is missing.
    `first_repeated`: by partition, the offset of a record that repeats a key, if the reader looks for one.
    `last_ms`: the time of the record at the last offset, for partitions that have one there. `newest_ms`: the highest
    timestamp. `offset_commits`: those that are neither among the rows nor counted by rows of files, by type. `skipped`:
    records of groups of Spark's readers.
    """

    rows: Relation | None = None
    seen: Mapping[int, int] = field(default_factory=dict)
    gapless: frozenset[int] = frozenset()
    first_repeated: Mapping[int, int] = field(default_factory=dict)
    last_ms: Mapping[int, int] = field(default_factory=dict)
    newest_ms: int | None = None
    offset_commits: Mapping[int | None, int] = field(default_factory=dict)
    skipped: int = 0


@dataclass(frozen=True)
class LiveLog(ABC):
    """A topic that is being written: its present ends, and its rows, which an engine reads.

    `isolation`: see `Brokers.look_up`. `group`: only its partition is read; None: all. `shows_markers`: whether its
    rows include transaction markers; then it is read behind open transactions too.
    """

    brokers: Brokers
    isolation: str
    group: str | None
    shows_markers: ClassVar[bool]

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

    @abstractmethod
    def read(self, ranges: Mapping[int, tuple[int, int]]) -> Relation:
        """Return the rows of each partition from one offset to before another (`specs.log_columns.LOG_COLUMNS`)."""

    @abstractmethod
    def stage(self, ranges: Mapping[int, tuple[int, int]], *, offset_commits: bool, by_key: bool = False) -> TopicRows:
        """Read the rows to keep once, and count the others. A topic's rows change: it compacts them.

        `by_key`: rows of coverage have what the ranges hold by key.
        """

    @abstractmethod
    def check_is_log(self, ranges: Mapping[int, tuple[int, int]]) -> None:
        """Raise InputError if the topic has records, and none has a key that a group coordinator writes."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which rows can be read: failures within it become errors for the user."""
