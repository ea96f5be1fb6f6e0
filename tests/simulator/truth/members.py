"""Rows of `member_state_timeline`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.kinds import CONSUMER
from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.operation import CurrentAssignmentWritten, TargetAssigned
from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED, At, Row
from tests.simulator.truth.standing import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation
    from tests.simulator.truth.trackers import Trackers


class MemberStateTruth:
    """One row per member and interval of one state and member epoch. Members of classic groups have none."""

    name = "member_state_timeline"

    def __init__(self, partition: int, group_id: str, trackers: Trackers) -> None:
        self.rows: list[Row] = []
        self._key = {"partition": partition, "group_id": group_id}
        self._clock = trackers.clock
        self._standing = trackers.standing
        self._open: dict[str, Row] = {}

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """Begin rows of new members, and of members whose state or epoch changed."""
        if isinstance(group, ConsumerGroup):
            self._count_units(operation, group)
        for member_id in self._standing.changed:
            state = self._standing.states.get(member_id)
            if state is None or not isinstance(group, ConsumerGroup):
                self._end(member_id, OBSERVED)
                continue
            member = group.members[member_id]
            now = {"state": state, "member_epoch": None if state == UNKNOWN else member.epoch}
            if member_id in self._open and now.items() <= self._open[member_id].items():
                continue
            self._end(member_id, OBSERVED)
            self._open[member_id] = {
                **self._key,
                "incarnation": incarnation,
                "group_type": CONSUMER,
                "member_id": member_id,
                **now,
                "from_at": self._clock.now.at,
                "from_offset": At(operation),
                "is_classic": member.classic is not None,
                **_units(member_id, group),
            }

    def _count_units(self, operation: Operation, group: ConsumerGroup) -> None:
        """Count the partitions of members that this operation gives others to."""
        for event in operation.events:
            if isinstance(event, CurrentAssignmentWritten):
                touched: Iterable[str] = (event.member_id,)
            else:
                touched = event.targets if isinstance(event, TargetAssigned) else ()
            for member_id in touched:
                row = self._open.get(member_id)
                state = self._standing.states.get(member_id)
                if row is not None and state == row["state"] and group.members[member_id].epoch == row["member_epoch"]:
                    row |= _units(member_id, group)

    def close(self) -> None:
        """End the rows of the present states."""
        for member_id in list(self._open):
            self._end(member_id, RIGHT_CENSORED)

    def _end(self, member_id: str, history: str) -> None:
        row = self._open.pop(member_id, None)
        if row is not None:
            now = self._clock.now
            row["to_at"] = None if history == RIGHT_CENSORED else now.at
            row["duration_ms"] = now.at - row["from_at"]
            row["history"] = history
            self.rows.append(row)


def _units(member_id: str, group: ConsumerGroup) -> Row:
    """Return how many partitions a member is to have, and has."""
    target = group.targets.get(member_id)
    owned = len(group.members[member_id].owned)
    return {"target_units": None if target is None else len(target), "owned_units": owned}
