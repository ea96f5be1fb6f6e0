"""From the keys and values of log rows to typed records: which type, which version, which layout.

The rows of a batch are sorted by record type, then every type and value version is decoded as columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar import Decoded, Encoded, Error, decode_spans
from kip848_records.protocol.messages import RECORDS, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from kip848_records.protocol.schema import Layout

    Indices = NDArray[np.int64]

_TYPE_BYTES = 2
_VERSION_BYTES = 2

_SORTED = sorted(RECORDS.values(), key=lambda record: (id(record.key_layout), record.key_type))
"""Records in the order in which a batch is decoded: those of one key layout follow each other."""

_UNKNOWN, _NO_TYPE = len(_SORTED), len(_SORTED) + 1
_RANK = np.full(1 << 16, _UNKNOWN, np.int8)
"""Place in that order by key type."""
for _rank, _record in enumerate(_SORTED):
    _RANK[_record.key_type] = _rank


@dataclass(frozen=True)
class RecordGroup:
    """Records of one type and one value layout out of a batch; `layout` and `value` are None for tombstones.

    `rows` are their places in the batch, ascending; `key` and `value` have a struct for each of them.
    """

    record: Record
    layout: Layout | None
    rows: Indices
    key: pa.StructArray
    value: pa.StructArray | None


@dataclass(frozen=True)
class DecodedBatch:
    """A decoded batch: every row is in one of `groups`, or of an unknown type, or has an error.

    `errors` has an `Error` per row; `positions` the byte at which it was found, counted from the start of the key where
    `in_key`, else of the value; `unknown` the places of the rows whose key has a type that this version does not know.
    """

    groups: list[RecordGroup]
    unknown: Indices
    errors: NDArray[np.int8]
    positions: NDArray[np.int32]
    in_key: NDArray[np.bool_]


def decode_records(key: pa.Array, value: pa.Array) -> DecodedBatch:
    """Decode the keys and values (binary arrays of one length) of log rows."""
    return _BatchDecoder(key, value).run()


class _BatchDecoder:
    """Decodes a batch whose rows are sorted; `order` has the place that each row has in the batch that was given."""

    def __init__(self, key: pa.Array, value: pa.Array) -> None:
        self.key = Encoded(key)
        ranks = _ranks(self.key)
        self.order = np.argsort(ranks, kind="stable")
        if (ranks[1:] < ranks[:-1]).any():
            order = pa.array(self.order)
            key, value = key.take(order), value.take(order)
            self.key = Encoded(key)
        self.bounds = np.concatenate([[0], np.cumsum(np.bincount(ranks, minlength=_NO_TYPE + 1))])
        self.value = Encoded(value)
        self.tombstone = value.is_null().to_numpy(zero_copy_only=False)
        self.errors = np.zeros(len(key), np.int8)
        self.positions = np.full(len(key), -1, np.int32)
        self.in_key = np.zeros(len(key), bool)

    def run(self) -> DecodedBatch:
        groups: list[RecordGroup] = []
        for layout, ranks in groupby(range(_UNKNOWN), lambda rank: _SORTED[rank].key_layout):
            groups += self.of_key_layout(layout, list(ranks))
        self.fail(self.rows(_NO_TYPE), Error.MISSING_KEY, in_key=True)
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(self.order))
        found = self.errors[back], self.positions[back], self.in_key[back]
        return DecodedBatch(groups, self.order[self.rows(_UNKNOWN)], *found)

    def rows(self, rank: int) -> Indices:
        return np.arange(self.bounds[rank], self.bounds[rank + 1])

    def of_key_layout(self, layout: Layout, ranks: list[int]) -> Iterator[RecordGroup]:
        """Decode the keys of all types that share a layout, then the values of each type."""
        first, end = int(self.bounds[ranks[0]]), int(self.bounds[ranks[-1] + 1])
        if first == end:
            return
        starts, ends = self.key.starts[first:end] + _TYPE_BYTES, self.key.ends[first:end]
        decoded = decode_spans(layout, self.key, starts, ends)
        good = self.keep_errors(np.arange(first, end), decoded, in_key=True)
        for rank in ranks:
            if len(rows := self.rows(rank)):
                keys = decoded.values.slice(int(rows[0]) - first, len(rows))
                yield from self.of_type(_SORTED[rank], *_select(good[rows - first], rows, keys))

    def of_type(self, record: Record, rows: Indices, keys: pa.StructArray) -> Iterator[RecordGroup]:
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
            yield from self.of_version(record, int(version), *_select(versions == version, rows, keys))

    def of_version(self, record: Record, version: int, rows: Indices, keys: pa.StructArray) -> Iterator[RecordGroup]:
        """Decode with each layout in turn what the layouts before it left; the newest one's error is the one kept."""
        layouts = record.value_layouts(version)
        if not layouts:
            self.fail(rows, Error.UNKNOWN_VERSION)
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


def _ranks(key: Encoded) -> NDArray[np.int8]:
    """Return where in `_SORTED` the type of each key is."""
    ranks = np.full(len(key.starts), _NO_TYPE, np.int8)
    typed = key.ends - key.starts >= _TYPE_BYTES
    ranks[typed] = _RANK[key.view(">u2")[key.starts[typed]]]
    return ranks


def _select(mask: NDArray[np.bool_], rows: Indices, keys: pa.StructArray) -> tuple[Indices, pa.StructArray]:
    return (rows, keys) if mask.all() else (rows[mask], keys.filter(pa.array(mask)))
