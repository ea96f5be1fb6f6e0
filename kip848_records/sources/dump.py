"""Saved rows of Spark's Kafka source: Parquet and Delta dumps, and the code that all kinds of dumps share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.parquet as pq
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    NumericType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from kip848_records.errors import InputError
from kip848_records.protocol.columnar import Error
from kip848_records.protocol.keys import GROUP_TYPES
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES, RECORDS
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.log_rows import (
    COPY_SCHEMA,
    FILE_SCHEMA,
    KAFKA_SCHEMA,
    group_id,
    is_of_log,
    is_offset_commit,
    key_of_types,
    key_type,
    without_offset_commits,
)
from kip848_records.spark.files import escape_glob
from kip848_records.specs.log_columns import TOPIC
from kip848_records.times import NO_TIMESTAMP_MS, utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from kip848_records.sources.listing import Copy
    from kip848_records.sources.source_kind import ReadOptions

_INTEGER = (IntegerType, LongType, ShortType, ByteType)
COLUMN_TYPES: dict[str, tuple[type[DataType], ...]] = {
    "key": (BinaryType,),
    "value": (BinaryType,),
    "partition": _INTEGER,
    "offset": _INTEGER,
    "timestamp": (TimestampType, TimestampNTZType, LongType),
}
"""The columns that a dump must have, with the types that a typed format may have; the first one is usual."""

# The unit of a numeric time since 1970 follows from its size: ms up to the year 5138, µs up to 5138 too.
_END_OF_MILLIS, _END_OF_MICROS = 10**14, 10**17
_KEYS_AT_ONCE = 10_000
_MAY_BE_NULL = ("key", "value")


class Check(NamedTuple):
    """A possible error of a row: its condition, its code, and its text."""

    is_wrong: Column
    code: ErrorCode
    text: Column


def read_columns(spark: SparkSession, copy: Copy, options: ReadOptions) -> DataFrame:
    """Return the rows (`COPY_SCHEMA`) of a Parquet or Delta dump, and its coverage of each partition.

    The coverage is computed at once, in a separate scan. A dump does not show the outcomes of transactions, so none of
    its records is known to be aborted. Raises InputError for columns that do not match.
    """
    path = copy.name if copy.format == "delta" else escape_glob(copy.name)
    rows = spark.read.format(copy.format).load(path)
    present = {field.name: field.dataType for field in rows.schema}
    if missing := [name for name in COLUMN_TYPES if name not in present]:
        raise InputError.missing_columns(copy.name, missing, list(COLUMN_TYPES))
    for name, accepted in COLUMN_TYPES.items():
        if isinstance(present[name], accepted):
            continue
        # A column of nulls may have any type: a writer cannot know the right one.
        if name not in _MAY_BE_NULL or not rows.filter(F.col(name).isNotNull()).isEmpty():
            raise InputError.mistyped_column(copy.name, name, present[name].simpleString(), accepted[0].typeName())
        rows = rows.withColumn(name, F.lit(None).cast("binary"))
    if isinstance(present["timestamp"], LongType):
        rows = rows.withColumn("timestamp", timestamp_of(F.col("timestamp")))
    return with_coverage(placed_rows(rows), copy.format, options)


def may_overlap(copy: Copy) -> bool:
    """Return whether a dump may hold a row twice: always, because files may have been saved twice."""
    del copy
    return True


def keys_of(file: str) -> Iterator[pa.Array]:
    """Yield the keys of a Parquet file."""
    for batch in pq.ParquetFile(file).iter_batches(_KEYS_AT_ONCE, columns=["key"]):
        yield batch["key"]


def placed_rows(rows: DataFrame, checks: Sequence[Check] = ()) -> DataFrame:
    """Return rows of the Kafka source with all columns of a log row, except those derived from the key.

    The writer of a dump may have saved other number types than Kafka's, and names for Kafka's timestamp types.
    `checks`: errors of this kind of dump, in addition to those of every dump.
    """
    given = {field.name: field.dataType for field in rows.schema}
    numbers = {name: F.col(name).try_cast(KAFKA_SCHEMA[name].dataType) for name in ("partition", "offset")}
    optional = {"topic": F.lit(None).cast("string")} if "topic" not in given else {}
    rows = rows.withColumns(numbers | optional)
    is_complete = F.col("partition").isNotNull() & F.col("offset").isNotNull() & F.col("timestamp").isNotNull()
    is_shown = F.year("timestamp").between(1, 9999)
    is_of_topic = F.coalesce(F.col("topic").endswith(TOPIC), F.lit(True))  # noqa: FBT003 - without a topic it is
    every = (
        Check(~is_of_topic, ErrorCode.OTHER_TOPIC, F.concat(F.lit("a row of topic "), F.col("topic"))),
        *checks,
        Check(~is_complete, ErrorCode.INCOMPLETE_ROW, F.lit("no partition, offset or timestamp")),
        Check(~is_shown, ErrorCode.TIMESTAMP_OUT_OF_RANGE, F.lit("timestamp out of range")),
    )
    known = {name: F.col(name) for name in ("partition", "offset", "key", "value")} | {
        "timestamp": F.when(is_shown & (F.unix_millis("timestamp") != NO_TIMESTAMP_MS), F.col("timestamp")),
        "timestamp_type": _timestamp_type(given.get("timestampType")),
        # Kafka writes only offset commits in transactions, and its Spark source does not show their outcomes.
        "transaction": F.when(is_offset_commit(), "unknown").otherwise("none"),
        **first_error(every),
    }
    full = ((known.get(field.name, F.lit(None)), field) for field in COPY_SCHEMA)
    return rows.select(*(column.cast(field.dataType).alias(field.name) for column, field in full))


def log_rows(placed: DataFrame) -> DataFrame:
    """Add the columns derived from the key to `placed_rows`."""
    keyed = placed.withColumns(
        {"key_type": key_type(), "group_id": F.when(key_of_types(RECORDS), group_id())},
    )
    is_of_group = key_of_types(GROUP_TYPES)
    checks = (
        Check(F.col("key_type").isNull(), ErrorCode.KEY_WITHOUT_TYPE, F.lit(f"key: {Error.MISSING_KEY.reason}")),
        Check(is_of_group & F.col("group_id").isNull(), ErrorCode.KEY_WITHOUT_GROUP, F.lit("key: no group id")),
    )
    later = first_error(checks)
    return keyed.withColumns({name: F.coalesce(F.col(name), found) for name, found in later.items()})


def first_error(checks: Sequence[Check]) -> dict[str, Column]:
    """Return code and text of the first check that finds an error; null if none does."""
    return {
        "error_code": F.coalesce(*(F.when(check.is_wrong, check.code.value) for check in checks)),
        "error": F.coalesce(*(F.when(check.is_wrong, check.text) for check in checks)),
    }


def with_coverage(placed: DataFrame, source_format: str, options: ReadOptions) -> DataFrame:
    """Return a dump's log rows and, if requested, its coverage of each partition."""
    rows = log_rows(placed if options.offset_commits else without_offset_commits(placed))
    if not options.coverage:
        return rows
    covered = _coverage(placed, source_format, offset_commits=options.offset_commits)
    return rows.unionByName(placed.sparkSession.createDataFrame(covered, COPY_SCHEMA)) if covered else rows


