"""Arrays of whole numbers instead of nulls and texts, and columns made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

NONE: Final = -1
FAR: Final = np.iinfo(np.int64).max


def first_of_runs(*columns: Ints) -> Bools:
    """Return which rows differ in any column from the row before; the first one does."""
    is_first = np.ones(len(columns[0]), bool)
    is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return is_first


def last_place(flags: Bools) -> Ints:
    """Return the last place up to each where a flag is set; `NONE` before the first."""
    return np.maximum.accumulate(np.where(flags, np.arange(len(flags)), NONE)) if len(flags) else np.empty(0, np.int64)


def before(places: Ints) -> Ints:
    """Return what was said of the place before; `NONE` for the first."""
    return np.concatenate([[NONE], places[:-1]]) if len(places) else places


def first_at_least(values: Ints, begins: Ints, bounds: Ints) -> Ints:
    """Return the first place from each begin on whose value is at least the bound; behind the end if there is none.

    All are searched for at once, in pairs, pairs of pairs …: up to a part that has such a value, and down in it.
    """
    parts = [np.append(values, [FAR, FAR][: 2 - len(values) % 2])]
    while len(parts[-1]) > 1:
        highest = parts[-1].reshape(-1, 2).max(axis=1)
        parts.append(np.append(highest, [FAR]) if len(highest) % 2 and len(highest) > 1 else highest)
    places, found_at = begins.copy(), np.full(len(begins), len(parts))
    for level, highest in enumerate(parts):
        is_searching = found_at == len(parts)
        is_hit = is_searching & (highest[np.where(is_searching, places, 0)] >= bounds)
        found_at[is_hit] = level
        goes_up = is_searching & ~is_hit
        places[goes_up] = (places[goes_up] + 1) // 2
    for level in range(len(parts) - 1, 0, -1):
        goes_down = found_at >= level
        left = places[goes_down] * 2
        places[goes_down] = left + (parts[level - 1][left] < bounds[goes_down])
    return places


def factorized(values: Ints) -> Ints:
    """Return numbers from 0 on, the same for the same value."""
    numbers: Ints = pa.array(values).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers


def factorized_in_order(values: Ints) -> Ints:
    """Return numbers from 0 on in the order of values."""
    return np.unique(values, return_inverse=True)[1]


def numbered(*columns: Ints) -> Ints:
    """Return numbers from 0 on, the same for rows with the same values of all columns; none is negative."""
    found = factorized(columns[0])
    for column in columns[1:]:
        found = factorized(found * (column.max(initial=0) + 1) + column)
    return found


def cast_to(values: Ints | pa.Array | pa.ChunkedArray, type_: pa.DataType) -> pa.Array:
    """Return values as a column of a type."""
    values = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return values.cast(type_)


def taken(column: pa.ChunkedArray, rows: Ints) -> pa.Array:
    """Return the values of rows; null for `NONE`."""
    return column.take(pa.array(np.maximum(rows, 0), mask=rows < 0))


def ints(values: Ints, is_known: Bools) -> pa.Array:
    """Return a column of numbers; null where they are not known."""
    return pa.array(values, mask=~is_known)


def known(values: Ints) -> pa.Array:
    """Return a column of numbers; null for `NONE`."""
    return ints(values, values != NONE)


def times(ms: Ints, is_known: Bools | None = None) -> pa.Array:
    """Return a column of times, of ms since 1970; null where they are not known."""
    mask = None if is_known is None else ~is_known
    shown = ms if is_known is None else np.where(is_known, ms, 0)
    return pa.array(shown, pa.timestamp("ms", "UTC"), mask=mask).cast(pa.timestamp("us", "UTC"))
