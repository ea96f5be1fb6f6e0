"""Rows of `epoch_timeline`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.kinds import CONSUMER
from kip848_records.simulate.broker.classic import ClassicGroup
from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.operation import EpochBumped, TargetAssigned
from tests.simulator.truth.causes import triggered_bumps
from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED, At, Moment, Row, minus

if TYPE_CHECKING:
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation
    from tests.simulator.truth.causes import Trigger
    from tests.simulator.truth.trackers import Trackers


class EpochTruth:
    """Begins a row with each bump; all open rows end with the same operation."""

    name = "epoch_timeline"

    def __init__(self, partition: int, group_id: str, trackers: Trackers) -> None:
        self.rows: list[Row] = []
        self._key = {"partition": partition, "group_id": group_id}
        self._clock = trackers.clock
        self._assignments = trackers.assignments
        self._open: list[tuple[Moment, Row]] = []
        self._group_epoch = 0

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """Begin the rows of this operation's epochs, and end all if the group is Stable, Empty or deleted."""
        if operation.ends_incarnation:
            self._end("downgraded" if isinstance(group, ClassicGroup) else "deleted")
        if not isinstance(group, ConsumerGroup):
            return
        self._follow(operation, incarnation)
        if not self._open:
            return
        state = group.state
        if state == "Empty":
            self._end("emptied")
        elif state == "Stable":
            self._end("converged")

    def close(self) -> None:
        """End the rows of epochs that have not ended."""
        self._end("open")

    def _follow(self, operation: Operation, incarnation: int) -> None:
        bumps, assignments = triggered_bumps(operation), iter(self._assignments.latest)
        for event in operation.events:
            if isinstance(event, EpochBumped):
                self._begin(operation, *next(bumps), incarnation)
            elif isinstance(event, TargetAssigned):
                assignment = next(assignments)
                for _, row in self._open:
                    if row["assigned_at"] is None and row["group_epoch"] <= assignment.epoch:
                        row["assigned_at"] = operation.timestamp
                        row["target_partitions"] = assignment.partitions
                        row["target_duplicates"] = assignment.duplicates
                        row["partitions_moved"] = assignment.moved

    def _begin(self, operation: Operation, bump: EpochBumped, trigger: Trigger, incarnation: int) -> None:
        self._group_epoch = bump.epoch
        row = {
            **self._key,
            "incarnation": incarnation,
            "group_epoch": bump.epoch,
            "group_type": CONSUMER,
            "bumped_at": operation.timestamp,
            "bump_offset": At(operation, bump.place),
            "cause": trigger.cause,
            "metadata_changed": bump.metadata_changed,
            "trigger_member_ids": trigger.member_ids,
            "assigned_at": None,
            "target_partitions": None,
            "target_duplicates": None,
            "members": bump.members,
            "partitions_moved": None,
        }
        self._open.append((self._clock.now, row))

    def _end(self, status: str) -> None:
        now = self._clock.now
        converged_at = now.at if status == "converged" else None
        for begin, row in self._open:
            is_superseded = status in {"converged", "open"} and row["group_epoch"] < self._group_epoch
            row["status"] = "superseded" if is_superseded else status
            row["superseded_by"] = self._group_epoch if is_superseded else None
            row["converged_at"] = converged_at
            lags = {
                "assign_lag_ms": minus(row["assigned_at"], row["bumped_at"]),
                "reconcile_lag_ms": minus(converged_at, row["assigned_at"]),
                "rebalance_lag_ms": minus(converged_at, row["bumped_at"]),
            }
            row.update(lags)
            row["history"] = RIGHT_CENSORED if status == "open" else OBSERVED
            row["clock_skew"] = now.has_skew_since(begin) or any(lag is not None and lag < 0 for lag in lags.values())
            self.rows.append(row)
        self._open = []