def timestamp_of(number: Column) -> Column:
    """Return the time of a number of ms, µs or ns since 1970."""
    is_millis, is_micros = (number.between(-end, end) for end in (_END_OF_MILLIS, _END_OF_MICROS))
    micros = F.when(is_millis, number * 1000).when(is_micros, number)
    return F.timestamp_micros(micros.otherwise(F.call_function("div", number, F.lit(1000))))


def _coverage(placed: DataFrame, source_format: str, *, offset_commits: bool) -> list[tuple[Any, ...]]:
    """Return the coverage rows of a dump's partitions, with the counts of skipped records."""
    here = placed.filter(F.col("partition").isNotNull() & F.col("offset").isNotNull() & is_of_log())
    counts = {"first": F.min("offset"), "last": F.max("offset"), "rows": F.count("*")}
    if not offset_commits:
        is_skipped = is_offset_commit() & F.col("error_code").isNull()
        counts |= {f"type_{kind}": F.count_if(is_skipped & key_of_types([kind])) for kind in OFFSET_COMMIT_TYPES}
        counts["newest_ms"] = F.max(F.when(is_skipped, F.unix_millis("timestamp")))
    spans = here.groupBy("partition").agg(*(count.alias(name) for name, count in counts.items())).collect()
    # Rows may occur twice, so the number of rows alone proves nothing.
    gapless = [span.partition for span in spans if span.rows > span.last - span.first]
    offsets: dict[int, int] = {}
    if gapless:
        distinct = here.filter(F.col("partition").isin(gapless)).groupBy("partition")
        offsets = {row.partition: row.n for row in distinct.agg(F.count_distinct("offset").alias("n")).collect()}
    return [
        _coverage_row(
            span.partition,
            span.last,
            format=source_format,
            first_offset=span.first,
            last_offset=span.last,
            has_gap=offsets.get(span.partition) != span.last - span.first + 1,
            unread=[],
            skipped=[] if offset_commits else _skipped(span),
            newest_skipped=None if offset_commits or span.newest_ms is None else utc(span.newest_ms),
        )
        for span in spans
    ]


def _skipped(span: Row) -> list[tuple[int, str, int]]:
    counts = ((kind, "unknown", span[f"type_{kind}"]) for kind in OFFSET_COMMIT_TYPES)
    return [each for each in counts if each[2]]


def _coverage_row(partition: int, offset: int, **fields: object) -> tuple[Any, ...]:
    row = {"partition": partition, "offset": offset, "file": tuple(fields.get(name) for name in FILE_SCHEMA.names)}
    return tuple(row.get(name) for name in COPY_SCHEMA.names)


def _timestamp_type(given: DataType | None) -> Column:
    """Return Kafka's number for the values of a column `timestampType` of this data type; null for no type."""
    kind = F.col("timestampType")
    if isinstance(given, StringType):
        return F.coalesce(kind.try_cast("int"), F.when(kind == "CreateTime", 0).when(kind == "LogAppendTime", 1))
    return kind.try_cast("int") if isinstance(given, NumericType) else F.lit(None)
