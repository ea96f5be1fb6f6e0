"""The messages of a topic's partition over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kip848_records.simulate.spec import START_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_HOUR_MS: Final = 3_600_000
_STEP_MS: Final = 30_000
"""So long messages come at one rate."""
_MOST_BEFORE: Final = 100_000
"""The highest offset at the start of the simulation."""


class Flow:
    """How many messages a partition has had: straight lines between `times` (ms) and `ends`, both ascending."""

    def __init__(self, times: NDArray[Any], ends: NDArray[Any]) -> None:
        self._times = times
        self._ends = ends

    def end_at(self, time: int) -> int:
        """Return the end offset at a time (ms)."""
        return int(np.interp(time, self._times, self._ends))

    def ends_at(self, times: Ints) -> Ints:
        """Return the end offset at each of some times (ms)."""
        ends: Ints = np.interp(times, self._times, self._ends).astype(np.int64)
        return ends

    def time_of(self, offset: int) -> int | None:
        """Return when the message at an offset came (ms), at the earliest the start; None: never."""
        place = int(np.searchsorted(self._ends, offset + 1))
        if place == len(self._ends):
            return None
        if not place:
            return int(self._times[0])
        since, ends = self._times[place - 1 : place + 1], self._ends[place - 1 : place + 1]
        return int(np.ceil(since[0] + (offset + 1 - ends[0]) * (since[1] - since[0]) / (ends[1] - ends[0])))

    def stopping(self, time: int) -> Flow:
        """Return the same messages up to a time (ms), and none after it."""
        before = self._times < time
        end = np.append(self._ends[before], [self.end_at(time)] * 2)
        return Flow(np.append(self._times[before], [time, time + 1]), end)

    def starting(self, time: int) -> Flow:
        """Return the same messages from a time (ms) on: the first has the offset 0."""
        after = self._times > time
        ends = np.append([0], self._ends[after] - self.end_at(time))
        return Flow(np.append([time], self._times[after]), ends)


def idle(rng: np.random.Generator) -> Flow:
    """Return the messages of a partition that got them before the simulation began, or never."""
    first = rng.integers(_MOST_BEFORE) * rng.integers(2)
    return Flow(np.array([START_MS, START_MS + 1]), np.array([first, first]))


def steady(rng: np.random.Generator, per_s: float, hours: float) -> Flow:
    """Return messages at a rate that changes little."""
    times = np.arange(START_MS, START_MS + hours * _HOUR_MS + _STEP_MS, _STEP_MS)
    return _of_counts(rng, times, rng.poisson(per_s * _STEP_MS / 1000, len(times) - 1))


def rare(rng: np.random.Generator, gap_ms: float, hours: float) -> Flow:
    """Return messages that come one by one, `gap_ms` apart on average."""
    count = int(hours * _HOUR_MS / gap_ms * 2) + 10
    came = START_MS + np.cumsum(rng.exponential(gap_ms, count)).astype(np.int64)
    before = int(rng.integers(_MOST_BEFORE))
    times = np.concatenate([[START_MS], np.stack([came - 1, came], 1).ravel()])
    ends = np.concatenate([[0], np.stack([np.arange(count), np.arange(1, count + 1)], 1).ravel()])
    return Flow(np.maximum.accumulate(times), before + ends)


def bursts(rng: np.random.Generator, per_s: float, lasts_ms: float, apart_ms: float, hours: float) -> Flow:
    """Return messages that come together for a while, and then none for a while."""
    count = int(hours * _HOUR_MS / (lasts_ms + apart_ms) * 2) + 10
    spans = np.stack([rng.exponential(apart_ms, count), rng.exponential(lasts_ms, count)], 1).ravel() + 1_000
    times = START_MS + np.cumsum(np.concatenate([[0], spans])).astype(np.int64)
    counts = np.round(spans * per_s / 1000).astype(np.int64)
    counts[::2] = 0
    return _of_counts(rng, times, counts)


def _of_counts(rng: np.random.Generator, times: NDArray[Any], counts: NDArray[Any]) -> Flow:
    return Flow(times, rng.integers(_MOST_BEFORE) + np.concatenate([[0], np.cumsum(counts)]))
