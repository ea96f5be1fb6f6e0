"""Windows over rows as NumPy columns: what Spark's window functions say of a row, in one pass over all rows at once.

A window puts rows of equal codes together, in the order of the rows. Whatever is asked about a row is answered by the
number of another row, or by a value; `NONE` and `NULL` stand for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

NONE: Final = -1
"""No row."""
NULL: Final = np.iinfo(np.int64).min
"""No number. The smallest there is, so the greater of it and another is the other, as in SQL."""
NO_VALUE: Final = -1
"""The code of null."""
SPAN: Final = 1 << 33
"""More than any epoch, and than there are assignments: a key may have one of them behind a window's number."""


class Window:
    """Rows of equal codes, in the order of the rows."""

    def __init__(self, codes: Ints, *, are_together: bool = False) -> None:
        """Sort the rows by their codes; `are_together`: those of equal codes follow each other already."""
        self._rows: Ints = np.arange(len(codes)) if are_together else np.argsort(codes, kind="stable")
        begins = differs(codes[self._rows])
        self._starts = np.flatnonzero(begins)
        self._run = np.cumsum(begins) - 1
        self._first = self._starts[self._run]

    @property
    def codes(self) -> Ints:
        """The number of each row's run of equal codes: windows within this one are made of it."""
        return self._by_row(self._run)

    def last(self, where: Bools, *, before: bool = False) -> Ints:
        """Return for each row the last row so far for which `where` holds; with `before`, the last before it."""
        slots = np.arange(len(where))
        found = np.maximum.accumulate(np.where(where[self._rows], slots, NONE))
        if before:
            found = np.concatenate([[NONE], found[:-1]])
        return self._numbers(found, found >= self._first)

    def next(self, where: Bools) -> Ints:
        """Return for each row the first row from it on for which `where` holds."""
        count = len(where)
        found = np.where(where[self._rows], np.arange(count), count)
        found = np.minimum.accumulate(found[::-1])[::-1]
        return self._numbers(found, found < self._end())

    def first(self, where: Bools) -> Ints:
        """Return for each row the first row of all for which `where` holds, if it has come by then."""
        slots = np.arange(len(where))
        firsts = np.minimum.reduceat(np.where(where[self._rows], slots, len(where)), self._starts)[self._run]
        return self._numbers(firsts, firsts <= slots)

    def previous(self) -> Ints:
        """Return for each row the one before it."""
        slots = np.arange(len(self._rows))
        return self._numbers(slots - 1, slots > self._first)

    def following(self) -> Ints:
        """Return for each row the one after it."""
        slots = np.arange(len(self._rows))
        return self._numbers(slots + 1, slots + 1 < self._end())

    def running_sum(self, values: Ints | Bools, *, before: bool = False) -> Ints:
        """Return the sum up to and with each row; with `before`, without it."""
        in_order = values[self._rows].astype(np.int64)
        sums = np.cumsum(in_order)
        sums -= (sums - in_order)[self._first]
        return self._by_row(sums - in_order if before else sums)

    def running_max(self, values: Ints, *, before: bool = False) -> Ints:
        """Return the highest number up to and with each row.

        Numbers are -1 to 2**32, or NULL; a lower one, such as a damaged record has, counts as NULL.
        """
        lifted = np.where(values == NULL, 0, values + 2)[self._rows] + self._run * SPAN
        highest = np.maximum.accumulate(lifted)
        if before:
            highest = np.concatenate([[0], highest[:-1]])
        highest = highest - self._run * SPAN
        return self._by_row(np.where(highest > 0, highest - 2, NULL))

    def max(self, values: Ints) -> Ints:
        """Return for each row the highest of all."""
        return self._by_row(np.maximum.reduceat(values[self._rows], self._starts)[self._run])

    def min(self, values: Ints) -> Ints:
        """Return for each row the lowest of all."""
        return self._by_row(np.minimum.reduceat(values[self._rows], self._starts)[self._run])

    def any(self, where: Bools) -> Bools:
        """Return for each row whether it holds for any."""
        return np.asarray(self.max(where.astype(np.int64)) > 0)

    def _end(self) -> Ints:
        return np.asarray(np.append(self._starts[1:], len(self._rows))[self._run])

    def _numbers(self, slots: Ints, are_there: Bools) -> Ints:
        return self._by_row(np.where(are_there, self._rows[np.where(are_there, slots, 0)], NONE))

    def _by_row(self, in_order: Ints) -> Ints:
        by_row = np.empty_like(in_order)
        by_row[self._rows] = in_order
        return by_row


def within(window: Window, numbers: Ints) -> Ints:
    """Return codes for rows that are in one window and have one number of these as well."""
    distinct, dense = np.unique(numbers, return_inverse=True)
    return np.asarray(window.codes * len(distinct) + dense.reshape(-1), np.int64)


def differs(*columns: Ints) -> Bools:
    """Return which rows are another than the one before, by any of these columns; the first one is."""
    is_other = np.ones(len(columns[0]), bool)
    is_other[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return is_other


def spread(counts: Ints) -> tuple[Ints, Ints]:
    """Return each place as often as it counts, and a number from 0 on for each of the same place."""
    place = np.repeat(np.arange(len(counts)), counts)
    return place, np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)


def are_among(keys: Ints, sorted_keys: Ints) -> Bools:
    """Return which keys are among others, which are sorted and not negative."""
    place = np.searchsorted(sorted_keys, keys)
    return np.asarray(np.append(sorted_keys, NONE)[place] == keys)


def of_rows(values: Ints, rows: Ints) -> Ints:
    """Return the values of these rows, NULL for NONE."""
    return np.asarray(np.append(values, NULL)[rows])


def holds_of(conditions: Bools, rows: Ints) -> Bools:
    """Return whether it holds of these rows; of NONE it does not."""
    return np.append(conditions, False)[rows]


def ms_between(start: Ints, end: Ints) -> Ints:
    """Return the ms between timestamps in µs: negative where a clock went back, NULL where either is."""
    return np.where((start == NULL) | (end == NULL), NULL, end // 1000 - start // 1000)


def ints(column: pa.ChunkedArray, null: int = NULL) -> Ints:
    """Return a column of whole numbers or timestamps (in µs), with a number in place of null."""
    numbers = column.cast(pa.int64()).fill_null(null)
    return np.asarray(numbers.to_numpy())


def bools(column: pa.ChunkedArray) -> Bools:
    """Return a column of truth values, false for null."""
    return np.asarray(column.fill_null(False).to_numpy())  # noqa: FBT003


def arrow(values: Ints, kind: pa.DataType) -> pa.Array:
    """Return numbers as a column of this type, null for NULL."""
    nulls = values == NULL
    return pa.array(np.where(nulls, 0, values), pa.int64(), mask=nulls).cast(kind)


def struct(columns: Mapping[str, pa.Array], nulls: Bools | None = None) -> pa.StructArray:
    """Return columns as one of structs, null where `nulls` holds."""
    mask = None if nulls is None else pa.array(nulls)
    return pa.StructArray.from_arrays([*columns.values()], [*columns], mask=mask)


def lists_by_row(items: pa.Array, rows: Ints, count: int) -> pa.ListArray:
    """Return a list for each of so many rows: of the items that belong to it. They come in the order of their rows."""
    ends = np.cumsum(np.bincount(rows, minlength=count))
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], ends]), pa.int32()), items)
