"""The base of all random walks: time, operations, and the rows of the truth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Final

from kip848_records.simulate.broker.operation import Operation
from kip848_records.simulate.commits import no_commits
from kip848_records.simulate.spec import START_MS
from kip848_records.simulate.truth.rows import At, Row
from kip848_records.simulate.truth.schemas import SCHEMAS

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEARTBEAT_MS: Final = 5_000
"""The mean time between two heartbeats of a member."""


class Walk(ABC):
    """One group id whose events are random; the same seed gives the same walk.

    `now`: the time of the latest record, in ms. `event_ms`: the mean time between two events of a group at rest.
    `rows`: the rows of the truth that have ended, by table; times in ms, offsets as `At`. They may have more fields
    than their tables have columns.
    """

    LONGEST_STEP_MS: ClassVar[int]
    """The longest time from the begin of a step to its last record."""
    TABLES: ClassVar[tuple[str, ...]]
    """The tables that the walk has the truth of."""

    def __init__(self, seed: object, group_id: str = "g", partition: int = 0, event_ms: int = 30_000) -> None:
        self.rng = Random(f"{seed}")  # noqa: S311 - a log, not a secret
        self.group_id = group_id
        self.partition = partition
        self.event_ms = event_ms
        self.now = START_MS
        self.incarnation = 0
        self.rows: dict[str, list[Row]] = {table: [] for table in self.TABLES}
        self._operations: list[Operation] = []
        self._operation: Operation | None = None
        self._pause = self.rng.randint(1, 2 * event_ms)
        self._next_event = self.now + self._pause
        self._named = 0

    @abstractmethod
    def step(self) -> None:
        """Let something happen at `now`, and later, up to `LONGEST_STEP_MS`."""

    @abstractmethod
    def close(self, captured_at: int) -> None:
        """End all open rows: the log was captured at a time (ms)."""

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

    def write(self, key_type: int, key: dict[str, Any], value: dict[str, Any] | None) -> At:
        """Write a record at `now`, and return its offset; the records of one time are one operation."""
        operation = self._operation
        if operation is None or operation.time != self.now:
            operation = self._operation = Operation(self.now, self.now)
            self._operations.append(operation)
        operation.write(key_type, key, value)
        return At(operation, operation.size - 1)

    def end_of_operation(self) -> At:
        """Return the offset of the last record of the latest operation."""
        if self._operation is None:
            raise ValueError("no record has been written")
        return At(self._operation)

    def wrote_now(self) -> bool:
        """Return whether the present time has an operation."""
        return self._operation is not None and self._operation.time == self.now

    def take_operations(self, until: int | None = None) -> list[Operation]:
        """Return and remove the operations up to a time (ms), or all."""
        taken = [each for each in self._operations if until is None or each.time <= until]
        self._operations = self._operations[len(taken) :]
        return taken

    def take_commits(self, until: int) -> NDArray[Any]:  # noqa: ARG002 - some groups commit
        """Return and remove the offset commits before a time (ms)."""
        return no_commits()

    def take(self) -> dict[str, list[Row]]:
        """Return and remove the rows, unless operations wait for their offsets."""
        if self._operations:
            return {}
        taken, self.rows = self.rows, {table: [] for table in self.TABLES}
        return {table: [_with_offsets(row) for row in rows] for table, rows in taken.items()}

    def note(self, table: str, row: Row) -> None:
        """Add a row that has ended to the truth; `row` has neither partition nor group id."""
        partition = "offsets_partition" if "offsets_partition" in SCHEMAS[table].names else "partition"
        key = {partition: self.partition, "group_id": self.group_id}
        self.rows[table].append({**key, **row})

    def new_id(self) -> str:
        """Return a new member id."""
        self._named += 1
        return f"m{self._named}"


def _with_offsets(row: Row) -> Row:
    return {name: value.offset if isinstance(value, At) else value for name, value in row.items()}
