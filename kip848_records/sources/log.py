"""Log rows: what every source is turned into, and how their kind is told by the JVM alone."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES, RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

_TYPES = 1 << 16  # a type is an int16, negative ones after the others as bytes go

TOPIC = "__consumer_offsets"

OTHER_TOPIC = "a row of topic "
"""How the error begins of a row that a dump has of another topic: nothing of this log is lost with it."""

LEFT_OUT = "left out"
"""The control rows (`COPY_SCHEMA`) that count offset commits which a source has left out."""

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
"""The columns of Spark's Kafka source, headers apart (no coordinator writes any)."""

COPY_SCHEMA = StructType(
    [
        *KAFKA_SCHEMA.fields,
        StructField("transaction", StringType()),
        StructField("compaction_gap", BooleanType()),
        StructField("producer_id", LongType()),
        StructField("control", StringType()),
        StructField("error", StringType()),
    ]
)
"""A log row of one copy: Kafka's columns, then what a source may know besides.

`transaction`: `none`, `committed`, `aborted`, `pending` (no marker up to the end of the file), or `unknown` where the
source does not tell. Only offset commits are ever written in transactions.
`compaction_gap`: whether compaction removed records directly before this one; null where the source does not tell.
`producer_id`: the transactional or idempotent producer, -1 for none; null where the source does not tell.
`control`: null for every record. `commit` and `abort`: a transaction's marker. `compacted`: the last offset of a file
that has lost its last records. Every segment file in which something could be read also tells, by the offsets of
such rows: `start`, where the partition's first file starts; `file`, where it starts itself; `gap`, where its last gap
ends; `end`, the last offset that it covers. They have no key. `start` and `end` of a dump: `sources.ends_of_dumps`.
`left out`: of offset commits that were read and left out, `key` is their type, `transaction` their outcome, `value` how
many there were (int64), `timestamp` the newest of them.
`error`: why the source could not read what stands here, with the bytes in `value`; null for every readable row.
"""

LOG_SCHEMA = StructType([*COPY_SCHEMA.fields, StructField("copies", ArrayType(StringType()))])
"""A log row, with `copies`: the names of the copies of its partition that hold it."""


def key_of_types(key_types: Iterable[int]) -> Column:
    """Return whether `key` is of one of the record types; false, not null, without a key.

    Types are compared as the key's first two bytes in order, which Spark pushes down to Parquet.
    """
    key = F.col("key")
    unsigned = (key_type % _TYPES for key_type in key_types)
    of_types = [(key >= _prefix(first)) & _is_below(last + 1) for first, last in _ranges(unsigned)]
    return F.coalesce(reduce(or_, of_types, F.lit(False)), F.lit(False))  # noqa: FBT003


def key_of_unknown_type() -> Column:
    """Return whether `key` begins with a type that is not in `RECORDS`; false, not null, without a key."""
    typed = F.coalesce(F.length("key"), F.lit(0)) >= 2  # noqa: PLR2004 - an int16
    return typed & ~key_of_types(RECORDS)


def key_type() -> Column:
    """Return the record type that `key` begins with; null without a key, or with one too short."""
    unsigned = _unsigned_int16(1)
    signed = F.when(unsigned >= 1 << 15, unsigned - (1 << 16)).otherwise(unsigned)
    return F.when(F.length("key") >= 2, signed)  # noqa: PLR2004 - an int16


def key_ends_after_group() -> Column:
    """Return whether `key` has a type and a group id and no more; false, not null, without a key."""
    return F.coalesce(F.length("key") == group_id_length() + 4, F.lit(False))  # noqa: FBT003 - int16 type, int16 length


def group_id_length() -> Column:
    """Return how many bytes of `key` are its group id: the int16 behind the type."""
    return _unsigned_int16(3)


def group_id() -> Column:
    """Return the group id of `key`, behind an int16 type and an int16 length; null if it is damaged or not there."""
    size = group_id_length()
    text = F.expr("substring(key, 5)").substr(F.lit(1), size)
    return F.when(F.octet_length(text) == size, F.try_validate_utf8(text.cast("string")))


def is_offset_commit() -> Column:
    """Return whether `key` is that of an offset commit, about 95 % of a real log."""
    return key_of_types(OFFSET_COMMIT_TYPES)


def without_offset_commits(log: DataFrame) -> DataFrame:
    """Drop offset commits, in the JVM; rows that could not be read stay, whatever their key."""
    return log.filter(~is_offset_commit() | F.col("error").isNotNull())


def left_out() -> Column:
    """Return how many records a control row `left out` stands for; null for all other rows."""
    return F.when(F.col("control") == LEFT_OUT, F.conv(F.hex("value"), 16, 10).cast("bigint"))


def is_record() -> Column:
    """Return whether a row is a record that counts: readable, no control record, not of an aborted transaction."""
    return is_readable() & (F.col("transaction") != "aborted")


def is_readable() -> Column:
    """Return whether a row is a record, of any transaction: no control record, and nothing that could not be read."""
    return F.col("error").isNull() & F.col("control").isNull()


def is_of_log() -> Column:
    """Return whether a row is of this log, not of another topic that a dump has too; without a topic it is."""
    return F.coalesce(F.col("topic").endswith(TOPIC), F.lit(True))  # noqa: FBT003


def newest_ms() -> Column:
    """Return the newest time in this log, in ms since 1970: of records, and of what could not be read.

    A damaged row may be of any time; in a year that cannot be shown, it does not count.
    """
    is_counted = is_readable() | left_out().isNotNull() | F.col("error").isNotNull()
    counts = is_of_log() & F.year("timestamp").between(1, 9999) & is_counted
    return F.max(F.when(counts, F.unix_millis("timestamp")))


def _unsigned_int16(position: int) -> Column:
    """Return the two bytes of `key` at a position that counts from 1."""
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
