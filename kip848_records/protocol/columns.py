"""The columns of decoded rows as Arrow has them, derived from the record definitions.

`decode.schemas` has the same for Spark, and explains them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.protocol.messages import DIALECTS, OFFSET_COMMIT_TYPES, RECORDS, Record
from kip848_records.protocol.schema import Array, Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.protocol.schema import Field

OFFSET_COMMIT_TABLE: Final = RECORDS[OFFSET_COMMIT_TYPES[0]].table

TIMES: Final = pa.timestamp("us", "UTC")
"""The type of times, as Spark has it."""

_PLACE: Final = (pa.field("partition", pa.int32()), pa.field("offset", pa.int64()), pa.field("timestamp", TIMES))
_TRANSACTION: Final = pa.field("transaction", pa.string())
PLACE: Final = tuple(field.name for field in _PLACE)
"""The names of the columns that locate a record in the log."""

FAILURE_COLUMNS: Final = pa.schema(
    [
        *_PLACE,
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("error_code", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("position", pa.int32()),
    ]
)
CHECKED_COLUMNS: Final = pa.schema(
    [
        *FAILURE_COLUMNS,
        _TRANSACTION,
        pa.field("producer_id", pa.int64()),
        pa.field("group_id", pa.string()),
        pa.field("topic", pa.string()),
        pa.field("topic_partition", pa.int32()),
        pa.field("committed", pa.int64()),
        pa.field("topic_id", pa.string()),
        pa.field("expires_ms", pa.int64()),
        pa.field("retention_ms", pa.int64()),
    ]
)
"""An offset commit: why it does not decode, or what it says. `committed`: null for a tombstone.

`expires_ms`: when it expires, in ms since 1970, if its client said so. `retention_ms`: how long after the commit.
"""
UNKNOWN_COLUMNS: Final = pa.schema(
    [*_PLACE, pa.field("key_type", pa.int32()), pa.field("key", pa.binary()), pa.field("value", pa.binary())]
)
JSON_COLUMNS: Final = pa.schema(
    [
        *_PLACE,
        _TRANSACTION,
        pa.field("key_type", pa.int32()),
        *(pa.field(name, pa.string()) for name in ("record", "group_id", "member_id", "key", "value", "error")),
    ]
)


@cache
def record_columns(table: str) -> pa.Schema:
    """Return the columns of a record type's table: `decode.schemas.record_schema`."""
    transaction = [_TRANSACTION] if table == OFFSET_COMMIT_TABLE else []
    fields = key_columns(table) | value_columns(table)
    typed = [pa.field(column, field.type.arrow) for column, field in fields.items()]
    embedded = [pa.field(column, pa.list_(pa.string())) for column in embedded_columns(table)]
    return pa.schema([*_PLACE, pa.field("is_tombstone", pa.bool_()), *transaction, *typed, *embedded])


@cache
def key_columns(table: str) -> dict[str, Field]:
    """Return the columns of a table that hold its key's fields."""
    return _named("key", (field for record in records_of(table) for field in record.key.fields))


@cache
def value_columns(table: str) -> dict[str, Field]:
    """Return the columns of a table that hold its value's fields, those of the newest layout first."""
    messages = (message for record in records_of(table) for message in record.values)
    return _named("value", (field for message in messages for field in message.struct.fields))


@cache
def embedded_columns(table: str) -> dict[str, tuple[Field, Field]]:
    """Return the columns of a table that hold embedded messages as JSON.

    Each stands for two fields: an array of the value, and the field of its elements that embeds the message.
    """
    return {
        f"{field.column}_{inner.column}": (field, inner)
        for field in value_columns(table).values()
        if isinstance(field.type, Array) and isinstance(field.type.element, Struct)
        for inner in field.type.element.fields
        if inner.embeds
    }


def records_of(table: str) -> list[Record]:
    """Return the records of all dialects that share a table, Kafka's own first."""
    return [record for dialect in DIALECTS.values() for record in dialect.of_table(table)]


def _named(side: str, fields: Iterable[Field]) -> dict[str, Field]:
    return {f"{side}_{field.column}" if field.column in PLACE else field.column: field for field in fields}
