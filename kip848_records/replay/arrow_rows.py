"""Rows of `rows.py` -> Arrow: batches of the rows of a class, and batches of the rows of several tables."""

from __future__ import annotations

from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.replay.rows import row_type
from kip848_records.specs.columns import TIMESTAMP
from kip848_records.times import FIRST_MS, LAST_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LISTED_ROWS: Final = 100
LISTED_BYTES: Final = 1 << 20
"""How many rows of a table one row of the union contains; fewer if they are large."""

_US_PER_MS: Final = 1000


def to_batch(row_class: type[Any], rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Return rows as a batch with the fields of `row_type` as columns.

    Times are ms since 1970 in rows; one outside the years 1 to 9999 becomes null, as a number that does not fit.
    """
    kind = row_type(row_class)
    return pa.RecordBatch.from_arrays(_columns(kind, rows), schema=pa.schema(list(kind)))


def timestamps(millis: Iterable[int | None]) -> pa.TimestampArray:
    """Return times in ms since 1970 as timestamps; times outside the years 1 to 9999 become null."""
    times = pa.array(millis, pa.int64())
    found = pc.min_max(times)
    first, last = found["min"].as_py(), found["max"].as_py()
    if first is not None and (first < FIRST_MS or last > LAST_MS):
        is_shown = pc.and_(pc.greater_equal(times, FIRST_MS), pc.less_equal(times, LAST_MS))
        times = pc.if_else(is_shown, times, None)
    return pc.multiply(times, _US_PER_MS).cast(TIMESTAMP)


def _columns(kind: pa.StructType, rows: Sequence[tuple[Any, ...]]) -> list[pa.Array]:
    values = zip(*rows, strict=True) if rows else [()] * kind.num_fields
    return [_column(field.type, column) for field, column in zip(kind, values, strict=True)]


def _column(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    if kind == TIMESTAMP:
        return timestamps(values)
    if pa.types.is_list(kind):
        return _lists(kind, values)
    if pa.types.is_struct(kind):
        nulls = (None,) * kind.num_fields
        columns = _columns(kind, [nulls if value is None else value for value in values])
        return pa.StructArray.from_arrays(
            columns, fields=list(kind), mask=pa.array([value is None for value in values], pa.bool_())
        )
    if pa.types.is_integer(kind):
        return _integers(kind, values)
    return pa.array(values, kind)


def _integers(kind: pa.DataType, values: Sequence[int | None]) -> pa.Array:
    """Return numbers; those that do not fit, as a difference of times of a damaged record, become null."""
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid):
        most = 1 << (kind.bit_width - 1)
        return pa.array([None if n is None or not -most <= n < most else n for n in values], kind)


def _lists(kind: pa.ListType, values: Sequence[Sequence[Any] | None]) -> pa.ListArray:
    filled = [items or () for items in values]
    offsets = pa.array(list(accumulate(map(len, filled), initial=0)), pa.int32())
    items = list(chain.from_iterable(filled))
    if pa.types.is_struct(kind.value_type):
        elements = pa.StructArray.from_arrays(_columns(kind.value_type, items), fields=list(kind.value_type))
    else:
        elements = _column(kind.value_type, items)
    is_null = [items is None for items in values]
    mask = pa.array(is_null) if any(is_null) else None
    return pa.ListArray.from_arrays(offsets, elements, type=kind, mask=mask)


def union_type(tables: Mapping[str, type[Any]]) -> pa.Schema:
    """Return the schema of `union_batches`: ``table string``, then per table a list of structs (`row_type`)."""
    columns = [pa.field(table, pa.list_(row_type(row_class))) for table, row_class in tables.items()]
    return pa.schema([pa.field("table", pa.string()), *columns])


def union_batches(
    tables: Mapping[str, type[Any]], results: Iterable[tuple[type[Any], pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    """Yield batches of rows of single tables in the columns of `union_type`; those of the other tables are null.

    Batches of classes that `tables` does not name are skipped. The schema is shared because `mapInArrow` can return
    only one: a row of the union contains a list of rows of one table, and Spark's `inline(<table>)` returns them. With
    structs instead of lists, the other tables would be null structs, and a null struct takes the bytes of all its
    fields: 1,500 per row for all tables, where its own row has 180. Spark took twice the time for them.
    """
    schema = union_type(tables)
    names = {row_class: table for table, row_class in tables.items()}
    for row_class, batch in results:
        table = names.get(row_class)
        if table is not None and batch.num_rows:
            kind = schema.field(table).type
            lists = _listed(kind, batch)
            columns = [pa.repeat(table, len(lists))]
            columns += [lists if field.name == table else _nulls(field.type, len(lists)) for field in list(schema)[1:]]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _listed(kind: pa.ListType, batch: pa.RecordBatch) -> pa.ListArray:
    rows = batch.num_rows
    step = max(1, min(LISTED_ROWS, LISTED_BYTES * rows // max(batch.nbytes, 1)))
    offsets = np.append(np.arange(0, rows, step, dtype=np.int32), np.int32(rows))
    structs = pa.StructArray.from_arrays(batch.columns, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets), structs, type=kind)


def _nulls(kind: pa.ListType, rows: int) -> pa.ListArray:
    """Return null lists; each list of `pyarrow.nulls` takes the bytes of its elements' longest buffer."""
    validity, offsets = pa.py_buffer(bytes(-(-rows // 8))), pa.py_buffer(bytes(4 * (rows + 1)))
    return pa.ListArray.from_buffers(kind, rows, [validity, offsets], children=[pa.nulls(0, kind.value_type)])
