"""Log rows that are not records of a group's state: unreadable or undecodable rows, and records of unknown types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.columnar import Encoded, Error
from kip848_records.protocol.decoded_rows import failure_columns
from kip848_records.protocol.keys import key_columns
from kip848_records.replay.rows import Quarantine, UnknownRecord, row_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from kip848_records.protocol.decoder import DecodedBatch

    Ints = NDArray[np.int64]

NO_TYPE: Final = -1
"""The type of a key without one; known record types are not negative."""


def undecoded_rows(
    batch: pa.RecordBatch, unreadable: Ints, readable: Ints, decoded: DecodedBatch
) -> Iterator[tuple[type[Any], pa.RecordBatch]]:
    """Yield the rows that the source could not read and those that do not decode as `Quarantine`, others as unknown.

    `unreadable`, `readable`: positions of rows in `batch`; the readable ones are those in `decoded`, in its order.
    """
    if len(unreadable):
        rows = batch.take(pa.array(unreadable))
        codes = rows["error_code"].cast(pa.string())
        reasons = pc.coalesce(rows["error"].cast(pa.string()), codes)
        yield Quarantine, _quarantine(rows, codes, reasons, pa.nulls(len(codes)))
    failed = np.flatnonzero(decoded.errors != Error.NONE)
    if len(failed):
        rows = batch.take(pa.array(readable[failed]))
        yield Quarantine, _quarantine(rows, *failure_columns(decoded, failed))
    if len(decoded.unknown):
        rows = batch.take(pa.array(readable[decoded.unknown]))
        yield UnknownRecord, _batch(UnknownRecord, rows, key_type=pa.array(key_types(rows["key"])))


def key_types(keys: pa.Array) -> Ints:
    """Return the record types of keys; `NO_TYPE` for a key that is missing or too short."""
    encoded = Encoded(keys)
    types = np.full(len(keys), NO_TYPE, np.int64)
    typed = encoded.ends - encoded.starts >= np.dtype(np.int16).itemsize
    types[typed] = encoded.view(">i2")[encoded.starts[typed]]
    return types


def _quarantine(rows: pa.RecordBatch, codes: pa.Array, reasons: pa.Array, positions: pa.Array) -> pa.RecordBatch:
    key_types, group_ids = key_columns(rows["key"])
    return _batch(
        Quarantine,
        rows,
        key_type=key_types,
        group_id=group_ids,
        error_code=codes,
        reason=reasons,
        position=positions,
    )


def _batch(row_class: type[Any], rows: pa.RecordBatch, **columns: pa.Array) -> pa.RecordBatch:
    """Return the columns of a table: these, and all others of log rows."""
    schema = pa.schema(list(row_type(row_class)))
    found = [columns[field.name] if field.name in columns else rows[field.name] for field in schema]
    return pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in zip(found, schema, strict=True)], schema=schema
    )
