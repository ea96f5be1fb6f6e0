"""What the rows of all timelines have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kip848_records.simulate.broker.operation import Operation

Row = dict[str, Any]
"""A row of a timeline by the columns of its table; times in ms, offsets as `At`."""

OBSERVED: Final = "observed"
RIGHT_CENSORED: Final = "right_censored"


class At:
    """An offset of a record in an operation that the log has yet to take."""

    def __init__(self, operation: Operation, place: int) -> None:
        self.operation = operation
        self.place = place

    @property
    def offset(self) -> int:
        """The offset; below 0 as long as the log has not taken the operation."""
        return self.operation.base_offset + self.place


def minus(end: int | None, start: int | None) -> int | None:
    """Return the time between, or None where an end is not known."""
    return None if end is None or start is None else end - start
