"""What the decoder can do with a piece of a layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from kip848_records.protocol.columnar.cursors import Cursors


class Node(Protocol):
    """A piece of a layout: one field, or several of fixed size that follow each other."""

    @property
    def smallest(self) -> int:
        """The fewest bytes that a value takes."""
        ...

    @property
    def telling(self) -> int:
        """Where in a value the byte lies by which its size is guessed: the low one of its first length."""
        ...

    def read(self, cursors: Cursors) -> list[pa.Array]:
        """Read at the cursors and move them on; return per field an array of one value per cursor."""
        ...

    def skip(self, cursors: Cursors) -> None:
        """Move past the values: bounds are checked, contents are not."""
        ...

    def skip_one(self, data: bytes, pos: int, end: int) -> int:
        """Return the offset after the value at `pos`; raises `Malformed`. For rows too few to make an array of."""
        ...
