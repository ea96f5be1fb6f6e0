"""The bytes of a binary column in the form that the decoder needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

PARKING_BYTES = 64
"""How many zeros after the data serve rows that failed."""

_MARGIN_BYTES = 8  # a length is read before the check that it is inside its row
_PADDING = bytes(PARKING_BYTES + _MARGIN_BYTES)


class Encoded:
    """The bytes of a binary column, followed by zeros, with the start and end of each row.

    Takes a `binary` or `large_binary` array, sliced or not; raises ValueError if it holds 2 GiB or more.
    """

    def __init__(self, column: pa.Array) -> None:
        """Copy the column's bytes once, without those outside a slice."""
        wide = pa.types.is_large_binary(column.type)
        _, offset_buffer, data_buffer = column.buffers()
        offsets: NDArray[np.int64] = np.zeros(1, np.int64)
        if len(column):
            raw = np.frombuffer(offset_buffer, np.int64 if wide else np.int32)
            offsets = raw[column.offset : column.offset + len(column) + 1].astype(np.int64)
        first, self.size = int(offsets[0]), int(offsets[-1] - offsets[0])
        if self.size > np.iinfo(np.int32).max - len(_PADDING):
            message = f"a batch holds {self.size} bytes, more than Arrow's 32-bit offsets can address"
            raise ValueError(message)
        rows = memoryview(data_buffer)[first : first + self.size] if self.size else b""
        self.bytes = b"".join((rows, _PADDING))
        self.data = np.frombuffer(self.bytes, np.uint8)
        self.starts = offsets[:-1] - first
        self.ends = offsets[1:] - first
        self.longest = int((self.ends - self.starts).max(initial=0))
        self.buffer = pa.py_buffer(self.bytes)
        self._views: dict[str, NDArray[Any]] = {}

    def view(self, wire: str) -> NDArray[Any]:
        """Return the values of dtype `wire` at every byte offset: unaligned, overlapping, without a copy."""
        if wire not in self._views:
            dtype = np.dtype(wire)
            self._views[wire] = np.ndarray((len(self.data) - dtype.itemsize + 1,), dtype, self.data, strides=(1,))
        return self._views[wire]
