"""The coverage of one segment file: the part of its partition's log that it holds (`specs.log_columns.FILE`)."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from kip848_records.protocol.segments.record_batch import TRANSACTIONAL
from kip848_records.sources.file_by_key import FileByKey
from kip848_records.sources.file_contents import FileContents
from kip848_records.sources.key_hashes import keys_of, slots_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from kip848_records.protocol.segments.faults import Fault
    from kip848_records.protocol.segments.rows import GroupColumns
    from kip848_records.sources.key_hashes import Keys

_SLOTS: Final = 1 << 18
"""How many hashes of keys are kept, 12 bytes each: so few stay in the processor's cache.

If two keys share a slot, the later one is kept.
"""
_MOST_LOST: Final = 100
"""How many missing ranges behind the first repeated key are listed apart; the last one then includes all others."""
MISSING: Final = "missing_offsets"
"""The reason for a range of `unread` whose offsets are missing behind the file's first repeated key."""


@dataclass(frozen=True)
class SegmentFile:
    """The partition of a file, its base offset, and that of the copy's first file of the partition."""

    partition: int
    base_offset: int
    first_offset: int


class FileCoverage:
    """Collects the coverage of one file from its groups, in order; `by_key`: what it holds by key too."""

    def __init__(self, file: SegmentFile, *, by_key: bool = False) -> None:
        self.file = file
        self.last_offset: int | None = None
        self.first_missing: int | None = None
        self.last_gap_end: int | None = None
        self.unread: list[dict[str, int | str | None]] = []
        self._lost: list[dict[str, int | str | None]] = []
        self.contents = FileContents()
        self.by_key = FileByKey() if by_key else None
        self._repeats = _FirstRepeat()

    def add(self, columns: GroupColumns) -> None:
        """Count the records and markers of the next group, its gaps, and its unreadable batches."""
        behind = 0
        for at, offset, batch in zip(columns.unread_at.tolist(), columns.unread_offsets, columns.unread, strict=True):
            self._end_unread(columns, behind, at)
            self.add_unread(offset, columns.group.errors[batch].fault)
            behind = at
        self._end_unread(columns, behind, len(columns))
        if not len(columns):
            return
        keys = [*keys_of(columns)]
        self._repeats.add(columns, keys)
        gaps, cleaned = np.flatnonzero(columns.gap), 0
        if len(gaps):
            ends = columns.offset[gaps]
            starts = columns.offset[gaps - 1] + 1
            if gaps[0] == 0:
                starts[0] = columns.expected or 0
            cleaned = self._add_gaps(starts, ends)
        behind_gap = int(gaps[cleaned - 1]) if cleaned else None
        self.contents.add(columns, keys, behind=behind_gap)
        if self.by_key is not None:
            self.by_key.add(columns, keys, behind=behind_gap)
        self.last_offset = int(columns.offset[-1])

    def add_unread(self, offset: int, fault: Fault) -> None:
        """Count unreadable bytes that may hold a record of that offset or a higher one."""
        if not self.unread or self.unread[-1]["next_offset"] is not None:
            first = max(offset, self.file.base_offset)
            self.unread.append({"first_offset": first, "next_offset": None, "error_code": fault.value})

    def end_compacted(self, last_offset: int) -> None:
        """Count the offsets that the last batch covers after its last record."""
        first = self.file.base_offset if self.last_offset is None else self.last_offset + 1
        self._add_gaps(np.array([first]), np.array([last_offset + 1]))
        self.last_offset = last_offset
        self.contents.clean()
        if self.by_key is not None:
            self.by_key.clean()

    def row(self) -> dict[str, object]:
        """Return the fields of `specs.log_columns.FILE` that follow from the file's batches."""
        return {
            "base_offset": self.file.base_offset,
            "first_offset": self.file.first_offset,
            "last_offset": self.last_offset,
            "has_gap": self.last_gap_end is not None,
            "first_missing_offset": self.first_missing,
            "last_gap_end": self.last_gap_end,
            "first_repeated_offset": self._repeats.first,
            "unread": sorted([*self.unread, *self._lost], key=itemgetter("first_offset")),
            "contents": self.contents.row(),
        }

    def _add_gaps(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> int:
        """Note gaps, and return how many of them the cleaner made.

        Those after the first repeated key are losses, because the cleaner has never been there.
        """
        repeated = self._repeats.first
        compacted = len(ends) if repeated is None else int(np.searchsorted(ends, repeated, side="right"))
        if compacted:
            self.first_missing = int(starts[0]) if self.first_missing is None else self.first_missing
            self.last_gap_end = int(ends[compacted - 1])
        for start, end in zip(starts[compacted:].tolist(), ends[compacted:].tolist(), strict=True):
            if len(self._lost) < _MOST_LOST:
                self._lost.append({"first_offset": start, "next_offset": end, "error_code": MISSING})
            else:
                self._lost[-1]["next_offset"] = end
        return compacted

    def _end_unread(self, columns: GroupColumns, index: int, until: int) -> None:
        """Note the record at `index` as the first one after unreadable bytes, if it is before `until`."""
        if index < until and self.unread and self.unread[-1]["next_offset"] is None:
            self.unread[-1]["next_offset"] = int(columns.offset[index])


class _FirstRepeat:
    """Looks for the second of two records of one key, both outside transactions.

    If the cleaner had ever reached the second of two records of one key, the first would be gone (Kafka's `Cleaner`).
    So nothing from there on was cleaned. Other rules apply to transactional records. Keys are compared by hashes of 64
    bits. A file with more keys than `_SLOTS` loses some of them: then the first repeated key that is
    found may be a later one.
    """

    def __init__(self) -> None:
        self.first: int | None = None
        self._hashes: NDArray[np.uint64] | None = None
        self._indexes: NDArray[np.int32] | None = None

    def add(self, columns: GroupColumns, keys: Iterable[Keys]) -> None:
        """Search a group. `keys`: those of its records."""
        if self.first is not None:
            return
        is_plain = ~columns.group.headers.has(TRANSACTIONAL)
        for rows, hashes in keys:
            is_searched = is_plain[columns.group.records.batch[rows]]
            found = self._find(hashes[is_searched])
            if found is not None:
                self.first = int(columns.offset[rows[is_searched][found]])
                self._hashes = self._indexes = None
                return

    def _find(self, keys: NDArray[np.uint64]) -> int | None:
        """Return the index of the first hash that repeats an earlier one; add all of them."""
        if self._hashes is None or self._indexes is None:
            self._hashes, self._indexes = np.zeros(_SLOTS, np.uint64), np.zeros(_SLOTS, np.int32)
        slots = slots_of(keys, _SLOTS)
        indexes = np.arange(len(keys), dtype=np.int32)
        # The last assignment to a slot counts: in reverse, that of its first key.
        self._indexes[slots[::-1]] = indexes[::-1]
        first = self._indexes[slots]
        is_repeated = (self._hashes[slots] == keys) | ((first < indexes) & (keys[first] == keys))
        if is_repeated.any():
            return int(is_repeated.argmax())
        self._hashes[slots] = keys
        return None
