"""Types that the rows of all tables share: offsets, moments, and the history that a row can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation

Row = dict[str, Any]
"""A row of a table by its columns; times in ms, offsets as `At`."""

OBSERVED: Final = "observed"
RIGHT_CENSORED: Final = "right_censored"


class TableTruth(Protocol):
    """The rows of one table, of one group id. Observes the coordinator."""

    name: str
    rows: list[Row]
    """Rows that have ended and have not been taken yet."""

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """Process an operation, after the trackers that the rows depend on."""

    def close(self) -> None:
        """End all open rows: the clock shows the time of the capture."""


class At:
    """The offset of a record in an operation before the log assigns it; without a place, of its last record."""

    def __init__(self, operation: Operation, place: int | None = None) -> None:
        self._operation = operation
        self._place = place

    @property
    def offset(self) -> int:
        """The offset; below 0 until the log has the operation."""
        place = self._operation.size - 1 if self._place is None else self._place
        return self._operation.base_offset + place


def with_offsets(row: Row) -> Row:
    """Return a row with numbers for offsets: the log has its operations."""
    return {name: value.offset if isinstance(value, At) else value for name, value in row.items()}


class Moment(NamedTuple):
    """The end of an operation, by the coordinator's clock, or the time of the capture.

    `at` is the timestamp (ms). `elapsed` is the sum of all steps of the clock between operations of the group, where a
    step back counts as 0. `steps_back` counts the steps back.
    """

    at: int
    elapsed: int
    steps_back: int

    def has_skew_since(self, start: Moment) -> bool:
        """Return whether the clock stepped back since another moment."""
        return self.steps_back > start.steps_back


class GroupClock:
    """The clock that stamps a group's operations."""

    def __init__(self) -> None:
        self.now = Moment(0, 0, 0)
        self._is_started = False

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:  # noqa: ARG002
        """Advance to the operation's timestamp."""
        self._step(operation.timestamp)

    def close(self, captured_at: int) -> None:
        """Advance to the time of the capture, which is not an operation."""
        steps_back = self.now.steps_back
        self._step(captured_at)
        self.now = self.now._replace(steps_back=steps_back)

    def _step(self, at: int) -> None:
        step = at - self.now.at if self._is_started else 0
        self.now = Moment(at, self.now.elapsed + max(step, 0), self.now.steps_back + (step < 0))
        self._is_started = True


class Timers:
    """How long a condition has been true, by key, in ms of `Moment.elapsed`."""

    def __init__(self) -> None:
        self.running: dict[str, int] = {}
        self._spent: dict[str, int] = {}

    def turn(self, key: str, now: Moment, *, on: bool) -> None:
        """Start or stop the timer of a key, if necessary."""
        if on:
            self.running.setdefault(key, now.elapsed)
        elif key in self.running:
            self._spent[key] = self._spent.get(key, 0) + now.elapsed - self.running.pop(key)

    def stop_all(self, now: Moment) -> None:
        """Stop all timers."""
        for key in list(self.running):
            self.turn(key, now, on=False)

    def restart(self, now: Moment) -> None:
        """Set all timers to zero; running timers continue."""
        self._spent = {}
        self.running = dict.fromkeys(self.running, now.elapsed)

    def pop(self, key: str) -> int:
        """Remove the stopped timer of a key, and return its time."""
        return self._spent.pop(key, 0)

    def total(self, key: str, now: Moment) -> int:
        """Return the time of a key's timer."""
        return self._spent.get(key, 0) + now.elapsed - self.running.get(key, now.elapsed)


def minus(end: int | None, start: int | None) -> int | None:
    """Return the time between two times; None if one is unknown."""
    return None if end is None or start is None else end - start
