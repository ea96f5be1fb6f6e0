"""Medians of many steps in time, for each of many keys, in bounded memory.

A step up to `_EXACT_MS` is kept in ms, a longer one with a relative error below 0.1 %: so a key has at most some ten
thousand different steps, however many there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kip848_records.replay.commits.arrays import first_of_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_BITS: Final = 14
_EXACT_MS: Final = 1 << _BITS
_CODE_BITS: Final = 20
"""A step is a number of `_BITS` bits, and by how many it was shifted: six bits more, for any step in 64 bits."""


class Steps:
    """How often each step occurred, by key: a number below 2^43."""

    def __init__(self) -> None:
        self._codes = np.empty(0, np.int64)
        self._counts = np.empty(0, np.int64)

    def add(self, keys: Ints, steps: Ints) -> None:
        """Count steps, in ms; negative ones are skipped: another coordinator's clock may be slower."""
        kept = steps >= 0
        steps = steps[kept]
        shift = np.maximum(0, np.frexp(steps.astype(np.float64))[1] - _BITS)
        codes = keys[kept].astype(np.int64) << _CODE_BITS | shift << _BITS | steps >> shift
        self._merge(codes, np.ones(len(codes), np.int64))

    def medians(self, size: int, fewest: int) -> Ints:
        """Return the median step of the keys 0 to `size`, in ms; -1: fewer than `fewest` steps."""
        keys, code = self._codes >> _CODE_BITS, self._codes & ((1 << _CODE_BITS) - 1)
        steps = (code & (_EXACT_MS - 1)) << (code >> _BITS)
        found = np.full(size, -1, np.int64)
        totals = np.bincount(keys, self._counts, size).astype(np.int64) if len(keys) else np.zeros(size, np.int64)
        wanted = np.flatnonzero(totals >= max(1, fewest))
        ends = np.cumsum(self._counts)
        begins = np.cumsum(totals) - totals
        low, high = (begins[wanted] + (totals[wanted] - each) // 2 for each in (1, 0))
        places = (np.searchsorted(ends, place, side="right") for place in (low, high))
        found[wanted] = sum(steps[place] for place in places) // 2
        return found

    def of_keys(self, numbers: Ints) -> Steps:
        """Return the steps of some keys, which get new numbers: `numbers` by key, -1 for the others."""
        kept = Steps()
        new = numbers[self._codes >> _CODE_BITS]
        there = new >= 0
        codes = new[there] << _CODE_BITS | self._codes[there] & ((1 << _CODE_BITS) - 1)
        kept._merge(codes, self._counts[there])
        return kept

    def _merge(self, codes: Ints, counts: Ints) -> None:
        codes = np.concatenate([self._codes, codes])
        counts = np.concatenate([self._counts, counts])
        if not len(codes):
            return
        order = np.argsort(codes, kind="stable")
        codes, counts = codes[order], counts[order]
        starts = np.flatnonzero(first_of_runs(codes))
        self._codes, self._counts = codes[starts], np.add.reduceat(counts, starts)
