"""The content of a segment file by key (`specs.log_columns.BY_KEY`), and its transactions without a marker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kip848_records.protocol.keys import key_columns
from kip848_records.protocol.segments.record_batch import TRANSACTIONAL
from kip848_records.protocol.segments.transactions import ABORTED, PENDING
from kip848_records.sources.key_contents import KeyContents, KeyedRecords, Slices, by_key, slices_of
from kip848_records.specs.log_columns import OPEN
from kip848_records.times import MICROS_PER_MS, NO_TIMESTAMP_MS, can_be_shown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

    from kip848_records.protocol.segments.record_fields import RecordFields
    from kip848_records.protocol.segments.rows import GroupColumns
    from kip848_records.sources.key_hashes import Keys

_GROUPS_NAMED: Final = 20


class FileByKey:
    """Counts the records of one file by key, from its groups, in order."""

    def __init__(self) -> None:
        self._keys = KeyContents()
        self._open: dict[int, dict[str, Any]] = {}
        self._ended: set[int] = set()

    def add(self, columns: GroupColumns, keys: Iterable[Keys], *, behind: int | None) -> None:
        """Count a group's records; the arguments are those of `FileContents.add`."""
        has_transactions = bool(columns.group.headers.has(TRANSACTIONAL).any())
        every = _every(columns, columns.outcome == ABORTED if has_transactions else None)
        for rows, hashes in keys:
            at = len(rows) if behind is None else int(np.searchsorted(rows, behind))
            self._keys.add(every.of(rows[:at], hashes[:at]))
            if at < len(rows) and behind is not None:
                self.clean()
                behind = None
                self._keys.add(every.of(rows[at:], hashes[at:]))
        if behind is not None:
            self.clean()
        if has_transactions:
            self._add_transactions(columns)

    def clean(self) -> None:
        """Count anew what is behind a gap that the cleaner made."""
        self._keys.clean()

    def array(self) -> pa.Array:
        """Return the column `by_key` of the file's row."""
        opened = sorted(self._open.values(), key=lambda each: each["first_offset"])
        rows = [{**each, "group_ids": sorted(each["group_ids"])} for each in opened]
        return by_key({**self._keys.rows(), "open": pa.array(rows, OPEN), "ended": pa.array(sorted(self._ended))})

    def _add_transactions(self, columns: GroupColumns) -> None:
        producers = columns.group.headers.producer_id[columns.group.records.batch]
        self._ended.update(np.unique(producers[columns.is_control]).tolist())
        rows = np.flatnonzero((columns.outcome == PENDING) & ~columns.is_control)
        rows = rows[np.argsort(producers[rows], kind="stable")]
        for theirs in np.split(rows, np.flatnonzero(np.diff(producers[rows])) + 1) if len(rows) else ():
            self._note_open(int(producers[theirs[0]]), columns, theirs)

    def _note_open(self, producer: int, columns: GroupColumns, rows: NDArray[np.int64]) -> None:
        """Note records that have no marker up to the end of the file: they are of one transaction of the producer."""
        records, first = columns.group.records, int(rows[0])
        millis = columns.timestamp[first]
        is_timed = bool(can_be_shown(millis)) and millis != NO_TIMESTAMP_MS
        epoch = int(columns.group.headers.producer_epoch[records.batch[first]])
        found = self._open.setdefault(
            producer,
            {
                "producer_id": producer,
                "producer_epoch": epoch,
                "first_offset": int(columns.offset[first]),
                "first_at": int(millis) * MICROS_PER_MS if is_timed else None,
                "records": 0,
                "group_ids": set(),
            },
        )
        found["last_offset"] = int(columns.offset[rows[-1]])
        found["records"] += len(rows)
        keyed = rows[records.key_size[rows] > 0]
        if len(found["group_ids"]) < _GROUPS_NAMED and len(keyed):
            keys = Slices(columns.group.buffer, records.key_start, records.key_size).of(keyed)
            named = key_columns(slices_of(keys))[1].unique().to_pylist()
            found["group_ids"] |= {each for each in named[:_GROUPS_NAMED] if each is not None}


def _every(columns: GroupColumns, is_aborted: NDArray[np.bool_] | None) -> KeyedRecords:
    """Return the records of a group, without the hashes of their keys."""
    group, records = columns.group, columns.group.records
    # A batch belongs to its records by their sizes, with its header: those of its other parts too.
    total = np.maximum(np.bincount(group.every.batch, _sizes(group.every), len(group.headers)), 1)
    return KeyedRecords(
        hashes=np.empty(0, np.uint64),
        keys=Slices(group.buffer, records.key_start, records.key_size),
        values=Slices(group.buffer, records.value_start, records.value_size),
        offset=columns.offset,
        millis=columns.timestamp,
        share=_sizes(records) * (group.headers.size / total)[records.batch],
        is_aborted=is_aborted,
    )


def _sizes(records: RecordFields) -> NDArray[np.int64]:
    return records.key_size + np.maximum(records.value_size, 0)
