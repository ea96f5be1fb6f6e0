"""Rows of `regex_resolution`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.simulate.broker.operation import RegexResolved
from tests.simulator.truth.rows import At, Row

if TYPE_CHECKING:
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation
    from tests.simulator.truth.trackers import Trackers


class RegexTruth:
    """One row for each resolution of a regular expression by the broker."""

    name = "regex_resolution"

    def __init__(self, partition: int, group_id: str, trackers: Trackers) -> None:  # noqa: ARG002 - others use them
        self.rows: list[Row] = []
        self._key = {"partition": partition, "group_id": group_id}

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:  # noqa: ARG002
        """Write the operation's rows."""
        for event in operation.events:
            if isinstance(event, RegexResolved):
                row = {**self._key, "incarnation": incarnation, "regex": event.regex, "topics": event.topics}
                row |= {"version": event.version, "resolved_at": operation.timestamp}
                self.rows.append({**row, "offset": At(operation, event.place)})

    def close(self) -> None:
        """Do nothing: no row is open."""
