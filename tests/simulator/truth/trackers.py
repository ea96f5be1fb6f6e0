"""The trackers that the rows of several tables depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulator.truth.assignments import AssignmentTracker
from tests.simulator.truth.gaps import GapTracker
from tests.simulator.truth.rows import GroupClock
from tests.simulator.truth.standing import StandingTracker

if TYPE_CHECKING:
    from kip848_records.simulate.broker.coordinator import Observer


class Trackers:
    """The trackers of one group id. They process each operation before the tables do."""

    def __init__(self) -> None:
        self.clock = GroupClock()
        self.assignments = AssignmentTracker(self.clock)
        self.gaps = GapTracker(self.clock)
        self.standing = StandingTracker(self.clock)
        self.observers: tuple[Observer, ...] = (self.clock, self.assignments, self.gaps, self.standing)

    def close(self, captured_at: int) -> None:
        """Set the clock to the time of the capture."""
        self.clock.close(captured_at)
        self.gaps.close()
