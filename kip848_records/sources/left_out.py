"""Offset commits of a segment file that nobody asked for: left out before they become rows, and counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.protocol.segments.rows import KEY_TYPE_SIZE, UNKNOWN_CONTROL
from kip848_records.protocol.segments.transactions import OUTCOMES
from kip848_records.sources.log import LEFT_OUT
from kip848_records.times import FIRST_MS, can_be_shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.protocol.segments.rows import GroupColumns

_COUNT_BYTES: Final = 8


class LeftOut:
    """Leaves out the offset commits of a file, and the markers of the transactions that only they are written in."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, str]] = Counter()
        self._newest_ms = FIRST_MS
        self._last_offset = -1

    def choose(self, columns: GroupColumns) -> NDArray[np.bool_]:
        """Return which records and markers are to become rows, and count the offset commits that are not.

        Those whose time nobody can show are to be seen as errors.
        """
        is_shown = can_be_shown(columns.timestamp)
        types = np.where(columns.is_control, -1, columns.group.key_types())
        is_commit = is_shown & np.isin(types, OFFSET_COMMIT_TYPES)
        is_left_out = is_commit
        if columns.is_control.any():
            is_left_out = is_commit | (
                is_shown & columns.is_control & (columns.group.control_types() != UNKNOWN_CONTROL)
            )
        if len(commits := np.flatnonzero(is_commit)):
            self._count(types[commits], columns.outcome[commits])
            self._newest_ms = max(self._newest_ms, int(columns.timestamp[commits].max()))
            self._last_offset = int(columns.offset[commits[-1]])
        return ~is_left_out

    def _count(self, types: NDArray[np.int64], outcomes: NDArray[np.int8]) -> None:
        for key_type in OFFSET_COMMIT_TYPES:
            counts = np.bincount(outcomes[types == key_type], minlength=len(OUTCOMES)).tolist()
            self._counts.update({(key_type, name): n for name, n in zip(OUTCOMES, counts, strict=True) if n})

    def rows(self) -> list[dict[str, Any]]:
        """Return a control row for each type and outcome of what was left out, by columns (`SEGMENT_SCHEMA`)."""
        return [
            {
                "key": key_type.to_bytes(KEY_TYPE_SIZE, "big"),
                "value": count.to_bytes(_COUNT_BYTES, "big"),
                "offset": self._last_offset,
                "timestamp": self._newest_ms,
                "transaction": transaction,
                "compaction_gap": False,
                "control": LEFT_OUT,
            }
            for (key_type, transaction), count in sorted(self._counts.items())
        ]
