"""Rows that wait in queues: in memory while they are few, then in a local file.

The files contain plain Python values (`marshal`), are read by the process that wrote them, and have no name.
"""

from __future__ import annotations

import marshal
import os
from array import array
from bisect import bisect_left
from contextlib import suppress
from heapq import merge
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LIMIT: Final = 20_000
"""How many rows of the queues of one file stay in memory."""
_HEADER: Final = 16
_NONE: Final = -1


class QueueFile:
    """The file of some `SpillingQueue`s. `count`: their rows in memory; `is_full`: so many that they must be spilled.

    A block in the file is a list of rows after 16 bytes: the position of the queue's next block, and this block's
    length.
    """

    def __init__(self) -> None:
        self.count = 0
        self.is_full = False
        self._opened: IO[bytes] | None = None

    def spill(self, queues: Iterable[SpillingQueue | None]) -> None:
        """Write the rows of all queues to the file."""
        for queue in queues:
            if queue is not None:
                queue.write()
        self.count = 0
        self.is_full = False

    def append(self, rows: list[Any], before: int) -> int:
        """Write a block, let the queue's block `before` point to it, and return its position."""
        file = self._file()
        place = file.seek(0, os.SEEK_END)
        content = marshal.dumps(rows)
        file.write(_NONE.to_bytes(8, "little", signed=True) + len(content).to_bytes(8, "little") + content)
        if before != _NONE:
            file.seek(before)
            file.write(place.to_bytes(8, "little", signed=True))
        return place

    def read(self, place: int) -> tuple[list[Any], int]:
        """Return the rows of a block, and the position of the queue's next block."""
        file = self._file()
        file.seek(place)
        header = file.read(_HEADER)
        rows = marshal.loads(file.read(int.from_bytes(header[8:], "little")))  # noqa: S302 - written by this process
        return rows, int.from_bytes(header[:8], "little", signed=True)

    def close(self) -> None:
        """Remove the file."""
        if self._opened is not None:
            self._opened.close()

    def _file(self) -> IO[bytes]:
        if self._opened is None:
            self._opened = _new_file()
        return self._opened


def _new_file() -> IO[bytes]:
    """Return a file in Spark's local folder, if Spark has one: the default folder may be on a small disk."""
    for folder in filter(None, os.environ.get("SPARK_LOCAL_DIRS", "").split(",")):
        with suppress(OSError):
            return TemporaryFile(dir=folder)
    return TemporaryFile()


class SpillingQueue:
    """Rows in the order in which they were appended, the first ones in a file if they are many.

    `rows`: those in memory; `_front`: those of the first block, once it was read. Rows that are taken up to a number
    have it as first field.
    """

    __slots__ = ("_file", "_first_block", "_front", "_last_block", "rows")

    def __init__(self, file: QueueFile) -> None:
        self._file = file
        self._front: list[Any] = []
        self.rows: list[Any] = []
        self._first_block = self._last_block = _NONE

    def __bool__(self) -> bool:
        return bool(self.rows or self._front or self._first_block != _NONE)

    def append(self, row: tuple[Any, ...]) -> None:
        """Append a row."""
        self.rows.append(row)
        file = self._file
        file.count += 1
        if file.count >= LIMIT:
            file.is_full = True

    def first(self) -> tuple[Any, ...]:
        """Return the first row."""
        self._load()
        first: tuple[Any, ...] = (self._front or self.rows)[0]
        return first

    def take(self, up_to: int | None = None) -> Iterable[tuple[Any, ...]]:
        """Remove and return the first rows with numbers up to `up_to` (None: all)."""
        if self._front or self._first_block != _NONE:
            return self._take_from_file(up_to)
        return self._take_from_memory(up_to)

    def write(self) -> None:
        """Write the rows that are in memory to the file."""
        if self.rows:
            self._last_block = self._file.append(self.rows, self._last_block)
            if self._first_block == _NONE:
                self._first_block = self._last_block
            self.rows.clear()

    def _take_from_file(self, up_to: int | None) -> Iterator[tuple[Any, ...]]:
        while self._front or self._first_block != _NONE:
            self._load()
            count = _count(self._front, up_to)
            yield from self._front[:count]
            del self._front[:count]
            if self._front:
                return
        yield from self._take_from_memory(up_to)

    def _take_from_memory(self, up_to: int | None) -> list[tuple[Any, ...]]:
        rows = self.rows
        count = _count(rows, up_to)
        if count == len(rows):
            self.rows = []
            taken = rows
        else:
            taken = rows[:count]
            del rows[:count]
        self._file.count -= count
        return taken

    def _load(self) -> None:
        if not self._front and self._first_block != _NONE:
            self._front, self._first_block = self._file.read(self._first_block)
            if self._first_block == _NONE:
                self._last_block = _NONE


def _count(rows: list[Any], up_to: int | None) -> int:
    if up_to is None or (rows and rows[-1][0] <= up_to):
        return len(rows)
    return next((place for place, row in enumerate(rows) if row[0] > up_to), len(rows))


class IdSet:
    """A set of ids with at most 8 bytes each: after the first `LIMIT`, ids are kept as hashes of 64 bits."""

    __slots__ = ("_ids", "_runs", "count")

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._runs: list[array[int]] = []
        self.count = 0

    def __contains__(self, member_id: object) -> bool:
        if member_id in self._ids:
            return True
        if not self._runs:
            return False
        number = hash(member_id)
        return any((place := bisect_left(run, number)) < len(run) and run[place] == number for run in self._runs)

    def add(self, member_id: str) -> None:
        """Add an id."""
        if member_id in self:
            return
        self._ids.add(member_id)
        self.count += 1
        if len(self._ids) >= LIMIT:
            self._runs.append(array("q", sorted(map(hash, self._ids))))
            self._ids.clear()
            # Runs of similar length are merged, so a million ids have few runs.
            while len(self._runs) > 1 and len(self._runs[-2]) <= 2 * len(self._runs[-1]):
                last = self._runs.pop()
                self._runs[-1] = array("q", merge(self._runs[-1], last))
