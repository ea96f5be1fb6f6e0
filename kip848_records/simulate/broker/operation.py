"""One operation of the coordinator: the records that it writes as one, and what happened in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import TopicPartition

CAUSES = (
    "upgraded",
    "topic_metadata_changed",
    "subscription_changed",
    "static_member_replaced",
    "member_joined",
    "member_left",
    "regex_resolved",
)
"""Why an epoch was bumped; where several fit, the first is told."""


class Record(NamedTuple):
    """A record in the names and forms of Kafka's JSON; `value` is None for a tombstone."""

    key_type: int
    key: dict[str, Any]
    value: dict[str, Any] | None


@dataclass(frozen=True)
class Bump:
    """A type-3 record: the `place`-th record of its operation, when the group had `members` members."""

    epoch: int
    place: int
    members: int
    cause: str


@dataclass(frozen=True)
class Assignment:
    """A type-6 record; `moved` partitions changed their owner against the assignment before it."""

    epoch: int
    moved: int


@dataclass(eq=False)
class Operation:
    """A run of records with one timestamp, at contiguous offsets from `base_offset` on, once the log has them.

    `time` is the simulation's (ms), `timestamp` the coordinator's, whose clock may be another broker's.
    """

    time: int
    timestamp: int
    records: list[Record] = field(default_factory=list)
    base_offset: int = -1
    size: int = 0

    epochs: list[Bump | Assignment] = field(default_factory=list)
    current: list[str] = field(default_factory=list)
    """Members whose type 8 was written."""
    left: list[str] = field(default_factory=list)
    """Members whose type 5 was tombstoned."""
    owners_before: dict[TopicPartition, str | None] = field(default_factory=dict)
    """Who owned the partitions whose owner changed."""
    causes: set[str] = field(default_factory=set)
    """What was written since the last type 3."""

    def write(self, key_type: int, key: dict[str, Any], value: dict[str, Any] | None) -> None:
        """Write one record."""
        self.records.append(Record(key_type, key, value))
        self.size += 1

    def bump(self, epoch: int, members: int, otherwise: str) -> None:
        """Note the type 3 that is about to be written, with the cause that it has if nothing else was written."""
        cause = next((cause for cause in CAUSES if cause in self.causes), otherwise)
        self.epochs.append(Bump(epoch, self.size, members, cause))
        self.causes.clear()
