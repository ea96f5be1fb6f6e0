"""Rows of `group_state_timeline`, and of `group_state` at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.kinds import CLASSIC, CONSUMER
from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH
from kip848_records.simulate.broker.operation import EpochBumped
from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED, At, Moment, Row

if TYPE_CHECKING:
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation
    from tests.simulator.truth.trackers import Trackers


class StateTruth:
    """One row per interval of one state, from the end of an operation to the end of another."""

    name = "group_state_timeline"

    def __init__(self, partition: int, group_id: str, trackers: Trackers) -> None:
        self.rows: list[Row] = []
        self._key = {"partition": partition, "group_id": group_id}
        self._clock = trackers.clock
        self._open: tuple[Moment, Row] | None = None

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """Begin a row if the group's state changed."""
        if group is None:
            self._end(OBSERVED, At(operation))
            return
        state = {"incarnation": incarnation, "group_type": group_type(group), "state": group.state}
        state["hides_rebalance"] = state["group_type"] == CLASSIC
        if self._open is not None:
            if state.items() <= self._open[1].items():
                return
            self._end(OBSERVED, At(operation))
        begin = {"from_at": operation.timestamp, "from_offset": At(operation)}
        self._open = self._clock.now, {**self._key, **state, **begin}

    def close(self) -> None:
        """End the row of the present state."""
        self._end(RIGHT_CENSORED, None)

    def _end(self, history: str, offset: At | None) -> None:
        if self._open is not None:
            begin, row = self._open
            now = self._clock.now
            row["to_at"] = None if history == RIGHT_CENSORED else now.at
            row["to_offset"] = offset
            row["duration_ms"] = now.at - row["from_at"]
            row["history"] = history
            row["clock_skew"] = now.has_skew_since(begin) or row["duration_ms"] < 0
            self.rows.append(row)
        self._open = None


class PresentStateTruth:
    """The row of `group_state` of a group that was not deleted: the columns that do not depend on the log's form."""

    name = "group_state"

    def __init__(self, partition: int, group_id: str, trackers: Trackers) -> None:  # noqa: ARG002 - others use them
        self.rows: list[Row] = []
        self._key = {"partition": partition, "group_id": group_id}
        self._group: Group | None = None
        self._incarnation = 0
        self._rebalancing_since: int | None = None
        self._has_epoch = False
        """It rebalances because of an epoch, not only because a static member went away."""

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """Remember the group, and since when it rebalances."""
        was_empty = self._group is not None and not self._group.members
        self._group, self._incarnation = group, incarnation
        is_rebalancing = isinstance(group, ConsumerGroup) and group.state not in {"Stable", "Empty"}
        if not is_rebalancing or operation.ends_incarnation:
            self._rebalancing_since, self._has_epoch = None, False
        if not is_rebalancing:
            return
        has_epoch = was_empty or any(isinstance(event, EpochBumped) for event in operation.events)
        if self._rebalancing_since is None or (has_epoch and not self._has_epoch):
            self._rebalancing_since = operation.timestamp
        self._has_epoch = self._has_epoch or has_epoch

    def close(self) -> None:
        """Write the row."""
        if self._group is None:
            return
        row = {**self._key, "incarnation": self._incarnation, "group_type": group_type(self._group)}
        row |= {"state": self._group.state, "members": len(self._group.members)}
        if isinstance(self._group, ConsumerGroup):
            row |= _reconciliation(self._group)
            row["rebalancing_since"] = self._rebalancing_since
            row["rebalancing_history"] = None if self._rebalancing_since is None else RIGHT_CENSORED
        else:
            row |= {"generation": self._group.generation}
        self.rows.append(row)


def group_type(group: Group) -> str:
    """Return the group's type as the tables name it."""
    return CONSUMER if isinstance(group, ConsumerGroup) else CLASSIC


def _reconciliation(group: ConsumerGroup) -> Row:
    members = group.members.values()
    converged = sum(member.is_converged(group.assignment_epoch) for member in members)
    away = sum(member.epoch == AWAY_EPOCH for member in members)
    return {
        "group_epoch": group.group_epoch,
        "assignment_epoch": group.assignment_epoch,
        "converged_members": converged,
        "members_away": away,
        "waits_for_away_only": group.state == "Reconciling" and converged + away == len(members),
    }
