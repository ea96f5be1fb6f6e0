"""What the commits of each lane add up to: a lane is a stay of an owner, or what nobody owned in one incarnation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kip848_records.replay.commits.arrays import FAR, NONE, first_of_runs
from kip848_records.replay.commits.medians import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

RECENT: Final = 20
"""Of so many advances the rate of a lane is measured."""

_COUNTS: Final = (
    *("commits", "unchanged", "backs", "late_commits", "removed", "advances", "advanced", "negative_commits"),
)
_STARTS: Final = {
    **dict.fromkeys(_COUNTS, 0),
    **dict.fromkeys(("first_ms", "first_offset", "last_ms", "last_offset", "last_topic_row"), NONE),
    **dict.fromkeys(("start_offset", "start_ms", "quiet_ms", "longest_step_ms", "last_advance_ms"), NONE),
    **dict.fromkeys(("recent_advanced", "recent_ms", "is_start_unknown", "retention_ms"), NONE),
    **dict.fromkeys(("negative_first_ms", "negative_until_ms", "before_negative", "negative_offset"), NONE),
    "min_offset": FAR,
    "max_offset": np.iinfo(np.int64).min,
}


class Lanes:
    """Numbers of each lane, as arrays. `_recent` are the last advances of each lane: lane, ms, amount."""

    def __init__(self) -> None:
        self.size = 0
        self.of: dict[str, Ints] = {name: np.empty(0, np.int64) for name in _STARTS}
        self.steps = Steps()
        self._recent = np.empty((3, 0), np.int64)

    def grow(self, size: int) -> None:
        """Add lanes without commits, up to `size` in all."""
        more = size - self.size
        self.of = {name: np.concatenate([self.of[name], np.full(more, start)]) for name, start in _STARTS.items()}
        self.size = size

    def count(self, name: str, lanes: Ints, amounts: Ints | None = None) -> None:
        """Add to a number of each lane: one, or an amount."""
        np.add.at(self.of[name], lanes, 1 if amounts is None else amounts)

    def commit(self, lanes: Ints, ms: Ints, offsets: Ints, retention_ms: Ints, topic_rows: Ints) -> None:
        """Add commits in the order of the log; `topic_rows`: the rows of those that name a topic id, `NONE` else."""
        self.count("commits", lanes)
        is_new = self.of["first_ms"][lanes] == NONE
        for name, values in (("first_ms", ms), ("first_offset", offsets)):
            self.of[name][lanes[is_new][::-1]] = values[is_new][::-1]
        for name, values in (("last_ms", ms), ("last_offset", offsets), ("retention_ms", retention_ms)):
            self.of[name][lanes] = values
        named = topic_rows >= 0
        self.of["last_topic_row"][lanes[named]] = topic_rows[named]
        np.minimum.at(self.of["min_offset"], lanes, offsets)
        np.maximum.at(self.of["max_offset"], lanes, offsets)

    def negative(self, lanes: Ints, ms: Ints, offsets: Ints, before: Ints) -> None:
        """Add commits of negative offsets in the order of the log; `before`: the offset that each replaced, or `NONE`.

        They last until something else is committed.
        """
        self.count("negative_commits", lanes)
        is_new = self.of["negative_first_ms"][lanes] == NONE
        for name, values in (("negative_first_ms", ms), ("before_negative", before)):
            self.of[name][lanes[is_new][::-1]] = values[is_new][::-1]
        self.of["negative_offset"][lanes] = offsets
        self.of["negative_until_ms"][lanes] = NONE

    def advance(self, lanes: Ints, ms: Ints, amounts: Ints, acquired_ms: Ints) -> None:
        """Add advances in the order of the log; `acquired_ms` of each lane, `NONE` for what nobody owned."""
        if not len(lanes):
            return
        self.count("advances", lanes)
        self.count("advanced", lanes, amounts)
        self.of["last_advance_ms"][lanes] = ms
        old = self._recent.shape[1]
        lanes, ms, amounts = (np.concatenate(pair) for pair in zip(self._recent, (lanes, ms, amounts), strict=True))
        is_old = np.arange(len(lanes)) < old
        order = np.argsort(lanes, kind="stable")
        lanes, ms, amounts, is_old = lanes[order], ms[order], amounts[order], is_old[order]
        is_first = first_of_runs(lanes)
        previous = np.concatenate([[0], ms[:-1]])
        is_step = ~is_old & ~is_first
        self.steps.add(lanes[is_step], (ms - previous)[is_step])
        since = np.where(is_first, acquired_ms[lanes], previous)
        counts = ~is_old & (since != NONE)
        np.maximum.at(self.of["longest_step_ms"], lanes[counts], np.maximum(0, ms - since)[counts])
        begins = np.flatnonzero(is_first)
        ends = np.append(begins[1:], len(lanes))
        firsts = np.maximum(begins, ends - RECENT)
        total = np.cumsum(amounts)
        self.of["recent_advanced"][lanes[begins]] = total[ends - 1] - total[firsts]
        self.of["recent_ms"][lanes[begins]] = ms[ends - 1] - ms[firsts]
        kept = np.arange(len(lanes)) >= np.repeat(firsts, ends - begins)
        self._recent = np.stack([lanes[kept], ms[kept], amounts[kept]])

    def only(self, lanes: Ints) -> Lanes:
        """Return some of the lanes, which get new numbers in this order."""
        kept = Lanes()
        kept.size = len(lanes)
        kept.of = {name: values[lanes] for name, values in self.of.items()}
        numbers = np.full(self.size, NONE)
        numbers[lanes] = np.arange(len(lanes))
        kept.steps = self.steps.of_keys(numbers)
        recent = numbers[self._recent[0]]
        kept._recent = np.stack([recent, *self._recent[1:]])[:, recent >= 0]
        return kept


class Members:
    """The rhythm in which each member commits, of any partition: commits within 50 ms are one request's."""

    def __init__(self) -> None:
        self.steps = Steps()
        self.last_ms = np.empty(0, np.int64)
        self.cluster_ms = np.empty(0, np.int64)

    def only(self, members: Ints) -> Members:
        """Return some of the members, which get new numbers in this order."""
        kept = Members()
        numbers = np.full(len(self.last_ms), NONE)
        numbers[members] = np.arange(len(members))
        kept.steps = self.steps.of_keys(numbers)
        kept.last_ms, kept.cluster_ms = self.last_ms[members], self.cluster_ms[members]
        return kept
