"""A client that reads partitions and commits its positions: how, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kip848_records.simulate.commits import ABORT, COMMITTED, no_commits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kip848_records.simulate.broker.cluster import TopicPartition
    from tests.simulator.committing.flows import Flow

    Ints = NDArray[np.int64]

_ABORTED_OF: Final = 20
"""One of this many transactions is aborted."""
_MARKER_MS: Final = (3, 40)
"""The marker of a transaction follows its offsets so long after them, at least and at most."""
LAST_MARKER_MS: Final = 50
"""After so long, a client's last transaction has its marker."""
TRANSACTION_OPEN: Final = "transaction_open"
"""Why a partition is not read: its committed offset is part of an open transaction."""
HANGS: Final = "hangs"
"""Why it is not: its owner left a transaction open."""
_SILENT: Final = {TRANSACTION_OPEN, HANGS}
"""What such a client has not fetched, or no longer handles, it does not commit."""
_POLL_MS: Final = 100
"""A message is read so long after it came."""


@dataclass(frozen=True)
class Style:
    """How a client commits.

    `interval_ms`: how often; 0: never. `only_moved`: only positions above what it last committed, as librdkafka does;
    otherwise every position, as Java does. `on_release`: also when it gives partitions up. `batch_ms`: how long it
    works on what it read at once. `per_s`: how many messages of a partition it can read, None: all that come.
    """

    interval_ms: int = 5_000
    only_moved: bool = False
    on_release: bool = True
    in_transactions: bool = False
    batch_ms: int = _POLL_MS
    per_s: float | None = None


@dataclass(eq=False)
class Place:
    """A partition that a client reads from `base` on since `since` (ms), in one way.

    `key`: the number of its commits' key. `committed`: the offset that the client last committed or fetched, or at
    which it began without one. `stalled`: why nothing is read. `has_committed`: whether the client has.
    """

    tp: TopicPartition
    key: int
    flow: Flow
    since: int
    base: int
    committed: int
    stalled: str | None = None
    has_committed: bool = False

    def positions(self, style: Style, times: Ints) -> Ints:
        """Return the position at each of some times (ms)."""
        if self.stalled:
            return np.full(len(times), self.base)
        found = np.maximum(self.base, self.flow.ends_at(times - style.batch_ms))
        if style.per_s is not None:
            found = np.minimum(found, self.base + ((times - self.since) * style.per_s / 1000).astype(np.int64))
        return found

    def position(self, style: Style, time: int) -> int:
        """Return the position at a time (ms)."""
        return int(self.positions(style, np.array([time]))[0])


@dataclass(eq=False)
class Reader:
    """A client, from its first partitions until it ends. `began`: its commits come at intervals from then on (ms)."""

    member_id: str
    client_id: str
    style: Style
    began: int
    producer_id: int = -1
    is_alive: bool = True
    places: dict[TopicPartition, Place] = field(default_factory=dict)
    _committed_to: int = 0

    def commits_until(self, until: int) -> NDArray[Any]:
        """Return the commits at its intervals before a time (ms), from the last such call on."""
        since, self._committed_to = max(self._committed_to, self.began), max(self._committed_to, until)
        if not (self.is_alive and self.style.interval_ms and self.places):
            return no_commits()
        times = self._times(since, until)
        aborts = self._mix(times) % _ABORTED_OF == 0 if self.style.in_transactions else np.zeros(len(times), bool)
        return self._rows(times, aborts, [each for each in self.places.values() if each.stalled not in _SILENT])

    def last_commits(self, time: int, places: Sequence[Place], *, comes_first: bool = False) -> NDArray[Any]:
        """Return the commits of partitions that it gives up, or of all. `comes_first`: just before that operation."""
        if not (self.is_alive and self.style.interval_ms and self.style.on_release):
            return no_commits()
        places = [place for place in places if place.stalled not in _SILENT]
        rows = self._rows(np.array([time]), np.zeros(1, bool), places)
        rows["comes_first"] = comes_first
        return rows

    def open_transaction(self, time: int) -> NDArray[Any]:
        """Return the commits of a transaction that has no marker."""
        rows = self._rows(np.array([time]), np.ones(1, bool), list(self.places.values()))
        return rows[rows["control"] < 0]

    def marker(self, time: int, control: int, epoch: int = 0) -> NDArray[Any]:
        """Return the marker of its transaction."""
        rows = no_commits(1)
        rows["time"] = rows["timestamp"] = time
        rows["producer_id"], rows["producer_epoch"], rows["control"] = self.producer_id, epoch, control
        rows["is_hidden"] = True
        return rows

    def _rows(self, times: Ints, aborts: NDArray[Any], places: Sequence[Place]) -> NDArray[Any]:
        """Return what it commits of some partitions at some times; `aborts`: those whose transaction is aborted."""
        if not len(times) or not places:
            return no_commits()
        found, moved = [], np.zeros(len(times), bool)
        for place in places:
            positions = place.positions(self.style, times)
            chosen = self._chosen(place, positions, aborts)
            counted = positions[chosen & ~aborts]
            if len(counted):
                place.committed, place.has_committed = int(counted[-1]), True
            rows = no_commits(int(chosen.sum()))
            rows["time"], rows["key"], rows["offset"] = times[chosen], place.key, positions[chosen]
            rows["is_hidden"] = aborts[chosen]
            found.append(rows)
            moved |= chosen
        if self.style.in_transactions:
            found.append(self._markers(times[moved], aborts[moved]))
        rows = np.concatenate(found)
        rows["timestamp"] = rows["time"]
        if self.style.in_transactions:
            rows["producer_id"], rows["producer_epoch"] = self.producer_id, 0
        return rows

    def _chosen(self, place: Place, positions: Ints, aborts: NDArray[Any]) -> NDArray[Any]:
        if not self.style.only_moved:
            return np.ones(len(positions), bool)
        before = np.concatenate([[place.committed], np.where(aborts, place.committed, positions)[:-1]])
        return positions > np.maximum.accumulate(before)

    def _markers(self, times: Ints, aborts: NDArray[Any]) -> NDArray[Any]:
        rows = no_commits(len(times))
        rows["time"] = times + _MARKER_MS[0] + self._mix(times) % (_MARKER_MS[1] - _MARKER_MS[0])
        rows["control"] = np.where(aborts, ABORT, COMMITTED)
        rows["is_hidden"] = True
        return rows

    def _times(self, since: int, until: int) -> Ints:
        """Return when it commits, from one time up to before another (ms): each commit is a little late."""
        step = max(self.style.interval_ms, self.style.batch_ms)
        late = step // 3 if self.style.batch_ms >= self.style.interval_ms else min(step // 20, 250)
        numbers = np.arange(max(1, (since - self.began) // step - 1), (until - self.began) // step + 1)
        times = self.began + numbers * step
        times += self._mix(times) % (late + 1)
        return times[(times >= since) & (times < until)]

    def _mix(self, numbers: Ints) -> Ints:
        """Return numbers that look like chance, the same for the same ones: they depend on no earlier call."""
        mixed = (numbers.astype(np.uint64) + np.uint64(self.began & 0xFFFF)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        return (mixed >> np.uint64(33)).astype(np.int64)
