"""All that the simulator knows of a group, by the timelines that shall find it in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.simulate.truth.epochs import EpochTruth
from kip848_records.simulate.truth.handovers import HandoverTruth
from kip848_records.simulate.truth.lags import LagTruth
from kip848_records.simulate.truth.rows import At, Row
from kip848_records.simulate.truth.states import StateTruth

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Row", "Truth", "collect"]


class Truth:
    """The four timelines of one group id; `witnesses` are told of its operations."""

    def __init__(self, group_id: str) -> None:
        self.witnesses = (EpochTruth(group_id), LagTruth(group_id), HandoverTruth(group_id), StateTruth(group_id))

    def close(self, captured_at: int) -> None:
        """End all rows that are open, at the end of the simulation."""
        for witness in self.witnesses:
            witness.close(captured_at)

    def take(self) -> dict[str, list[Row]]:
        """Hand over the rows that have ended, of operations that the log has taken."""
        rows = {}
        for witness in self.witnesses:
            rows[witness.name] = [_with_offsets(row) for row in witness.rows]
            witness.rows = []
        return rows


def collect(truths: Iterable[Truth]) -> dict[str, list[Row]]:
    """Hand over the rows of several groups, by the name of their timeline."""
    rows: dict[str, list[Row]] = {}
    for truth in truths:
        for name, ended in truth.take().items():
            rows.setdefault(name, []).extend(ended)
    return rows


def _with_offsets(row: Row) -> Row:
    return {name: value.offset if isinstance(value, At) else value for name, value in row.items()}
