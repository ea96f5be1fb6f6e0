"""One operation of the coordinator: the records that it writes together, and the events that they represent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.simulate.broker.cluster import TopicPartition


class Record(NamedTuple):
    """A record in the names and forms of Kafka's JSON; `value` is None for a tombstone."""

    key_type: int
    key: dict[str, Any]
    value: dict[str, Any] | None


@dataclass(frozen=True)
class MemberJoined:
    """The first type 5 of a member. `predecessor`: the static member, now removed, that it replaces."""

    place: int
    member_id: str
    predecessor: str | None = None
    is_upgraded: bool = False
    """The member comes from the upgrade of a classic group."""


@dataclass(frozen=True)
class MemberUpdated:
    """A type 5 of a known member. `resubscribed`: its topic names or regular expression changed."""

    place: int
    member_id: str
    resubscribed: bool


@dataclass(frozen=True)
class MemberRemoved:
    """The tombstones of a member: `place` is the index of that of its type 5, `current_place` of its type 8.

    `target` is its last target.
    """

    place: int
    current_place: int
    member_id: str
    target: frozenset[TopicPartition]
    successor: str | None = None


@dataclass(frozen=True)
class CurrentAssignmentWritten:
    """A type 8 of a member."""

    place: int
    member_id: str


@dataclass(frozen=True)
class EpochBumped:
    """A type 3, when the group had `members` members.

    `metadata_changed`: the metadata of the subscribed topics changed, but the set of their names did not.
    """

    place: int
    epoch: int
    members: int
    metadata_changed: bool


@dataclass(frozen=True)
class TargetAssigned:
    """A type 6 with the targets by member id, and each member's name as an owner: its instance id or its id."""

    place: int
    epoch: int
    targets: Mapping[str, frozenset[TopicPartition]]
    owner_names: Mapping[str, str]


@dataclass(frozen=True)
class RegexResolved:
    """A type 16 with a value."""

    place: int
    regex: str
    topics: tuple[str, ...]
    version: int


@dataclass(frozen=True)
class ClassicGenerationWritten:
    """A type 2 with a value."""

    place: int
    generation: int
    member_ids: tuple[str, ...]


@dataclass(frozen=True)
class ClassicGroupRemoved:
    """The tombstone of type 2, which deletes a classic group or begins its upgrade."""

    place: int


Event = (
    MemberJoined
    | MemberUpdated
    | MemberRemoved
    | CurrentAssignmentWritten
    | EpochBumped
    | TargetAssigned
    | RegexResolved
    | ClassicGenerationWritten
    | ClassicGroupRemoved
)
"""`place` is the index of the event's record in its operation."""


@dataclass(eq=False)
class Operation:
    """A sequence of records with one timestamp, at contiguous offsets from `base_offset` on, which the log sets.

    `time` is the simulation's (ms), `timestamp` the coordinator's, whose clock may be another broker's.
    """

    time: int
    timestamp: int
    records: list[Record] = field(default_factory=list)
    base_offset: int = -1
    size: int = 0

    events: list[Event] = field(default_factory=list)
    """In the order of the log. They are dropped after the observers have processed them."""
    owners_before: dict[TopicPartition, str | None] = field(default_factory=dict)
    """The previous owner of each partition whose owner changed."""
    ends_incarnation: bool = False
    """It wrote the tombstone of type 3."""

    def write(self, key_type: int, key: dict[str, Any], value: dict[str, Any] | None) -> None:
        """Write one record."""
        self.records.append(Record(key_type, key, value))
        self.size += 1

    def forget_events(self) -> None:
        """Drop the events, which only observers need."""
        self.events, self.owners_before = [], {}
