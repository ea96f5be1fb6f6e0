"""Puts the values of some rows among those of all rows, null elsewhere, without copying their content."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar.slices import validity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.protocol.columnar.cursors import Mask, Offsets


def scatter(values: pa.Array, at: Offsets, length: int) -> pa.Array:
    """Return an array of `length` with `values` (not a slice) at the ascending positions `at` and null elsewhere."""
    if len(at) == length:
        return values
    if not len(at):
        return pa.nulls(length, values.type)
    null = np.ones(length, bool)
    null[at] = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else False
    return _spread(values, at, null)


def _spread(values: pa.Array, at: Offsets, null: Mask) -> pa.Array:
    kind, bitmap = values.type, validity(null)
    if pa.types.is_struct(kind):
        children = [scatter(child, at, len(null)) for child in values.flatten()]
        return pa.Array.from_buffers(kind, len(null), [bitmap], children=children)
    if pa.types.is_list(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind):
        _, offset_buffer, *contents = values.buffers()
        offsets = pa.py_buffer(_spread_offsets(np.frombuffer(offset_buffer, np.int32, len(values) + 1), at, len(null)))
        if pa.types.is_list(kind):
            return pa.Array.from_buffers(kind, len(null), [bitmap, offsets], children=[values.values])
        return pa.Array.from_buffers(kind, len(null), [bitmap, offsets, *contents])
    numbers = np.zeros(len(null), str(kind))
    numbers[at] = np.frombuffer(values.buffers()[1], numbers.dtype, len(values))
    return pa.Array.from_buffers(kind, len(null), [bitmap, pa.py_buffer(numbers)])


def _spread_offsets(offsets: NDArray[np.int32], at: Offsets, length: int) -> NDArray[np.int32]:
    """Return offsets by which the positions that are not in `at` are empty."""
    sizes = np.zeros(length + 1, np.int32)
    sizes[at + 1] = offsets[1:] - offsets[:-1]
    return np.cumsum(sizes, dtype=np.int32)
