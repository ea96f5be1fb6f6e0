"""DuckDB's SQL for the embedded engine: names, literals and types."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kip848_records.queries.duck import HUGEINT

_TYPE_NAMES: Final = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.bool_(): "boolean",
    pa.date32(): "date",
}


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that Spark's answer would have: sums are bigint, times have microseconds in UTC."""
    if kind == HUGEINT:
        return pa.int64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz and "UTC")
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", plain_type(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(plain_type(each.type)) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    return kind


def type_name(kind: pa.DataType) -> str:
    """Return the name of a type in Spark's SQL; of a nested type, which no source has, that of Arrow."""
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return _TYPE_NAMES.get(kind, str(kind))
