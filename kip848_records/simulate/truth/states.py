"""What the simulator knows of a group's states, as they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.truth.rows import OBSERVED, RIGHT_CENSORED, At, Row

if TYPE_CHECKING:
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation


class StateTruth:
    """Rows of `group_state_timeline`."""

    name = "group_state_timeline"

    def __init__(self, group_id: str) -> None:
        self.rows: list[Row] = []
        self._group_id = group_id
        self._open: Row | None = None

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """Begin a row if the group is in another state than before."""
        if group is None:
            self._end(operation.timestamp)
            return
        group_type = "consumer" if isinstance(group, ConsumerGroup) else "classic"
        now = (incarnation, group_type, group.state)
        before = self._open and (self._open["incarnation"], self._open["group_type"], self._open["state"])
        if now == before:
            return
        self._end(operation.timestamp)
        self._open = {
            "group_id": self._group_id,
            **dict(zip(("incarnation", "group_type", "state"), now, strict=True)),
            "from_at": operation.timestamp,
            "from_offset": At(operation, operation.size - 1),
        }

    def deletion(self, operation: Operation, incarnation: int) -> None:  # noqa: ARG002
        """End the row, for no row crosses an incarnation."""
        self._end(operation.timestamp)

    def close(self, captured_at: int) -> None:
        """End the row of what is not over."""
        if self._open is not None:
            lasted = captured_at - self._open["from_at"]
            self.rows.append({**self._open, "to_at": None, "duration_ms": lasted, "history": RIGHT_CENSORED})
        self._open = None

    def _end(self, at: int) -> None:
        if self._open is not None:
            lasted = at - self._open["from_at"]
            self.rows.append({**self._open, "to_at": at, "duration_ms": lasted, "history": OBSERVED})
        self._open = None
