"""A streams group (KIP-1071): a consumer group of tasks, which also needs a topology with all its topics.

Names and order follow `StreamsGroup` in Kafka's group coordinator.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from kip848_records.kinds import STREAMS, Role
from kip848_records.replay.group.vocabulary import ASSIGNING, EMPTY, NOT_READY, UNKNOWN
from kip848_records.replay.modern.group import ModernGroup
from kip848_records.replay.streams.causes import TOPOLOGY_INITIALIZED, StreamsCauses
from kip848_records.replay.streams.ownership import TaskOwnership

if TYPE_CHECKING:
    from collections.abc import Callable

    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.records import Record, StreamsGroupEpochValue, StreamsMemberValue
    from kip848_records.replay.streams.values import TopologyValue

_STANDBY_REPLICAS: Final = "num.standby.replicas"
_NUMBER: Final = re.compile("[0-9]{1,9}")
"""Any text may be in the record of an option."""
_NONE: Final = -1


class StreamsGroup(ModernGroup):
    """One incarnation of a streams group, with the handlers of a consumer group.

    `validated_topology_epoch`: None if unknown: Kafka before 4.2 keeps it in memory only.
    """

    kind = STREAMS
    causes: StreamsCauses
    new_ownership = TaskOwnership
    new_causes = StreamsCauses

    def handlers(self) -> list[Callable[[Record], None] | None]:
        """Return the handlers of records, by role."""
        handlers = super().handlers()
        handlers[Role.TOPOLOGY] = self.replay_topology
        return handlers

    def replay_group_epoch(self, record: Record) -> None:
        """Replay a type 17 with a value. Kafka from 4.4 on repeats an epoch when it stores a topology's description."""
        value = cast("StreamsGroupEpochValue", record.value)
        configs = dict(value.assignment_configs)
        self.validated_topology_epoch = value.validated_topology_epoch if configs else None
        replicas = configs.get(_STANDBY_REPLICAS, "")
        self.standby_replicas = int(replicas) if _NUMBER.fullmatch(replicas) else None
        self.causes.group_epoch(value)
        super().replay_group_epoch(record)

    def replay_member(self, record: Record) -> None:
        """Replay a type 19."""
        super().replay_member(record)
        value: StreamsMemberValue | None = record.value
        if value is not None:
            member = self.members[record.member_id or ""]
            self.end.waits.change_process(member, value.process_id)
            self._compare_topology(member)

    def replay_topology(self, record: Record) -> None:
        """Replay a type 23."""
        self.end.is_eventful = True
        value: TopologyValue | None = record.value
        self.topology_epoch = None if value is None else value.epoch
        if value is not None:
            cast("TaskOwnership", self.end.ownership).topology(value)
            self.causes.note(TOPOLOGY_INITIALIZED)
        for member in self.members.values():
            self._compare_topology(member)

    def _compare_topology(self, member: Member) -> None:
        """Note whether a member has an older topology than the group; the broker gives it no new tasks then."""
        stay, group_epoch = member.stay, self.topology_epoch
        if stay is None or group_epoch is None:
            return
        epoch = cast("StreamsMemberValue", stay.value).topology_epoch
        is_older = epoch is not None and epoch < group_epoch
        stay.compare_topology(self.context.operation.elapsed, is_older=is_older)

    def evaluate(self, *, is_complete: bool) -> str:
        """Return the group's state: as of a consumer group, but NotReady without a validated topology.

        Before the first type 20 the assignment epoch is 0 in Kafka 4.2, and 1 from 4.3 on, while members begin at 1 in
        both. The group's records do not show the release, so it is unknown whether such a member is behind.
        """
        state = self.phase = super().evaluate(is_complete=is_complete)
        if self.assignment_epoch is None:
            self.effective_assignment_epoch = None
        if state in {EMPTY, UNKNOWN}:
            return state
        if self.topology_epoch is not None and self.validated_topology_epoch is None:
            return UNKNOWN
        if self.topology_epoch is None or self.topology_epoch != self.validated_topology_epoch:
            if state != ASSIGNING:
                self.phase = NOT_READY
            return NOT_READY
        return state


GROUP = StreamsGroup
