"""The columns of decoded rows, derived from the record definitions."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kip848_records.protocol.messages import DIALECTS, OFFSET_COMMIT_TYPES, RECORDS, Record
from kip848_records.protocol.schema import Array, Field, Struct, Type

if TYPE_CHECKING:
    from collections.abc import Iterable

OFFSET_COMMIT_TABLE = RECORDS[OFFSET_COMMIT_TYPES[0]].table

PLACE = [
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
]
TRANSACTION = StructField("transaction", StringType())

FAILURE_SCHEMA = StructType(
    [
        *PLACE,
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("error_code", StringType()),
        StructField("reason", StringType()),
        StructField("position", IntegerType()),
    ]
)
"""A row that did not decode: `error_code` is the reason, `protocol.columnar.Error` in lower case.

`reason` is the same as text. It begins with the side, `key` or `value`, whose byte `position` has the error. Rows that
the source itself could not read have the source's code (`sources.error_codes`) and text, and no position.
"""

UNKNOWN_SCHEMA = StructType(
    [
        *PLACE,
        StructField("key_type", IntegerType()),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
    ]
)
"""A record of a type that this version does not know, with its bytes."""

JSON_SCHEMA = StructType(
    [
        *PLACE,
        TRANSACTION,
        StructField("key_type", IntegerType()),
        StructField("record", StringType()),
        StructField("group_id", StringType()),
        StructField("member_id", StringType()),
        StructField("key", StringType()),
        StructField("value", StringType()),
        StructField("error", StringType()),
    ]
)
"""A record with key and value as the JSON that Kafka's tools print; `value` is null for a tombstone.

`error` is the reason if a record did not decode; then `value` is null. Some bytes have no JSON form: those of an
unknown type (`record` null, `error` null), and those of a key that does not decode. They become a JSON string with
their base64.
"""

_SPARK_TYPES: dict[pa.DataType, DataType] = {
    pa.int8(): ByteType(),
    pa.int16(): ShortType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.string(): StringType(),
    pa.binary(): BinaryType(),
}
_LOG_COLUMNS = {field.name for field in PLACE}


def record_schema(table: str) -> StructType:
    """Return the columns of a record type's table: location, `is_tombstone`, the key's fields, then the value's.

    A value has the fields of all its versions, layouts and dialects; fields that a record's own layout lacks are null.
    A field with the name of a log column gets the prefix `key_` or `value_`. Offset commits also have `transaction`.
    """
    transaction = [TRANSACTION] if table == OFFSET_COMMIT_TABLE else []
    fields = key_columns(table) | value_columns(table)
    typed = [StructField(column, spark_type(field.type)) for column, field in fields.items()]
    return StructType([*PLACE, StructField("is_tombstone", BooleanType()), *transaction, *typed])


@cache
def key_columns(table: str) -> dict[str, Field]:
    """Return the columns of a table that hold its key's fields."""
    return _named("key", (field for record in records_of(table) for field in record.key.fields))


@cache
def value_columns(table: str) -> dict[str, Field]:
    """Return the columns of a table that hold its value's fields, those of the newest layout first."""
    messages = (message for record in records_of(table) for message in record.values)
    return _named("value", (field for message in messages for field in message.struct.fields))


def records_of(table: str) -> list[Record]:
    """Return the records of all dialects that share a table, Kafka's own first."""
    return [record for dialect in DIALECTS.values() for record in dialect.of_table(table)]


def spark_type(kind: Type) -> DataType:
    """Return the Spark type of a field."""
    if isinstance(kind, Array):
        return ArrayType(spark_type(kind.element))
    if isinstance(kind, Struct):
        return StructType([StructField(field.column, spark_type(field.type)) for field in kind.fields])
    return _SPARK_TYPES[kind.arrow]


def _named(side: str, fields: Iterable[Field]) -> dict[str, Field]:
    return {f"{side}_{field.column}" if field.column in _LOG_COLUMNS else field.column: field for field in fields}
