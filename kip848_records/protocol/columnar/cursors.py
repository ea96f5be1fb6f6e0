"""Cursors: the positions in a batch's bytes at which one field is read, and the handling of rows that fail."""

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
    """The state of the rows of a batch: the first error of each row, and its position in the row."""

    def __init__(self, origins: Offsets, *, guessed: bool = False) -> None:
        """`guessed`: the rows are guesses, see `walk`."""
        self.origins = origins
        self.guessed = guessed
        self.errors = np.zeros(len(origins), np.int8)
        self.positions = np.full(len(origins), -1, np.int32)
        self.any_failed = False

    def note(self, rows: Offsets, error: Error, at: Offsets) -> None:
        """Give `rows`, which may contain duplicates, an error at offsets `at`, unless they have one."""
        self.any_failed = True
        fresh = self.errors[rows] == Error.NONE
        first, index = np.unique(rows[fresh], return_index=True)
        self.errors[first] = error
        self.positions[first] = at[fresh][index] - self.origins[first]


def chosen(values: Offsets, index: Offsets) -> Offsets:
    """Return some of the values, by ascending `index`; without a copy if it selects all of them."""
    return values if len(index) == len(values) else values[index]


class Cursors:
    """A position per value, and the end that it must not pass.

    A cursor is never after its end, except by the few bytes of a length that was read and not yet checked. The arrays
    are replaced, never changed in place: so a reference to `pos` preserves the positions at that time.
    """

    def __init__(
        self, encoded: Encoded, outcome: Outcome, pos: Offsets, end: Offsets, rows: Callable[[], Offsets]
    ) -> None:
        """`rows`: a function that returns the rows of the cursors; only a failure calls it."""
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
        """Return the same as `at`, with positions that may be changed in place."""
        return self.elsewhere(self.pos[index], self.end[index], lambda: self.rows()[index])

    def elsewhere(self, pos: Offsets, end: Offsets, rows: Callable[[], Offsets]) -> Cursors:
        """Return cursors at other positions of the same batch."""
        return Cursors(self.encoded, self.outcome, pos, end, rows)

    def put(self, index: Offsets, moved: Cursors) -> None:
        """Take over the positions of the cursors of `at(index)` after reading; parked ones also take over their end."""
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
        """Move cursors to the zeros after the data, where they have no effect."""
        self.pos, self.end = self.pos.copy(), self.end.copy()
        self.pos[index] = self.encoded.size
        self.end[index] = self.encoded.size + PARKING_BYTES

    def fail(self, bad: Mask, error: Error, at: Offsets) -> None:
        """Give the rows of the `bad` cursors an error at offsets `at`, unless they have one, and park the cursors."""
        if np.count_nonzero(bad):  # several times as fast as any()
            self.outcome.note(self.rows()[bad], error, at[bad])
            self.park(bad)

    def fail_one(self, place: int, malformed: Malformed) -> None:
        """Fail the cursor at index `place`."""
        bad = np.arange(len(self)) == place
        self.fail(bad, malformed.error, np.full(len(self), malformed.position))

    def advance(self, size: Offsets, start: Offsets) -> Offsets:
        """Move on by `size` bytes and return the old positions; fail fields, begun at `start`, that lack the bytes."""
        begin = self.pos
        self.pos = begin + size
        self.check(start)
        return np.minimum(begin, self.pos) if self.outcome.any_failed else begin

    def check(self, start: Offsets) -> None:
        """Fail the fields, begun at `start`, whose cursors have passed the end of the row."""
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
