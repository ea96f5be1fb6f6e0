"""Arrow batches of raw log rows -> the records of each group, decoded, in offset order."""

from __future__ import annotations

from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kip848_records.kinds import ROLES, Role
from kip848_records.protocol.columnar import Error
from kip848_records.protocol.decoder import decode_records, join_batches
from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages import DIALECTS, KAFKA, RECORDS
from kip848_records.replay.decode.columns import Columns, gather, texts
from kip848_records.replay.decode.grouped_rows import LogRows, parts
from kip848_records.replay.decode.impossible import refused_values
from kip848_records.replay.decode.undecoded import NO_TYPE, key_types, undecoded_rows
from kip848_records.replay.decode.values import assigned_members
from kip848_records.replay.dispatch import value_checks, value_readers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from kip848_records.protocol.decoder import RecordGroup
    from kip848_records.replay.decode.latest import RawRecord
    from kip848_records.replay.numbers import PartitionNumbers
    from kip848_records.replay.records import Record
    from kip848_records.replay.refusals import Refusal

    Ints = NDArray[np.int64]

_TARGET_ASSIGNMENT: Final = "consumer_group_target_assignment"
_KAFKA_TYPES: Final[Mapping[str, int]] = {record.table: key_type for key_type, record in RECORDS.items()} | {
    _TARGET_ASSIGNMENT: KeyType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA
}
"""Record table -> its key type in Kafka's own dialect. Early dialects give some records other types."""


class GroupRecords(NamedTuple):
    """Consecutive records of one group in offset order: all of them, or those of one batch.

    `latest` has, by key, the last raw record of each key among them: None for a tombstone, or if it was lost.
    """

    partition: int
    group_id: str
    records: list[Record]
    latest: list[tuple[bytes, RawRecord | None]]


class DecodedRows(NamedTuple):
    """Log rows that were decoded together.

    `groups`: the records of groups, in the order of the rows. `others`: batches of `Quarantine` and `UnknownRecord`.
    `key_types`: those of the records, as in `Record`.
    """

    groups: list[GroupRecords]
    others: list[tuple[type[Any], pa.RecordBatch]]
    key_types: frozenset[int]


class RecordReader:
    """Decodes log rows of one dialect; `numbers` assigns numbers to topic partitions."""

    def __init__(self, dialect: str, numbers: PartitionNumbers) -> None:
        self.dialect = DIALECTS[dialect]
        self.numbers = numbers

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[DecodedRows]:
        """Yield log rows (`specs.log_columns.LOG_COLUMNS`) decoded, some megabytes at a time.

        Raises ValueError if a key decodes, but its row has no `group_id`.
        """
        for batch in join_batches(batches):
            for part in parts(batch):
                yield self._decode(LogRows(part))

    def _decode(self, rows: LogRows) -> DecodedRows:
        readable, unreadable = np.flatnonzero(rows.is_readable), np.flatnonzero(~rows.is_readable)
        whole = rows.batch if not len(unreadable) else rows.batch.take(pa.array(readable))
        decoded = decode_records(whole["key"], whole["value"], self.dialect)
        failed = readable[decoded.errors != Error.NONE]
        with_rows = [self._records(rows, group, readable[group.rows]) for group in decoded.groups]
        with_rows.append(self._lost(rows, np.concatenate([unreadable, failed])))
        tables = {group.record.table for group in decoded.groups}
        return DecodedRows(
            _groups(rows, with_rows),
            list(undecoded_rows(rows.batch, unreadable, readable, decoded)),
            frozenset(_KAFKA_TYPES[table] for table in tables if table in _KAFKA_TYPES),
        )

    def _records(self, rows: LogRows, group: RecordGroup, at: Ints) -> tuple[Iterable[Record], Ints]:
        """Return the records of one type and layout, and the row of each."""
        if not rows.is_placed[at].all():
            raise ValueError("a record has a group id in its key and none in its column")
        key_type = _KAFKA_TYPES.get(group.record.table, NO_TYPE)
        if key_type not in ROLES:
            return [], at[:0]
        kind, role = ROLES[key_type]
        columns = Columns(group, self.numbers)
        key = dict(zip(group.key.type.names, group.key.flatten(), strict=True))
        member_ids, expressions = (
            texts(key[name]) if name in key else repeat(None, len(at)) for name in ("member_id", "regular_expression")
        )
        is_tombstone = group.layout is None
        values: Iterable[Any] = repeat(None, len(at))
        refusals: Iterable[Refusal | None] = repeat(None, len(at))
        if not is_tombstone:
            if self.dialect is KAFKA:
                refusals = refused_values(value_checks(kind).get(role, ()), columns)
            values = _values(kind, role, columns)
        records = rows.records(at, kind, role, key_type, member_ids, values, expressions, refusals)
        if is_tombstone or group.record.table != _TARGET_ASSIGNMENT:
            return records, at
        split = [
            [*_targets(record, members), record]
            for record, members in zip(records, assigned_members(columns), strict=True)
        ]
        return chain.from_iterable(split), np.repeat(at, [len(part) for part in split])

    def _lost(self, rows: LogRows, at: Ints) -> tuple[list[Record], Ints]:
        """Return the lost rows as records of group state, and the row of each."""
        records: list[Record] = []
        places: list[int] = []
        for row, key_type in zip(at.tolist(), key_types(rows.batch["key"].take(pa.array(at))).tolist(), strict=True):
            kafka_type = _KAFKA_TYPES[self.dialect.by_type[key_type][0].table] if key_type in RECORDS else NO_TYPE
            if kafka_type in ROLES and rows.is_placed[row]:
                kind, _ = ROLES[kafka_type]
                records += rows.records(np.array([row]), kind, Role.LOST, kafka_type, [None], [None], [None], [None])
                places.append(row)
        return records, np.array(places, np.int64)


def _values(kind: str, role: Role, columns: Columns) -> Iterable[Any]:
    """Return the values of the records of one type and layout, in the form that `records` has for the role."""
    return repeat(True, columns.rows) if role == Role.OTHER else value_readers(kind)[role](columns)  # noqa: FBT003 - the value


def _targets(record: Record, members: Iterable[tuple[str, frozenset[int]]]) -> Iterator[Record]:
    """Yield the members' targets in an assignment of the draft dialect as separate records."""
    key_type = KeyType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER
    kind, role = ROLES[key_type]
    for member_id, target in members:
        yield record._replace(kind=kind, role=role, key_type=key_type, member_id=member_id, value=target, size=0)


def _groups(rows: LogRows, with_rows: list[tuple[Iterable[Record], Ints]]) -> list[GroupRecords]:
    """Sort records by their rows (`found` has both), and return them by group."""
    records = list(chain.from_iterable(some for some, _ in with_rows))
    places = np.concatenate([at for _, at in with_rows])
    order = np.argsort(places, kind="stable")
    in_order = gather(records, order)
    bounds = pairwise(np.searchsorted(places[order], rows.starts).tolist())
    return [
        GroupRecords(partition, group_id, in_order[first:end], latest)
        for (partition, group_id), (first, end), latest in zip(rows.groups(), bounds, rows.latest(), strict=True)
        if partition is not None and group_id is not None
    ]
