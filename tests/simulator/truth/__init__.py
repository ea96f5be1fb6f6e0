"""The ground truth about a group, as rows of the tables that the replay derives from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from tests.simulator.truth.epochs import EpochTruth
from tests.simulator.truth.handovers import HandoverTruth
from tests.simulator.truth.lags import LagTruth
from tests.simulator.truth.members import MemberStateTruth
from tests.simulator.truth.memberships import MembershipTruth
from tests.simulator.truth.rebalances import RebalanceTruth
from tests.simulator.truth.regexes import RegexTruth
from tests.simulator.truth.rows import Row, with_offsets
from tests.simulator.truth.states import PresentStateTruth, StateTruth
from tests.simulator.truth.trackers import Trackers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.simulate.broker.coordinator import Observer
    from tests.simulator.truth.rows import TableTruth

__all__ = ["Row", "Truth", "collect"]

_TABLES: Final = (
    EpochTruth,
    LagTruth,
    HandoverTruth,
    StateTruth,
    RebalanceTruth,
    MemberStateTruth,
    MembershipTruth,
    RegexTruth,
    PresentStateTruth,
)


class HasRows(Protocol):
    """A source of the rows of a group."""

    def take(self) -> dict[str, list[Row]]:
        """Return and remove the rows that have ended, from operations that the log has."""


class Truth:
    """The rows of one group id, whose records are in `partition` of `__consumer_offsets`.

    `observers` process its operations. The simulated coordinator follows the protocol, so `anomaly` has no rows.
    """

    def __init__(self, partition: int, group_id: str) -> None:
        self._trackers = Trackers()
        self._tables: list[TableTruth] = [table(partition, group_id, self._trackers) for table in _TABLES]
        self.observers: tuple[Observer, ...] = (*self._trackers.observers, *self._tables)

    def close(self, captured_at: int) -> None:
        """End all rows that are open, at the end of the simulation."""
        self._trackers.close(captured_at)
        for table in self._tables:
            table.close()

    def take(self) -> dict[str, list[Row]]:
        """Return and remove the rows that have ended, from operations that the log has."""
        rows: dict[str, list[Row]] = {"anomaly": []}
        for table in self._tables:
            rows[table.name] = [with_offsets(row) for row in table.rows]
            table.rows = []
        return rows


def collect(truths: Iterable[HasRows]) -> dict[str, list[Row]]:
    """Return and remove the rows of several groups, by table name."""
    rows: dict[str, list[Row]] = {}
    for truth in truths:
        for name, ended in truth.take().items():
            rows.setdefault(name, []).extend(ended)
    return rows
