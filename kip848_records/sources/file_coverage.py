"""The coverage of one segment file: the part of its partition's log that it holds (`sources.log.FILE_SCHEMA`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kip848_records.protocol.segments.record_batch import TRANSACTIONAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.protocol.segments.faults import Fault
    from kip848_records.protocol.segments.rows import GroupColumns

_MOST_KEYS: Final = 1_000_000
"""How many keys of a file are compared, at some 70 bytes each: a cleaned file has each key once."""
_KEYS_AT_ONCE: Final = 1_024


@dataclass(frozen=True)
class SegmentFile:
    """The partition of a file, its base offset, and that of the copy's first file of the partition."""

    partition: int
    base_offset: int
    first_offset: int


class FileCoverage:
    """Collects the coverage of one file from its groups, in order."""

    def __init__(self, file: SegmentFile) -> None:
        self.file = file
        self.last_offset: int | None = None
        self.last_gap_end: int | None = None
        self.unread: list[dict[str, int | str | None]] = []
        self._repeats = _FirstRepeat()

    def add(self, columns: GroupColumns) -> None:
        """Count the records and markers of the next group, and its unreadable batches."""
        behind = 0
        for at, offset, batch in zip(columns.unread_at.tolist(), columns.unread_offsets, columns.unread, strict=True):
            self._end_unread(columns, behind, at)
            self.add_unread(offset, columns.group.errors[batch].fault)
            behind = at
        self._end_unread(columns, behind, len(columns))
        if not len(columns):
            return
        self.last_offset = int(columns.offset[-1])
        gaps = np.flatnonzero(columns.gap)
        if len(gaps):
            self.last_gap_end = int(columns.offset[gaps[-1]])
        self._repeats.add(columns, behind_gap=int(gaps[-1]) if len(gaps) else None)

    def add_unread(self, offset: int, fault: Fault) -> None:
        """Count unreadable bytes that may hold a record of that offset or a higher one."""
        if not self.unread or self.unread[-1]["next_offset"] is not None:
            first = max(offset, self.file.base_offset)
            self.unread.append({"first_offset": first, "next_offset": None, "error_code": fault.value})

    def end_compacted(self, last_offset: int) -> None:
        """Count the offsets that the last batch covers after its last record."""
        self.last_offset = last_offset
        self.last_gap_end = last_offset + 1
        self._repeats.first = None

    def row(self) -> dict[str, object]:
        """Return the fields of `FILE_SCHEMA` that follow from the file's batches."""
        return {
            "base_offset": self.file.base_offset,
            "first_offset": self.file.first_offset,
            "last_offset": self.last_offset,
            "has_gap": self.last_gap_end is not None,
            "last_gap_end": self.last_gap_end,
            "first_repeated_offset": self._repeats.first,
            "unread": self.unread,
        }

    def _end_unread(self, columns: GroupColumns, index: int, until: int) -> None:
        """Note the record at `index` as the first one after unreadable bytes, if it is before `until`."""
        if index < until and self.unread and self.unread[-1]["next_offset"] is None:
            self.unread[-1]["next_offset"] = int(columns.offset[index])


class _FirstRepeat:
    """Looks for the second of two records of one key, both after the file's last gap and outside transactions.

    If the cleaner had ever reached the second of two records of one key, the first would be gone (Kafka's `Cleaner`).
    So nothing from there on was cleaned. Other rules apply to transactional records.
    """

    def __init__(self) -> None:
        self.first: int | None = None
        self._seen: set[int] = set()

    def add(self, columns: GroupColumns, behind_gap: int | None) -> None:
        """Search a group; `behind_gap` is the index of the first record after its last gap, if it has one."""
        if behind_gap is not None:
            self.first = None
            self._seen.clear()
        if self.first is not None:
            return
        records, transactional = columns.group.records, columns.group.headers.has(TRANSACTIONAL)
        is_plain = ~columns.is_control & ~transactional[records.batch] & (records.key_size >= 0)
        plain = np.flatnonzero(is_plain)
        plain = plain[plain >= (behind_gap or 0)]
        for start in range(0, len(plain), _KEYS_AT_ONCE):
            self.first = self._find(columns, plain[start : start + _KEYS_AT_ONCE])
            if self.first is not None or len(self._seen) >= _MOST_KEYS:
                return

    def _find(self, columns: GroupColumns, chosen: NDArray[np.int64]) -> int | None:
        records, buffer, seen = columns.group.records, columns.group.buffer, self._seen
        starts = records.key_start[chosen]
        ends = starts + records.key_size[chosen]
        for index, start, end in zip(chosen.tolist(), starts.tolist(), ends.tolist(), strict=True):
            key = hash(buffer[start:end])
            if key in seen:
                seen.clear()
                return int(columns.offset[index])
            if len(seen) < _MOST_KEYS:
                seen.add(key)
        return None
