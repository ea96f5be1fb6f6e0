"""The cause of a new epoch of a streams group: what its operation wrote, and what differs from the previous type 17."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from kip848_records.replay.group.vocabulary import MEMBER_JOINED, MEMBER_LEFT, TOPIC_METADATA_CHANGED, UNKNOWN
from kip848_records.replay.modern.causes import Causes, Trigger

if TYPE_CHECKING:
    from kip848_records.replay.records import AnyMemberValue, StreamsGroupEpochValue, StreamsMemberValue

TOPOLOGY_INITIALIZED: Final = "topology_initialized"
MEMBER_CHANGED: Final = "member_changed"
TOPOLOGY_VALIDATED: Final = "topology_validated"
TOPOLOGY_INVALIDATED: Final = "topology_invalidated"
ASSIGNMENT_CONFIGS_CHANGED: Final = "assignment_configs_changed"

_NO_TOPOLOGY: Final = -1


@dataclass(slots=True)
class StreamsTrigger(Trigger):
    """The records of an operation between its previous type 17 and a type 17."""

    changed: list[str] = field(default_factory=list)
    """Members whose type 19 differs from the previous one in a field that bumps the epoch."""
    has_topology: bool = False
    before: StreamsGroupEpochValue | None = None
    now: StreamsGroupEpochValue | None = None


class StreamsCauses(Causes):
    """The possible causes of the next epoch of a streams group."""

    new_trigger = StreamsTrigger

    def __init__(self, *, is_complete: bool) -> None:
        super().__init__(is_complete=is_complete)
        self._value: StreamsGroupEpochValue | None = None
        self._next: StreamsGroupEpochValue | None = None

    def topology(self) -> None:
        """Note a type 23 with a value."""
        self._streams.has_topology = True

    def group_epoch(self, value: StreamsGroupEpochValue) -> None:
        """Note a type 17 before its bump."""
        self._next = value

    def bump(self, metadata_hash: int) -> Trigger:
        """Note a type 17 with a value, and return its possible causes."""
        self._streams.before, self._streams.now = self._value, self._next
        self._value = self._next
        return super().bump(metadata_hash)

    def member_deleted(self, member_id: str, before: AnyMemberValue | None) -> None:
        """Note a tombstone of type 19."""
        self._written.left.append(member_id)
        if before is not None and before.instance_id is not None:
            self._written.gone[before.instance_id] = member_id, before

    def member(self, member_id: str, value: AnyMemberValue, before: AnyMemberValue | None) -> str | None:
        """Note a type 19, and return the id of the static member that the member replaces, if any."""
        replaced = None
        if before is None:
            self.has_joined = True
            gone = self._replaced(value)
            if gone is None:
                self._written.joined.append(member_id)
                return None
            replaced, before = gone
        if _bumping(before) != _bumping(value):
            self._streams.changed.append(member_id)
        return replaced

    def _metadata_changed(self, trigger: Trigger, *, is_complete: bool) -> bool | None:
        is_compared = is_complete and (self.is_compared or not trigger.is_first)
        has_topology = cast("StreamsTrigger", trigger).has_topology
        return trigger.hash_before != trigger.hash_now and not has_topology if is_compared else None

    def _cause_before(self, trigger: Trigger) -> tuple[str, tuple[str, ...]]:
        return _first(cast("StreamsTrigger", trigger), is_new=self._proves_new(trigger), is_compared=False)

    def _cause(self, trigger: Trigger, *, is_changed: bool | None) -> tuple[str, tuple[str, ...]]:
        return _first(cast("StreamsTrigger", trigger), is_new=True, is_compared=is_changed is not None)

    @property
    def _streams(self) -> StreamsTrigger:
        return cast("StreamsTrigger", self._written)

    def _replaced(self, value: AnyMemberValue) -> tuple[str, AnyMemberValue] | None:
        """Return the static member that this one replaces, with its type 19; it has not left then."""
        gone = None if value.instance_id is None else self._written.gone.pop(value.instance_id, None)
        if gone is not None:
            self._written.left.remove(gone[0])
        return gone


def _first(trigger: StreamsTrigger, *, is_new: bool, is_compared: bool) -> tuple[str, tuple[str, ...]]:
    """Return the first cause that matches, and its members. `is_new`: those that joined are known to be new."""
    compared = _compared(trigger) if is_compared else UNKNOWN
    causes = (
        (trigger.has_topology, TOPOLOGY_INITIALIZED, ()),
        (trigger.left, MEMBER_LEFT, trigger.left),
        (trigger.changed, MEMBER_CHANGED, trigger.changed),
        (trigger.joined and is_new, MEMBER_JOINED, trigger.joined),
        (trigger.joined, UNKNOWN, ()),
    )
    return next(((cause, tuple(members)) for fits, cause, members in causes if fits), (compared, ()))


def _compared(trigger: StreamsTrigger) -> str:
    """Return the first difference from the previous type 17. Kafka before 4.2 does not write all of it."""
    before, now = trigger.before, trigger.now
    if before is not None and now is not None and before.assignment_configs and now.assignment_configs:
        was, is_now = before.validated_topology_epoch, now.validated_topology_epoch
        if was != is_now:
            return TOPOLOGY_INVALIDATED if is_now == _NO_TOPOLOGY else TOPOLOGY_VALIDATED
    if trigger.hash_before != trigger.hash_now:
        return TOPIC_METADATA_CHANGED
    if before is not None and now is not None and before.assignment_configs:
        return ASSIGNMENT_CONFIGS_CHANGED if before.assignment_configs != now.assignment_configs else UNKNOWN
    return UNKNOWN


def _bumping(value: AnyMemberValue) -> tuple[Any, ...]:
    """Return the fields of a type 19 whose change bumps the group epoch.

    Any field of a dynamic member does, in every release; of a static member, which exist from Kafka 4.4 on, four do.
    `GroupMetadataManager` in Kafka compares them.
    """
    streams = cast("StreamsMemberValue", value)
    if streams.instance_id is None:
        return (*streams[:-1], frozenset(streams.tags))
    return streams.topology_epoch, streams.rack_id, streams.process_id, frozenset(streams.tags)
