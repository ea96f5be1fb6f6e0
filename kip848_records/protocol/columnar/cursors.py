"""Cursors: where in a batch's bytes each value of one field is read, and what becomes of a row that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kip848_records.protocol.columnar.encoded import PARKING_BYTES, Encoded
from kip848_records.protocol.columnar.errors import Error, Malformed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Offsets = NDArray[np.int64]
    Mask = NDArray[np.bool_]


class Outcome:
    """What is known about the rows of a batch: the first error of each, and where in the row it was found."""

    def __init__(self, origins: Offsets, *, guessed: bool = False) -> None:
        """`guessed` says that the rows are guesses, see `walk`."""
        self.origins = origins
        self.guessed = guessed
        self.errors = np.zeros(len(origins), np.int8)
        self.positions = np.full(len(origins), -1, np.int32)
        self.any_failed = False

    def note(self, rows: Offsets, error: Error, at: Offsets) -> None:
        """Give `rows`, of which several may be the same, an error at offsets `at`, unless they have one."""
        self.any_failed = True
        fresh = self.errors[rows] == Error.NONE
        first, index = np.unique(rows[fresh], return_index=True)
        self.errors[first] = error
        self.positions[first] = at[fresh][index] - self.origins[first]


def chosen(values: Offsets, index: Offsets) -> Offsets:
    """Return some of the values, by ascending `index`; not a copy if it is all of them."""
    return values if len(index) == len(values) else values[index]


class Cursors:
    """A position per value, and the end that it may not pass.

    A cursor never stands behind its end, but for the few bytes of a length that was read and not yet checked. The
    arrays are replaced, never changed in place: whoever keeps `pos` keeps where the cursors were.
    """

    def __init__(
        self, encoded: Encoded, outcome: Outcome, pos: Offsets, end: Offsets, rows: Callable[[], Offsets]
    ) -> None:
        """Take the rows that the cursors belong to as a function: only a failure asks for them."""
        self.encoded = encoded
        self.outcome = outcome
        self.pos = pos
        self.end = end
        self.rows = rows

    def __len__(self) -> int:
        return len(self.pos)

    def at(self, index: Offsets) -> Cursors:
        """Return the cursors of some of the values, by ascending `index`."""
        if len(index) == len(self):
            return self.elsewhere(self.pos, self.end, self.rows)
        return self.apart(index)

    def apart(self, index: Offsets) -> Cursors:
        """As `at`; the positions may be changed in place."""
        return self.elsewhere(self.pos[index], self.end[index], lambda: self.rows()[index])

    def elsewhere(self, pos: Offsets, end: Offsets, rows: Callable[[], Offsets]) -> Cursors:
        """Return cursors at other places of the same batch."""
        return Cursors(self.encoded, self.outcome, pos, end, rows)

    def put(self, index: Offsets, moved: Cursors) -> None:
        """Take over where the cursors of `at(index)` have moved to; the end moves with those that were parked."""
        if len(index) == len(self):
            self.pos, self.end = moved.pos, moved.end
        else:
            self.pos = self.pos.copy()
            self.pos[index] = moved.pos
            self.park_like(index, moved)

    def park_like(self, index: Offsets, others: Cursors) -> None:
        """Park the cursors at `index` whose counterparts in `others` are parked."""
        if self.outcome.any_failed:
            self.park(index[others.parked()])

    def parked(self) -> Mask:
        """Return which cursors belong to rows that have failed."""
        return self.end > self.encoded.size

    def park(self, index: Offsets | Mask) -> None:
        """Move cursors to the zeros behind the data, where they harm nobody."""
        self.pos, self.end = self.pos.copy(), self.end.copy()
        self.pos[index] = self.encoded.size
        self.end[index] = self.encoded.size + PARKING_BYTES

    def fail(self, bad: Mask, error: Error, at: Offsets) -> None:
        """Give the rows of the `bad` cursors an error at offsets `at`, unless they have one, and park the cursors."""
        if np.count_nonzero(bad):  # several times as fast as any()
            self.outcome.note(self.rows()[bad], error, at[bad])
            self.park(bad)

    def fail_one(self, place: int, malformed: Malformed) -> None:
        """Fail the cursor at `place`."""
        bad = np.arange(len(self)) == place
        self.fail(bad, malformed.error, np.full(len(self), malformed.position))

    def advance(self, size: Offsets, start: Offsets) -> Offsets:
        """Move on by `size` bytes and return where they begin; fail the fields, begun at `start`, that lack them."""
        begin = self.pos
        self.pos = begin + size
        self.check(start)
        return np.minimum(begin, self.pos) if self.outcome.any_failed else begin

    def check(self, start: Offsets) -> None:
        """Fail the fields, begun at `start`, of which the cursors have passed the end of the row."""
        bad = self.pos > self.end
        if np.count_nonzero(bad):
            self.fail(bad, Error.TRUNCATED, start)

    def claim(self, size: Offsets, start: Offsets) -> None:
        """Fail the fields, begun at `start`, that have fewer than `size` bytes left."""
        bad = self.pos + size > self.end
        if np.count_nonzero(bad):
            self.fail(bad, Error.TRUNCATED, start)

    def unparked(self, size: Offsets) -> Offsets:
        """Return `size`, 0 for parked cursors."""
        return np.where(self.parked(), 0, size) if self.outcome.any_failed else size
