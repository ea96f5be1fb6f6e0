"""Reads the fields of payloads that clients write into assignments, one after the other."""

from __future__ import annotations

import struct
from typing import Final

_UTF16: Final = 2


class PayloadReader:
    """Reads big-endian fields of some bytes; raises ValueError beyond the end, and for text that is not UTF-8."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def is_at_end(self) -> bool:
        """Whether all bytes were read."""
        return self._position == len(self._data)

    def end(self) -> None:
        """Raise ValueError if bytes are left."""
        if not self.is_at_end:
            raise ValueError(f"{len(self._data) - self._position} bytes follow the last field")

    def int16(self) -> int:
        """Return the next int16."""
        return self._number(">h", 2)

    def int32(self) -> int:
        """Return the next int32."""
        return self._number(">i", 4)

    def int64(self) -> int:
        """Return the next int64."""
        return self._number(">q", 8)

    def count(self, smallest: int) -> int:
        """Return the next int32, the number of elements of at least so many bytes each: those that follow bound it."""
        count = self.int32()
        if not 0 <= count * smallest <= len(self._data) - self._position:
            raise ValueError(f"the bytes cannot have the {count:,} elements announced at byte {self._position - 4}")
        return count

    def text(self) -> str:
        """Return the next string: its length in bytes is an int16, negative for none."""
        size = self.int16()
        return "" if size < 0 else self._take(size).decode()

    def utf16(self) -> str:
        """Return the next string: its length in chars of two bytes is an int32."""
        return self._take(self.count(_UTF16) * _UTF16).decode("utf-16-be")

    def skip(self, size: int) -> None:
        """Pass over so many bytes."""
        self._take(size)

    def skip_text(self) -> None:
        """Pass over a string whose length in bytes is an uint16."""
        self._take(self._number(">H", 2))

    def _number(self, form: str, size: int) -> int:
        number: int = struct.unpack(form, self._take(size))[0]
        return number

    def _take(self, size: int) -> bytes:
        taken = self._data[self._position : self._position + size]
        if len(taken) < size:
            raise ValueError(f"the bytes end within a field at byte {self._position}")
        self._position += size
        return taken
