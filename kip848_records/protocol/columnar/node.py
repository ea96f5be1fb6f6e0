"""The interface of the decoder's nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from kip848_records.protocol.columnar.cursors import Cursors


class Node(Protocol):
    """A part of a layout: one field, or several consecutive fields of fixed size."""

    @property
    def smallest(self) -> int:
        """The smallest size of a value, in bytes."""
        ...

    @property
    def size_byte(self) -> int:
        """The position in a value of the byte by which its size is guessed: the low byte of its first length."""
        ...

    def read(self, cursors: Cursors) -> list[pa.Array]:
        """Read at the cursors and move them on; return per field an array of one value per cursor."""
        ...

    def skip(self, cursors: Cursors) -> None:
        """Move past the values: bounds are checked, contents are not."""
        ...

    def skip_one(self, data: bytes, pos: int, end: int) -> int:
        """Return the offset after the value at `pos`; raises `Malformed`. For rows too few for an array."""
        ...
