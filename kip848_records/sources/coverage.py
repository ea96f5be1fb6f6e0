"""What the rows of one segment file cover of their partition's log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kip848_records.times import can_be_shown

if TYPE_CHECKING:
    from kip848_records.protocol.segments.rows import GroupColumns


@dataclass(frozen=True)
class Place:
    """Where a file stands: its partition, its base offset, and that of the partition's first file."""

    partition: int
    base_offset: int
    first_offset: int


class Coverage:
    """Up to which offset a file covers the log, and where its last gap ends."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.last_offset: int | None = None
        self.gap_end: int | None = None
        self.behind_unread = False

    def add(self, columns: GroupColumns) -> None:
        """Count the records and markers of a group, which follow those counted before."""
        count = len(columns)
        # What nobody can show is no record to go by, as what nobody can read.
        is_read = can_be_shown(columns.timestamp)
        is_behind_gap = columns.gap.copy()
        is_behind_gap[columns.unread_at[columns.unread_at < count]] = True
        is_behind_gap[1:] |= ~is_read[:-1]
        if count:
            is_behind_gap[0] |= self.behind_unread
        if len(read := np.flatnonzero(is_read)):
            self.last_offset = int(columns.offset[read[-1]])
        if len(found := np.flatnonzero(is_behind_gap & is_read)):
            self.gap_end = int(columns.offset[found[-1]])
        self.behind_unread = columns.ends_unread or (not is_read[-1] if count else self.behind_unread)

    def end_compacted(self, last_offset: int) -> None:
        """Count what the last batch covers behind its last record."""
        self.last_offset = last_offset
        self.gap_end = last_offset + 1

    def rows(self) -> list[dict[str, object]]:
        """Return the control rows that say it, by columns; none for a file of which nothing could be read."""
        told = {
            "start": self.place.first_offset,
            "file": self.place.base_offset,
            "gap": self.gap_end,
            "end": self.last_offset,
        }
        return [
            {"offset": offset, "transaction": "none", "compaction_gap": False, "control": control}
            for control, offset in told.items()
            if offset is not None and self.last_offset is not None
        ]
