"""Chooses the records of a segment file that are only counted, and do not become rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.protocol.segments.rows import UNKNOWN_CONTROL
from kip848_records.protocol.segments.transactions import ABORTED, OUTCOMES
from kip848_records.times import NO_TIMESTAMP_MS, can_be_shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.protocol.segments.rows import GroupColumns


class RecordFilter:
    """Skips the offset commits of a file, with the markers of their transactions, or only aborted records."""

    def __init__(self, *, offset_commits: bool, aborted: bool) -> None:
        """Keep offset commits and markers, or not; of the kept ones, keep aborted records, or not."""
        self._offset_commits = offset_commits
        self._aborted = aborted
        self._counts: Counter[tuple[int, str]] = Counter()
        self._newest_ms: int | None = None

    def choose(self, columns: GroupColumns) -> NDArray[np.bool_] | None:
        """Return which records and markers become rows, None for all, and count the other records.

        Records with a time that cannot be represented become rows, because they are errors.
        """
        if self._offset_commits and self._aborted:
            return None
        is_shown = can_be_shown(columns.timestamp)
        is_skipped = is_shown & ~columns.is_control
        types = columns.group.key_types()
        if self._offset_commits:
            is_skipped &= columns.outcome == ABORTED
        else:
            is_skipped &= np.isin(types, OFFSET_COMMIT_TYPES)
        if len(skipped := np.flatnonzero(is_skipped)):
            self._count(types[skipped], columns.outcome[skipped])
            self._note_times(columns.timestamp[skipped])
        if not self._offset_commits:
            control = np.flatnonzero(columns.is_control & is_shown)
            types = columns.group.control_types(columns.group.records[control])
            is_skipped[control] = types != UNKNOWN_CONTROL
        return np.asarray(~is_skipped)

    def row(self) -> dict[str, Any]:
        """Return the fields of `specs.log_columns.FILE` about skipped records; the time is in ms."""
        return {
            "skipped": [
                {"key_type": _signed(key_type), "transaction": transaction, "count": count}
                for (key_type, transaction), count in sorted(self._counts.items())
            ],
            "newest_skipped": self._newest_ms,
        }

    def _note_times(self, millis: NDArray[np.int64]) -> None:
        timed = millis[millis != NO_TIMESTAMP_MS]
        if len(timed):
            newest = int(timed.max())
            self._newest_ms = newest if self._newest_ms is None else max(self._newest_ms, newest)

    def _count(self, types: NDArray[np.int64], outcomes: NDArray[np.int8]) -> None:
        # Few pairs of a type and an outcome are counted, not every record; there are types from -1 on.
        counts = np.bincount((types + 1) * len(OUTCOMES) + outcomes)
        for pair in np.flatnonzero(counts).tolist():
            self._counts[pair // len(OUTCOMES) - 1, OUTCOMES[pair % len(OUTCOMES)]] += int(counts[pair])


def _signed(key_type: int) -> int | None:
    """Return the int16 of an unsigned record type; -1 means none."""
    return None if key_type < 0 else (key_type ^ 0x8000) - 0x8000
