"""The columns of decoded rows as Spark has them; `protocol.columns` defines them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_schema

from kip848_records.protocol.columns import FAILURE_COLUMNS, JSON_COLUMNS, UNKNOWN_COLUMNS, record_columns

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

FAILURE_SCHEMA = from_arrow_schema(FAILURE_COLUMNS)
"""A row that did not decode: `error_code` is the reason, `protocol.columnar.Error` in lower case.

`reason` is the same as text. It begins with the side, `key` or `value`, whose byte `position` has the error. Rows that
the source itself could not read have the source's code (`sources.error_codes`) and text, and no position.
"""

UNKNOWN_SCHEMA = from_arrow_schema(UNKNOWN_COLUMNS)
"""A record of a type that this version does not know, with its bytes."""

JSON_SCHEMA = from_arrow_schema(JSON_COLUMNS)
"""A record with key and value as the JSON that Kafka's tools print; `value` is null for a tombstone.

`error` is the reason if a record did not decode; then `value` is null. Some bytes have no JSON form: those of an
unknown type (`record` null, `error` null), and those of a key that does not decode. They become a JSON string with
their base64.
"""


def record_schema(table: str) -> StructType:
    """Return the columns of a record type's table: location, `is_tombstone`, the key's fields, then the value's.

    A value has the fields of all its versions, layouts and dialects; fields that a record's own layout lacks are null.
    A field with the name of a log column gets the prefix `key_` or `value_`. Offset commits also have `transaction`.
    """
    return from_arrow_schema(record_columns(table))
