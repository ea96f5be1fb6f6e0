"""The progress of one partition by its group's commits: the highest offset, the usual steps, and the open stops."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

FEWEST_STEPS: Final = 3
"""Fewer steps between commits show no usual one."""


class Progress(NamedTuple):
    """The first commit of the highest offset: the offset, and the place of its record. `step_ms`: see `Partition`."""

    committed: int
    at: int
    offset: int
    step_ms: int | None = None


@dataclass
class Stop:
    """A stop without progress behind it yet. `mark`: its row in the input. Times are in ms."""

    mark: Mapping[str, Any]
    last: Progress
    idle_before_ms: int
    usual_ms: int | None


@dataclass
class Partition:
    """The commits of one partition in one group up to now.

    `steps`: how often each time between two commits that moved on occurred in the generation before the rebalance;
    None outside of it. `usual`: the same after its end. `Progress.step_ms` is the step that ended with it there.
    """

    key: tuple[Any, ...]
    highest: Progress | None = None
    last_at: int = 0
    steps: Counter[int] | None = None
    usual: Counter[int] = field(default_factory=Counter)
    is_first_step: bool = True
    pending: list[Stop] = field(default_factory=list)

    def begin_generation(self) -> None:
        """Count steps from here: the generation before a rebalance begins."""
        self.steps, self.is_first_step = Counter(), True

    def end_generation(self) -> None:
        """Keep the steps that were counted as the usual ones."""
        # Without steps, the same generation ended before another stop of the partition.
        self.usual = self.usual if self.steps is None else self.steps
        self.steps = None

    def count_steps(self, times: Ints) -> int | None:
        """Count the steps between commits that moved on, if they are usual ones; return the last of them."""
        if self.steps is None:
            return None
        if self.highest is not None and not self.is_first_step:
            times = np.concatenate([[self.highest.at], times])
        self.is_first_step = False
        steps = np.diff(times)
        steps = steps[steps >= 0]  # another coordinator's clock may be slower
        for step, count in zip(*(each.tolist() for each in np.unique(steps, return_counts=True)), strict=True):
            self.steps[step] += count
        return int(steps[-1]) if len(steps) else None

    def usual_ms(self) -> int | None:
        """Return the median step in the generation before, without the step that ended with the last progress."""
        steps = Counter(self.usual)
        last_ms = None if self.highest is None else self.highest.step_ms
        if last_ms is not None:
            steps[last_ms] -= 1
        count = sum(steps.values())
        if count < FEWEST_STEPS:
            return None
        distinct = sorted(steps)
        ends = np.cumsum([steps[ms] for ms in distinct])
        middle = (distinct[int(np.searchsorted(ends, place, side="right"))] for place in ((count - 1) // 2, count // 2))
        return sum(middle) // 2
