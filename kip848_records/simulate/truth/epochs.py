"""What the simulator knows of a group's epochs, as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.operation import Bump
from kip848_records.simulate.truth.rows import OBSERVED, RIGHT_CENSORED, At, Row, minus

if TYPE_CHECKING:
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation


class EpochTruth:
    """Rows of `epoch_timeline`."""

    name = "epoch_timeline"

    def __init__(self, group_id: str) -> None:
        self.rows: list[Row] = []
        self._group_id = group_id
        self._open: list[Row] = []
        self._group_epoch = 0

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """Begin the rows of this operation's epochs, and end all if the group has come to rest."""
        self._take(operation, incarnation)
        if not isinstance(group, ConsumerGroup) or not self._open:
            return
        state = group.state
        if state == "Empty":
            self._end("emptied", None)
        elif state == "Stable":
            self._end("converged", operation.timestamp)

    def deletion(self, operation: Operation, incarnation: int) -> None:  # noqa: ARG002
        """End all rows of the incarnation."""
        self._end("deleted", None)

    def close(self, captured_at: int) -> None:  # noqa: ARG002 - others need it
        """End the rows of what is not over."""
        self._end("open", None)

    def _take(self, operation: Operation, incarnation: int) -> None:
        for event in operation.epochs:
            if isinstance(event, Bump):
                self._group_epoch = event.epoch
                self._open.append(self._row(operation, event, incarnation))
                continue
            for row in self._open:
                if row["assigned_at"] is None and row["group_epoch"] <= event.epoch:
                    row["assigned_at"], row["partitions_moved"] = operation.timestamp, event.moved

    def _row(self, operation: Operation, bump: Bump, incarnation: int) -> Row:
        return {
            "group_id": self._group_id,
            "incarnation": incarnation,
            "group_epoch": bump.epoch,
            "group_type": "consumer",
            "bumped_at": operation.timestamp,
            "bump_offset": At(operation, bump.place),
            "cause": bump.cause,
            "assigned_at": None,
            "members": bump.members,
            "partitions_moved": None,
        }

    def _end(self, status: str, converged_at: int | None) -> None:
        for row in self._open:
            is_over = status in {"converged", "open"} and row["group_epoch"] < self._group_epoch
            row["status"] = "superseded" if is_over else status
            row["superseded_by"] = self._group_epoch if is_over else None
            row["converged_at"] = converged_at
            lags = {
                "assign_lag_ms": minus(row["assigned_at"], row["bumped_at"]),
                "reconcile_lag_ms": minus(converged_at, row["assigned_at"]),
                "rebalance_lag_ms": minus(converged_at, row["bumped_at"]),
            }
            row.update(lags)
            row["history"] = RIGHT_CENSORED if status == "open" else OBSERVED
            row["clock_skew"] = any(lag is not None and lag < 0 for lag in lags.values())
        self.rows += self._open
        self._open = []
