"""Log rows, the output of every source, and expressions for DataFrames of them; `predicates` has the SQL."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType, TimestampType

from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.sources.predicates import IS_READABLE, IS_RECORD, IS_UNREAD, NEWEST_MS
from kip848_records.specs.log_columns import COPY_COLUMNS, FILE, LOG_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

_TYPES = 1 << 16  # a type is an int16; as bytes, negative ones sort after the others

KAFKA_SCHEMA = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
)
"""The columns of Spark's Kafka source, without headers (no coordinator writes any)."""

FILE_SCHEMA = from_arrow_schema(pa.schema(list(FILE)))
"""The coverage of one segment file in its partition; for a dump, the coverage of the copy in one partition.

`name`: the file's path; null for a dump. `format`: the source's, such as `segments` or `parquet`.
`base_offset`: the offset in the file's name; null for a dump.
`first_offset`: the start of the partition in this copy: the base offset of its first file, or a dump's lowest offset.
`last_offset`: the last covered offset; null for a file in which nothing could be read.
`has_gap`: compaction may have removed offsets between `base_offset` (a dump's `first_offset`) and `last_offset`. A dump
does not show transaction markers, whose offsets look like gaps too.
`first_missing_offset`, `last_gap_end`: the first offset of the first such gap, and the offset after the last one; null
without a gap, and for a dump.
`first_repeated_offset`: the offset of the second of the first two records of one key, both in this file and outside
transactions; null if there are none, and for a dump. Offset commits count too.
`unread`: the unreadable batches, adjacent ones merged: the lowest offset that the first can have, the offset of the
next readable record (null if there was none), and the error code of the first. The code `missing_offsets` stands for
offsets that are missing after `first_repeated_offset`: the cleaner was never there, so they were lost. Empty for a
dump: each of its rows in error has its own offset.
`skipped`: how many records did not become rows, by key type and outcome of their transaction: offset commits that were
not requested, and records of aborted transactions. `newest_skipped`: their highest timestamp.
"""

LOG_SCHEMA = from_arrow_schema(LOG_COLUMNS)
"""A row of the log. There are four kinds:

- a record: `control`, `error_code` and `file` are null;
- a transaction marker: `control` is not null;
- unreadable bytes, or something that is not a record: `error_code` is not null, and `value` has the bytes;
- the coverage of a file: `file` is not null, `partition` and `copies` name the partition and the copy, `offset` is
  `file.last_offset` (`file.base_offset` if that is null), and all other columns are null.

The columns that need an explanation:

`timestamp_type`: 0 if `timestamp` is the creation time of the record, 1 if it is the append time; null if unknown.
`key_type`: the first two bytes of the key, signed; null without a key, or with a shorter one.
`group_id`: only for key types that this version knows; null if the key does not hold a complete one in UTF-8.
`transaction`: `none`, `committed`, `aborted`, `pending` (no marker up to the end of the file), or `unknown` if the
source does not show it. Kafka writes only offset commits in transactions.
`producer_id`: the transactional or idempotent producer, -1 for none; null if unknown.
`control`: a marker's `commit` or `abort`; `unknown` for a control record of another kind.
`error_code`: a value of `sources.error_codes.ErrorCode`; `error`: the same as text, with location and value.
`leader_epoch`: the partition leader's epoch when the batch was appended; null if unknown.
`copies`: the names of the copies of the partition that hold the row.
"""

COPY_SCHEMA = from_arrow_schema(COPY_COLUMNS)
"""A log row of one copy, as its reader returns it."""


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


def group_id_length() -> Column:
    """Return the length of the group id in `key` in bytes: the int16 after the type; null if the key is too short."""
    return F.when(F.length("key") >= 4, _unsigned_int16(3))  # noqa: PLR2004 - two int16


def group_id() -> Column:
    """Return the group id of `key`, after an int16 type and an int16 length; null if it is damaged or missing."""
    size = group_id_length()
    text = F.expr("substring(key, 5)").substr(F.lit(1), size)
    return F.when(F.octet_length(text) == size, F.try_validate_utf8(text.cast("string")))


def is_offset_commit() -> Column:
    """Return whether `key` is the key of an offset commit; these are about 95 % of a real log."""
    return key_of_types(OFFSET_COMMIT_TYPES)


def without_offset_commits(log: DataFrame) -> DataFrame:
    """Drop offset commits, in the JVM; rows that could not be read stay, with any key."""
    return log.filter(~is_offset_commit() | F.col("error_code").isNotNull())


def is_record() -> Column:
    """Return whether a row is a record that counts: readable, and not of an aborted transaction."""
    return F.expr(IS_RECORD)


def is_readable() -> Column:
    """Return whether a row is a record, of any transaction: no marker, no error, no coverage of a file."""
    return F.expr(IS_READABLE)


def is_unread() -> Column:
    """Return whether the source could not read a row, or it is not a record; a row with only a wrong key was read."""
    return F.expr(IS_UNREAD)


def is_file() -> Column:
    """Return whether a row is the coverage of a file (`FILE_SCHEMA`)."""
    return F.col("file").isNotNull()


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
