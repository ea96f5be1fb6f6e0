"""Decodes the keys and values of log rows to typed records, by type, version and layout.

The rows of a batch are sorted by record type, then every type and value version is decoded as columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar import Decoded, Encoded, Error, decode_spans
from kip848_records.protocol.messages import KAFKA, Dialect, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from kip848_records.protocol.schema import Layout

    Indices = NDArray[np.int64]

_TYPE_BYTES = 2
_VERSION_BYTES = 2

_JOINED_ROWS = 50_000
_JOINED_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class _Order:
    """The order in which the rows of a batch are decoded: by record type, and so by key layout.

    A rank is a position in `records`; unknown types and rows without a type have the next two ranks.
    """

    dialect: Dialect

    @cached_property
    def records(self) -> list[Record]:
        usual = (records[0] for records in self.dialect.by_type.values())
        return sorted(usual, key=lambda record: (id(record.key_layout), record.key_type))

    @property
    def unknown(self) -> int:
        return len(self.records)

    @property
    def no_type(self) -> int:
        return self.unknown + 1

    @cached_property
    def rank_of_type(self) -> NDArray[np.int8]:
        ranks = np.full(1 << 16, self.unknown, np.int8)
        for rank, record in enumerate(self.records):
            ranks[record.key_type] = rank
        return ranks

    def ranks(self, key: Encoded) -> NDArray[np.int8]:
        ranks = np.full(len(key.starts), self.no_type, np.int8)
        typed = key.ends - key.starts >= _TYPE_BYTES
        ranks[typed] = self.rank_of_type[key.view(">u2")[key.starts[typed]]]
        return ranks


@cache
def _order(dialect: Dialect) -> _Order:
    return _Order(dialect)


@dataclass(frozen=True)
class RecordGroup:
    """Records of one type and one value layout of a batch; `layout` and `value` are None for tombstones.

    `rows` are their positions in the batch, ascending; `key` and `value` have a struct for each of them.
    """

    record: Record
    layout: Layout | None
    rows: Indices
    key: pa.StructArray
    value: pa.StructArray | None


@dataclass(frozen=True)
class DecodedBatch:
    """A decoded batch: every row is in one of `groups`, or has an unknown type, or has an error.

    `errors` has an `Error` per row. `positions` has the byte of the error, counted from the start of the key if
    `in_key`, else of the value. `unknown` has the positions of the rows whose key has a type that this version does not
    know.
    """

    groups: list[RecordGroup]
    unknown: Indices
    errors: NDArray[np.int8]
    positions: NDArray[np.int32]
    in_key: NDArray[np.bool_]


def decode_records(key: pa.Array, value: pa.Array, dialect: Dialect = KAFKA) -> DecodedBatch:
    """Decode the keys and values (binary arrays of one length) of log rows."""
    return _BatchDecoder(key, value, _order(dialect)).run()


def join_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join consecutive batches if they mix record types: each type costs some time per batch.

    Five of Spark's default batches fit in a processor's cache; batches of long values are not joined.
    """
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if waiting and (rows > _JOINED_ROWS or size > _JOINED_BYTES):
            yield pa.concat_batches(waiting)
            waiting, rows, size = [], batch.num_rows, batch.nbytes
        waiting.append(batch)
    if waiting:
        yield pa.concat_batches(waiting)


