"""Rows of the truth that are open for a while: intervals, and the epochs and the rebalance of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED, minus

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from tests.simulator.truth.rows import At, Row
    from tests.simulator.walks.observed import Observed


class Intervals:
    """The intervals of one table, each with a key that says what is so while it lasts."""

    def __init__(self, walk: Observed, table: str) -> None:
        self._walk = walk
        self._table = table
        self._open: dict[Hashable, Row] = {}

    def follow(self, now: Mapping[Any, Row], offset: At) -> None:
        """End the intervals that are not in `now`, and begin those that are new; `offset`: of the record that shows it.

        `now` has the columns of each interval besides its times.
        """
        at = self._walk.now
        for key in self._open.keys() - now.keys():
            row = self._open.pop(key)
            end = {"to_at": at, "to_offset": offset, "duration_ms": at - row["from_at"], "history": OBSERVED}
            self._walk.note(self._table, row | end)
        for key, row in now.items():
            head = {"incarnation": self._walk.incarnation, **row, "from_at": at, "from_offset": offset}
            self._open.setdefault(key, {**head, "clock_skew": False})

    def close(self, captured_at: int) -> None:
        """Note the open intervals at the end of the log."""
        for row in self._open.values():
            open_end = {
                "to_at": None,
                "to_offset": None,
                "duration_ms": captured_at - row["from_at"],
                "history": RIGHT_CENSORED,
            }
            self._walk.note(self._table, row | open_end)


class OpenEpochs:
    """The epochs of a share or streams group that have not ended."""

    def __init__(self, walk: Observed, group_type: str) -> None:
        self._walk = walk
        self._group_type = group_type
        self._rows: list[Row] = []

    def bump(self, epoch: int, cause: str, offset: At, **facts: object) -> None:
        """Begin an epoch."""
        row = {"incarnation": self._walk.incarnation, "group_type": self._group_type, "group_epoch": epoch}
        row |= {"cause": cause, "bumped_at": self._walk.now, "bump_offset": offset, "assigned_at": None}
        self._rows.append({**row, **facts, "clock_skew": False})

    def assign(self, **facts: object) -> None:
        """Note an assignment, which answers all open epochs that have none."""
        for row in self._rows:
            if row["assigned_at"] is None:
                row |= {"assigned_at": self._walk.now, **facts}

    def end(self, status: str, group_epoch: int, history: str = OBSERVED) -> None:
        """End all open epochs: the group is Empty, has converged, or the log ends."""
        converged_at = self._walk.now if status == "converged" else None
        for row in self._rows:
            is_superseded = status != "emptied" and row["group_epoch"] < group_epoch
            row |= {"status": "superseded" if is_superseded else status, "converged_at": converged_at}
            row |= {"superseded_by": group_epoch if is_superseded else None, "history": history}
            row |= {"assign_lag_ms": minus(row["assigned_at"], row["bumped_at"])}
            row |= {"reconcile_lag_ms": minus(converged_at, row["assigned_at"])}
            row |= {"rebalance_lag_ms": minus(converged_at, row["bumped_at"])}
            self._walk.note("epoch_timeline", row)
        self._rows = []


class OpenRebalance:
    """The rebalance of a share or streams group that has not ended. `row`: None between two rebalances."""

    def __init__(self, walk: Observed, group_type: str) -> None:
        self._walk = walk
        self._group_type = group_type
        self.row: Row | None = None

    def bump(self, epoch: int, cause: str, offset: At, members_before: int) -> Row:
        """Add an epoch to the rebalance, which the first one begins, and return its row."""
        row = self.row
        if row is None:
            row = {"incarnation": self._walk.incarnation, "group_type": self._group_type, "began_offset": offset}
            row |= {"began_at": self._walk.now, "first_epoch": epoch, "epochs": 0, "causes": [], "assigning_ms": 0}
            row |= {"members_before": members_before, "started_empty": not members_before, "clock_skew": False}
            self.row = row
        row["last_epoch"] = epoch
        row["epochs"] += 1
        row["causes"] = list(dict.fromkeys([*row["causes"], cause]))
        return row

    def end(self, outcome: str, members: int, captured_at: int | None = None) -> None:
        """End the rebalance with the operation, or at the end of the log."""
        row, self.row = self.row, None
        if row is None:
            return
        is_open = captured_at is not None
        now = self._walk.now if captured_at is None else captured_at
        ended: Row = {"outcome": outcome, "duration_ms": now - row["began_at"], "members": members}
        ended |= {"ended_at": None if is_open else now, "history": RIGHT_CENSORED if is_open else OBSERVED}
        ended |= {"ended_offset": None if is_open else self._walk.end_of_operation()}
        ended |= {"is_measured": outcome == "converged" and not row["started_empty"]}
        self._walk.note("rebalance", row | ended)
