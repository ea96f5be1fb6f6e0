"""What the rows of one segment file cover of their partition's log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


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

    def add(self, rows: pa.RecordBatch) -> None:
        """Count the rows that follow: their `offset`, `compaction_gap`, `control` and `error`."""
        if not rows.num_rows:
            return
        offsets = rows["offset"].to_numpy()
        unread = rows["error"].is_valid().to_numpy(zero_copy_only=False)
        behind_unread = np.concatenate([[self.behind_unread], unread[:-1]])
        gaps = rows["compaction_gap"].to_numpy(zero_copy_only=False).astype(bool) | behind_unread
        if len(found := offsets[gaps & ~unread]):
            self.gap_end = int(found[-1])
        if len(good := offsets[~unread]):
            self.last_offset = int(good[-1])
        if rows["control"][-1].as_py() == "compacted":  # it stands on the last offset that is missing
            self.gap_end = int(offsets[-1]) + 1
        self.behind_unread = bool(unread[-1])

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