class _BatchDecoder:
    """Decodes a batch with sorted rows; `order` has the position of each row in the original batch."""

    def __init__(self, key: pa.Array, value: pa.Array, decoding: _Order) -> None:
        self.decoding = decoding
        self.key = Encoded(key)
        ranks = decoding.ranks(self.key)
        self.order = np.argsort(ranks, kind="stable")
        if (ranks[1:] < ranks[:-1]).any():
            order = pa.array(self.order)
            key, value = key.take(order), value.take(order)
            self.key = Encoded(key)
        self.bounds = np.concatenate([[0], np.cumsum(np.bincount(ranks, minlength=decoding.no_type + 1))])
        self.value = Encoded(value)
        self.tombstone = value.is_null().to_numpy(zero_copy_only=False)
        self.errors = np.zeros(len(key), np.int8)
        self.positions = np.full(len(key), -1, np.int32)
        self.in_key = np.zeros(len(key), bool)

    def run(self) -> DecodedBatch:
        records = self.decoding.records
        groups: list[RecordGroup] = []
        for layout, ranks in groupby(range(len(records)), lambda rank: records[rank].key_layout):
            groups += self.decode_key_layout(layout, list(ranks))
        self.fail(self.rows(self.decoding.no_type), Error.MISSING_KEY, in_key=True)
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(self.order))
        found = self.errors[back], self.positions[back], self.in_key[back]
        return DecodedBatch(groups, self.order[self.rows(self.decoding.unknown)], *found)

    def rows(self, rank: int) -> Indices:
        return np.arange(self.bounds[rank], self.bounds[rank + 1])

    def decode_key_layout(self, layout: Layout, ranks: list[int]) -> Iterator[RecordGroup]:
        """Decode the keys of all types that share a layout, then the values of each type."""
        first, end = int(self.bounds[ranks[0]]), int(self.bounds[ranks[-1] + 1])
        if first == end:
            return
        decoded = self.keys(layout, np.arange(first, end))
        good = self.keep_errors(np.arange(first, end), decoded, in_key=True)
        for rank in ranks:
            if len(rows := self.rows(rank)):
                record, keys = self.decoding.records[rank], decoded.values.slice(int(rows[0]) - first, len(rows))
                theirs = good[rows - first]
                yield from self.decode_type(record, *_select(theirs, rows, keys))
                for other in self.decoding.dialect.by_type[record.key_type][1:]:
                    yield from self.decode_other_record(other, rows[~theirs])

    def decode_other_record(self, record: Record, rows: Indices) -> Iterator[RecordGroup]:
        """Decode the rows whose keys end at this record's end instead of the usual end of their type."""
        if not len(rows):
            return
        decoded = self.keys(record.key_layout, rows)
        good = self.keep_errors(rows, decoded, in_key=True)
        yield from self.decode_type(record, *_select(good, rows, decoded.values))

    def keys(self, layout: Layout, rows: Indices) -> Decoded:
        return decode_spans(layout, self.key, self.key.starts[rows] + _TYPE_BYTES, self.key.ends[rows])

    def decode_type(self, record: Record, rows: Indices, keys: pa.StructArray) -> Iterator[RecordGroup]:
        dead = self.tombstone[rows]
        if dead.any():
            yield RecordGroup(record, None, self.order[rows[dead]], keys.filter(pa.array(dead)), None)
            rows, keys = _select(~dead, rows, keys)
        short = self.value.ends[rows] - self.value.starts[rows] < _VERSION_BYTES
        if short.any():
            self.fail(rows[short], Error.TRUNCATED)
            rows, keys = _select(~short, rows, keys)
        if not len(rows):
            return
        versions = self.value.view(">i2")[self.value.starts[rows]]
        for version in np.unique(versions) if np.ptp(versions) else versions[:1]:
            yield from self.decode_version(record, int(version), *_select(versions == version, rows, keys))

    def decode_version(
        self, record: Record, version: int, rows: Indices, keys: pa.StructArray
    ) -> Iterator[RecordGroup]:
        """Decode rows with each layout in turn until one fits; the error of the newest layout is kept."""
        layouts = record.value_layouts(version)
        if not layouts:
            self.fail(rows, Error.NEGATIVE_VERSION if version < 0 else Error.UNKNOWN_VERSION)
        for layout in layouts:
            starts, ends = self.value.starts[rows] + _VERSION_BYTES, self.value.ends[rows]
            decoded = decode_spans(layout, self.value, starts, ends)
            good = self.keep_errors(rows, decoded)
            if good.any():
                values = decoded.values if good.all() else decoded.values.filter(pa.array(good))
                fitting, their_keys = _select(good, rows, keys)
                yield RecordGroup(record, layout, self.order[fitting], their_keys, values)
            if good.all():
                return
            rows, keys = _select(~good, rows, keys)

    def keep_errors(self, rows: Indices, decoded: Decoded, *, in_key: bool = False) -> NDArray[np.bool_]:
        """Note the errors of `rows`, clear those of rows that decode after all; return which rows are good."""
        good: NDArray[np.bool_] = decoded.errors == Error.NONE
        noted = self.errors[rows] != Error.NONE
        if good.all() and not noted.any():
            return good
        first = good | ~noted
        self.errors[rows[first]] = decoded.errors[first]
        self.positions[rows[first]] = np.where(good, -1, decoded.positions + _VERSION_BYTES)[first]
        self.in_key[rows] = in_key & ~good
        return good

    def fail(self, rows: Indices, error: Error, *, in_key: bool = False) -> None:
        self.errors[rows] = error
        self.positions[rows] = 0
        self.in_key[rows] = in_key


def _select(mask: NDArray[np.bool_], rows: Indices, keys: pa.StructArray) -> tuple[Indices, pa.StructArray]:
    return (rows, keys) if mask.all() else (rows[mask], keys.filter(pa.array(mask)))
