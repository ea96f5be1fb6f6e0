"""The cause of a new epoch of a streams group: what its operation wrote, and what differs from the previous type 17."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from kip848_records.replay.group.vocabulary import MEMBER_JOINED, MEMBER_LEFT, TOPIC_METADATA_CHANGED, UNKNOWN
from kip848_records.replay.modern.causes import Causes, Trigger

if TYPE_CHECKING:
    from collections.abc import Collection

    from kip848_records.replay.records import AnyMemberValue, StreamsGroupEpochValue, StreamsMemberValue

TOPOLOGY_INITIALIZED: Final = "topology_initialized"
MEMBER_CHANGED: Final = "member_changed"
TOPOLOGY_VALIDATED: Final = "topology_validated"
TOPOLOGY_INVALIDATED: Final = "topology_invalidated"
ASSIGNMENT_CONFIGS_CHANGED: Final = "assignment_configs_changed"

_NO_TOPOLOGY: Final = -1


class StreamsCauses(Causes):
    """The possible causes of the next epoch of a streams group."""

    order = (
        *(TOPOLOGY_INITIALIZED, MEMBER_LEFT, MEMBER_CHANGED, MEMBER_JOINED, TOPOLOGY_INVALIDATED, TOPOLOGY_VALIDATED),
        *(TOPIC_METADATA_CHANGED, ASSIGNMENT_CONFIGS_CHANGED),
    )
    change = MEMBER_CHANGED

    def __init__(self, *, is_complete: bool) -> None:
        super().__init__(is_complete=is_complete)
        self._value: StreamsGroupEpochValue | None = None

    def group_epoch(self, value: StreamsGroupEpochValue) -> None:
        """Note a type 17 before its bump."""
        self._written.before, self._written.now = self._value, value
        self._value = value

    def metadata_changed(self, trigger: Trigger, *, is_complete: bool) -> bool | None:
        """Return whether the metadata of the topics changed; those of a new topology are others."""
        is_compared = is_complete and (self.is_compared or not trigger.is_first)
        has_topology = TOPOLOGY_INITIALIZED in trigger.noted
        return trigger.hash_before != trigger.hash_now and not has_topology if is_compared else None

    def compared(self, trigger: Trigger, changed: bool | None) -> Collection[str]:  # noqa: FBT001 - None is a third
        """Return the first difference from the previous type 17."""
        return () if changed is None else (_compared(trigger),)

    def topics(self, value: AnyMemberValue) -> tuple[str, ...]:  # noqa: ARG002 - as of other groups
        """Return none: a streams group has a topology."""
        return ()

    def bumping(self, value: AnyMemberValue) -> tuple[Any, ...]:
        """Return the fields of a type 19 whose change bumps the group epoch.

        Any field of a dynamic member does, in every release; of a static member, which exist from Kafka 4.4 on, four
        do. `GroupMetadataManager` in Kafka compares them.
        """
        streams = cast("StreamsMemberValue", value)
        if streams.instance_id is None:
            return (*streams[:-1], frozenset(streams.tags))
        return streams.topology_epoch, streams.rack_id, streams.process_id, frozenset(streams.tags)


def _compared(trigger: Trigger) -> str:
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
