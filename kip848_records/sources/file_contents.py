"""The content of a segment file, and of the part of it that the cleaner has not been to (`specs.log_columns.CONTENTS`).

The records are counted while the file is read, whatever their type: none of them becomes a row for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kip848_records.sources.key_hashes import slots_of
from kip848_records.specs.log_columns import KEYS_KEPT
from kip848_records.times import MICROS_PER_MS, NO_TIMESTAMP_MS, can_be_shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from kip848_records.protocol.segments.rows import GroupColumns
    from kip848_records.sources.key_hashes import Keys

_SLOTS: Final = 1 << 15
_ONE: Final = np.uint64(1)
_NOWHERE: Final = -1


class _Part(NamedTuple):
    """A part of a file: its records, their bytes on the disk, the oldest and the newest time in ms."""

    records: int = 0
    bytes: int = 0
    oldest: int | None = None
    newest: int | None = None

    def __add__(self, other: _Part) -> _Part:  # type: ignore[override]
        """Return both parts as one."""
        oldest = [each for each in (self.oldest, other.oldest) if each is not None]
        newest = [each for each in (self.newest, other.newest) if each is not None]
        return _Part(
            self.records + other.records,
            self.bytes + other.bytes,
            min(oldest, default=None),
            max(newest, default=None),
        )

    def fields(self) -> dict[str, int | None]:
        """Return the numbers as fields of `CONTENTS`, whose times are in µs."""
        times = {name: at and at * MICROS_PER_MS for name, at in (("oldest", self.oldest), ("newest", self.newest))}
        return {"records": self.records, "bytes": self.bytes, **times}


def _part(columns: GroupColumns, begin: int, counted_to: int) -> _Part:
    """Return the records of a group from an index on, with the bytes of their batches, but for one that was counted.

    `counted_to`: the position of the last batch whose bytes were counted: a large one is in several groups.
    """
    if begin >= len(columns):
        return _Part()
    is_record, millis = ~columns.is_control[begin:], columns.timestamp[begin:]
    if not is_record.all() or not _has_times(millis):
        millis = millis[is_record & (millis != NO_TIMESTAMP_MS) & can_be_shown(millis)]
    times = (int(millis.min()), int(millis.max())) if len(millis) else (None, None)
    headers = columns.group.headers
    is_theirs = np.zeros(len(headers), np.bool_)
    is_theirs[columns.group.records.batch[begin:][is_record]] = True
    is_theirs &= headers.position > counted_to
    return _Part(int(np.count_nonzero(is_record)), int(headers.size[is_theirs].sum()), *times)


def _has_times(millis: NDArray[np.int64]) -> bool:
    """Return whether all of some times can be shown: the lowest and the highest one show it."""
    bounds = np.array([millis.min(), millis.max()])
    return bool(can_be_shown(bounds).all()) and int(bounds[0]) > NO_TIMESTAMP_MS


class FileContents:
    """Counts the records of one file from its groups, in order, in all and behind the last gap of the cleaner."""

    def __init__(self) -> None:
        self._all, self._dirty = _Part(), _Part()
        self._keys = _Keys()
        self._counted_to = _NOWHERE
        self._largest = 0
        self._largest_offset: int | None = None

    def add(self, columns: GroupColumns, keys: Iterable[Keys], *, behind: int | None) -> None:
        """Count a group's records. `keys`: of all of them. `behind`: the index of the one before which was a gap."""
        found = _part(columns, 0, self._counted_to)
        self._all += found
        if behind is not None:
            self.clean()
        self._dirty += found if behind is None else _part(columns, behind, _NOWHERE)
        self._counted_to = int(columns.group.headers.position[columns.group.records.batch[-1]])
        self._keys.add(keys, behind or 0)
        sizes = columns.group.headers.size
        if len(sizes) and int(sizes.max()) > self._largest:
            at = int(sizes.argmax())
            self._largest, self._largest_offset = int(sizes[at]), int(columns.group.headers.base_offset[at])

    def clean(self) -> None:
        """Forget what is before a gap that the cleaner made."""
        self._dirty, self._keys = _Part(), _Keys()

    def row(self) -> dict[str, object]:
        """Return the fields of `CONTENTS`."""
        dirty = {f"dirty_{name}": value for name, value in self._dirty.fields().items()}
        largest = {"largest_bytes": self._largest or None, "largest_offset": self._largest_offset}
        return {**self._all.fields(), **dirty, **largest, "dirty_keys": self._keys.smallest.tolist()}


class _Keys:
    """The smallest hashes of the distinct keys, of 63 bits: all of them if there are fewer than `KEYS_KEPT`."""

    def __init__(self) -> None:
        self.smallest = np.empty(0, np.int64)
        self._seen: NDArray[np.uint64] | None = None

    def add(self, keys: Iterable[Keys], begin: int) -> None:
        """Add the keys of a group's records from an index on."""
        for rows, hashes in keys:
            self._add(hashes[np.searchsorted(rows, begin) :])

    def _add(self, hashes: NDArray[np.uint64]) -> None:
        if self._seen is None:
            self._seen = np.zeros(_SLOTS, np.uint64)
        # Most records repeat a key: a hash that was seen costs one look.
        slots = slots_of(hashes, _SLOTS)
        is_new = self._seen[slots] != hashes
        if not is_new.any():
            return
        new = hashes[is_new]
        self._seen[slots[is_new]] = new
        found = (new >> _ONE).astype(np.int64)
        if len(self.smallest) == KEYS_KEPT:
            found = found[found < self.smallest[-1]]
        # Keys that share a slot are seen again and again.
        places = np.minimum(np.searchsorted(self.smallest, found), max(0, len(self.smallest) - 1))
        if len(self.smallest):
            found = found[self.smallest[places] != found]
        if len(found):
            self.smallest = np.unique(np.concatenate([self.smallest, found]))[:KEYS_KEPT]
