"""The base of all random walks: time and operations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import Any, ClassVar, Final

from kip848_records.simulate.broker.operation import Operation
from kip848_records.simulate.spec import START_MS

_HEARTBEAT_MS: Final = 5_000
"""The mean time between two heartbeats of a member."""


class Walk(ABC):
    """One group id whose events are random; the same seed gives the same walk.

    `now`: the time of the latest record, in ms. `event_ms`: the mean time between two events of a group at rest.
    """

    LONGEST_STEP_MS: ClassVar[int]
    """The longest time from the begin of a step to its last record."""

    def __init__(self, seed: object, group_id: str = "g", event_ms: int = 30_000) -> None:
        self.rng = Random(f"{seed}")  # noqa: S311 - a log, not a secret
        self.group_id = group_id
        self.event_ms = event_ms
        self.now = START_MS
        self._operations: list[Operation] = []
        self._operation: Operation | None = None
        self._pause = self.rng.randint(1, 2 * event_ms)
        self._next_event = self.now + self._pause
        self._named = 0

    @abstractmethod
    def step(self) -> None:
        """Let something happen at `now`, and later, up to `LONGEST_STEP_MS`."""

    def tell(self, event: str, *facts: object) -> None:  # noqa: B027 - for walks that tests derive
        """Tell an observer of an event when it happens. This walk has no observer."""

    def pause(self) -> int:
        """Return the time from one step to the next, in ms, at least 1."""
        return self.rng.randint(1_000, 2 * self.event_ms)

    def until_event(self) -> int:
        """Return the time up to the next event of a group whose members send heartbeats in between, in ms."""
        return max(1, self._next_event - self.now)

    def is_event_due(self) -> bool:
        """Return whether it is the time of the next event. If so, plan the one after it."""
        is_due = self.now >= self._next_event
        if is_due:
            self._next_event = self.now + self.rng.randint(1, 2 * self.event_ms)
        return is_due

    def until_heartbeat(self, members: int) -> int:
        """Return the time up to the next heartbeat or event, in ms."""
        return min(self.rng.randint(1, 2 * _HEARTBEAT_MS // members + 1), self.until_event())

    def run(self, steps: int) -> None:
        """Take some steps."""
        for _ in range(steps):
            self.run_until(self.now + self._pause)

    def run_until(self, time: int) -> None:
        """Take the steps that begin up to a time (ms)."""
        while self.now + self._pause <= time:
            self.now += self._pause
            self.step()
            self._pause = self.pause()

    def chance(self, share: float) -> bool:
        """Return True in this share of cases."""
        return self.rng.random() < share

    def pass_time(self, least: int = 1, most: int = 2_000) -> int:
        """Let some ms go by within a step, and return the new time."""
        self.now += self.rng.randint(least, most)
        return self.now

    def write(self, key_type: int, key: dict[str, Any], value: dict[str, Any] | None) -> None:
        """Write a record at `now`; the records of one time are one operation."""
        operation = self._operation
        if operation is None or operation.time != self.now:
            operation = self._operation = Operation(self.now, self.now)
            self._operations.append(operation)
        operation.write(key_type, key, value)

    def take_operations(self, until: int | None = None) -> list[Operation]:
        """Return and remove the operations up to a time (ms), or all."""
        taken = [each for each in self._operations if until is None or each.time <= until]
        self._operations = self._operations[len(taken) :]
        return taken

    def new_id(self) -> str:
        """Return a new member id."""
        self._named += 1
        return f"m{self._named}"
