"""Log rows of live topics, which are DataFrames: their columns, and expressions; `predicates` has the SQL."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.sources.predicates import NEWEST_MS
from kip848_records.specs.log_columns import LOG_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

_TYPES = 1 << 16  # a type is an int16; as bytes, negative ones sort after the others

LOG_SCHEMA = from_arrow_schema(LOG_COLUMNS)
"""The columns of log rows (`specs.log_columns.LOG_COLUMNS`)."""


def key_of_types(key_types: Iterable[int]) -> Column:
    """Return whether `key` has one of the record types; false, not null, without a key.

    Types are compared as the key's first two bytes, in their order, which Spark pushes down to Parquet.
    """
    key = F.col("key")
    unsigned = (key_type % _TYPES for key_type in key_types)
    ranges = [(key >= _prefix(first)) & _is_below(last + 1) for first, last in _ranges(unsigned)]
    return F.coalesce(reduce(or_, ranges, F.lit(False)), F.lit(False))  # noqa: FBT003


def key_type() -> Column:
    """Return the record type in the first bytes of `key`; null without a key, or with a shorter one."""
    unsigned = _unsigned_int16(1)
    signed = F.when(unsigned >= 1 << 15, unsigned - (1 << 16)).otherwise(unsigned)
    return F.when(F.length("key") >= 2, signed)  # noqa: PLR2004 - an int16


def group_id() -> Column:
    """Return the group id of `key`, after an int16 type and an int16 length; null if it is damaged or missing."""
    size = F.when(F.length("key") >= 4, _unsigned_int16(3))  # noqa: PLR2004 - two int16
    text = F.expr("substring(key, 5)").substr(F.lit(1), size)
    return F.when(F.octet_length(text) == size, F.try_validate_utf8(text.cast("string")))


def is_offset_commit() -> Column:
    """Return whether `key` is the key of an offset commit; these are about 95 % of a real log."""
    return key_of_types(OFFSET_COMMIT_TYPES)


def without_offset_commits(log: DataFrame) -> DataFrame:
    """Drop offset commits, in the JVM; rows that could not be read stay, with any key."""
    return log.filter(~is_offset_commit() | F.col("error_code").isNotNull())


def newest_ms() -> Column:
    """Return the newest time in this log, in ms since 1970 (`NEWEST_MS`)."""
    return F.expr(NEWEST_MS)


def _unsigned_int16(position: int) -> Column:
    """Return two bytes of `key` as an unsigned number; positions count from 1."""
    return F.conv(F.hex(F.substring("key", position, 2)), 16, 10).cast("int")


def _prefix(key_type: int) -> Column:
    return F.lit(key_type.to_bytes(2, "big"))


def _is_below(key_type: int) -> Column:
    return F.lit(True) if key_type == _TYPES else F.col("key") < _prefix(key_type)  # noqa: FBT003


def _ranges(key_types: Iterable[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for key_type in sorted(set(key_types)):
        if ranges and ranges[-1][1] == key_type - 1:
            ranges[-1] = (ranges[-1][0], key_type)
        else:
            ranges.append((key_type, key_type))
    return ranges
