"""From the keys and values of log rows to typed records: which type, which version, which layout.

The rows of a batch are grouped by record type and value version, and every group is decoded as columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kip848_records.protocol.columnar import Decoded, Encoded, Error, decode_spans
from kip848_records.protocol.messages import RECORDS, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from kip848_records.protocol.schema import Layout

    Indices = NDArray[np.int64]

_TYPE_BYTES = 2
_VERSION_BYTES = 2


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
    def __init__(self, key: pa.Array, value: pa.Array) -> None:
        self.key, self.value = Encoded(key), Encoded(value)
        self.tombstone = value.is_null().to_numpy(zero_copy_only=False)
        self.errors = np.zeros(len(key), np.int8)
        self.positions = np.full(len(key), -1, np.int32)
        self.in_key = np.zeros(len(key), bool)

    def run(self) -> DecodedBatch:
        starts, ends = self.key.starts, self.key.ends
        typed = np.flatnonzero(ends - starts >= _TYPE_BYTES)
        self.fail(np.flatnonzero(ends - starts < _TYPE_BYTES), Error.MISSING_KEY, in_key=True)
        key_types = self.key.view(">i2")[starts[typed]]
        groups: list[RecordGroup] = []
        unknown: list[Indices] = []
        for key_type in np.unique(key_types):
            rows = typed[key_types == key_type]
            if (record := RECORDS.get(int(key_type))) is None:
                unknown.append(rows)
            else:
                groups += self.of_type(record, rows)
        places = np.sort(np.concatenate(unknown)) if unknown else np.empty(0, np.int64)
        return DecodedBatch(groups, places, self.errors, self.positions, self.in_key)

    def of_type(self, record: Record, rows: Indices) -> Iterator[RecordGroup]:
        decoded = decode_spans(record.key_layout, self.key, self.key.starts[rows] + _TYPE_BYTES, self.key.ends[rows])
        good = self.keep_errors(rows, decoded, in_key=True)
        rows, keys = (rows, decoded.values) if good.all() else (rows[good], decoded.values.filter(good))
        dead = self.tombstone[rows]
        if dead.any():
            yield RecordGroup(record, None, rows[dead], keys.filter(dead), None)
            rows, keys = rows[~dead], keys.filter(~dead)
        short = self.value.ends[rows] - self.value.starts[rows] < _VERSION_BYTES
        if short.any():
            self.fail(rows[short], Error.TRUNCATED)
            rows, keys = rows[~short], keys.filter(~short)
        versions = self.value.view(">i2")[self.value.starts[rows]]
        for version in np.unique(versions):
            chosen = versions == version
            yield from self.of_version(record, int(version), rows[chosen], keys if chosen.all() else keys.filter(chosen))

    def of_version(self, record: Record, version: int, rows: Indices, keys: pa.StructArray) -> Iterator[RecordGroup]:
        """Decode with each layout in turn what the layouts before it left; the newest one's error is the one kept."""
        layouts = record.value_layouts(version)
        if not layouts:
            self.fail(rows, Error.UNKNOWN_VERSION)
        for layout in layouts:
            decoded = decode_spans(layout, self.value, self.value.starts[rows] + _VERSION_BYTES, self.value.ends[rows])
            good = self.keep_errors(rows, decoded)
            if good.all():
                yield RecordGroup(record, layout, rows, keys, decoded.values)
                return
            if good.any():
                yield RecordGroup(record, layout, rows[good], keys.filter(good), decoded.values.filter(good))
            rows, keys = rows[~good], keys.filter(~good)

    def keep_errors(self, rows: Indices, decoded: Decoded, *, in_key: bool = False) -> NDArray[np.bool_]:
        """Note the errors of `rows`, clear those of rows that decode after all; return which rows are good."""
        good = decoded.errors == Error.NONE
        first = good | (self.errors[rows] == Error.NONE)
        self.errors[rows[first]] = decoded.errors[first]
        self.positions[rows[first]] = np.where(good, -1, decoded.positions + _VERSION_BYTES)[first]
        self.in_key[rows] = in_key & ~good
        return good

    def fail(self, rows: Indices, error: Error, *, in_key: bool = False) -> None:
        self.errors[rows] = error
        self.positions[rows] = 0
        self.in_key[rows] = in_key
