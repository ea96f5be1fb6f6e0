"""Rows of Spark's Kafka source that somebody saved: Parquet, Delta, or JSON lines with base64 bytes."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

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
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from kip848_records.errors import InputError
from kip848_records.sources.files import escape_glob
from kip848_records.sources.log import COPY_SCHEMA, KAFKA_SCHEMA, OTHER_TOPIC, is_of_log, is_offset_commit

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_INTEGER = (IntegerType, LongType, ShortType, ByteType)
_COLUMN_TYPES: dict[str, tuple[type[DataType], ...]] = {
    "key": (BinaryType,),
    "value": (BinaryType,),
    "partition": _INTEGER,
    "offset": _INTEGER,
    "timestamp": (TimestampType, TimestampNTZType, LongType),
}
_CORRUPT = "_corrupt_record"

# What a column of plain numbers may count since 1970, told by its size: ms until the year 5138, µs until 5138 too.
_END_OF_MILLIS, _END_OF_MICROS = 10**14, 10**17


def read_columnar_dump(spark: SparkSession, path: str, source_format: str) -> DataFrame:
    """Return the rows (`COPY_SCHEMA`) of a `parquet` or `delta` dump; raises InputError for columns that do not fit."""
    rows = spark.read.format(source_format).load(path if source_format == "delta" else escape_glob(path))
    present = {field.name: field.dataType for field in rows.schema}
    if missing := [name for name in _COLUMN_TYPES if name not in present]:
        raise InputError.missing_columns(path, missing, list(_COLUMN_TYPES))
    for name, accepted in _COLUMN_TYPES.items():
        if not isinstance(present[name], accepted):
            raise InputError.mistyped_column(path, name, present[name].simpleString(), accepted[0].typeName())
    if isinstance(present["timestamp"], LongType):
        rows = rows.withColumn("timestamp", _from_number(F.col("timestamp")))
    return log_rows(rows, F.lit(None))


def read_json_dump(spark: SparkSession, path: str) -> DataFrame:
    """Return the rows (`COPY_SCHEMA`) of files of JSON lines; a line that is no such row becomes one with an error.

    Raises InputError where no line has one of the columns.
    """
    text = StructType([StructField(name, StringType()) for name in [*KAFKA_SCHEMA.names, _CORRUPT]])
    rows = spark.read.schema(text).option("columnNameOfCorruptRecord", _CORRUPT).json(escape_glob(path))
    _check_json_columns(rows, path)
    decoded = {name: F.try_to_binary(F.col(name), F.lit("base64")) for name in ("key", "value")}
    error = F.when(F.col(_CORRUPT).isNotNull(), F.lit("the line is not a JSON object"))
    for name, bytes_ in decoded.items():
        error = error.when(F.col(name).isNotNull() & bytes_.isNull(), F.lit(f"{name} is not base64"))
    number = F.col("timestamp").try_cast("bigint")
    timestamp = F.coalesce(_from_number(number), F.col("timestamp").try_cast("timestamp"))
    kept = F.coalesce(F.col(_CORRUPT), F.to_json(F.struct(*KAFKA_SCHEMA.names))).cast("binary")
    typed = rows.select(
        decoded["key"].alias("key"),
        F.when(error.isNull(), decoded["value"]).otherwise(kept).alias("value"),
        *("topic", "partition", "offset", "timestampType"),
        timestamp.alias("timestamp"),
        error.alias("error"),
    )
    return log_rows(typed, F.col("error"))


def _check_json_columns(rows: DataFrame, path: str) -> None:
    """Raise InputError for the columns that no line has: one line more is read for each that the ones before lack.

    Spark's JSON writer leaves nulls out, of a tombstone's value too, and a dump may begin with rows of another topic.
    """
    missing = list(_COLUMN_TYPES)
    while missing:
        line = rows.filter(reduce(or_, (F.col(name).isNotNull() for name in missing))).first()
        if line is None:
            break
        missing = [name for name in missing if line[name] is None]
    if missing and not rows.isEmpty():
        raise InputError.missing_columns(path, missing, list(_COLUMN_TYPES))


def log_rows(rows: DataFrame, error: Column) -> DataFrame:
    """Give rows with the Kafka source's columns all columns of a log row.

    Whoever saved them may have other numbers in them than Kafka has, and names for its types of timestamps.
    """
    given = {field.name: field.dataType for field in rows.schema}
    numbers = {name: F.col(name).try_cast(KAFKA_SCHEMA[name].dataType) for name in ("partition", "offset")}
    optional = {"topic": F.lit(None)} if "topic" not in given else {}
    rows = rows.withColumns(numbers | optional | {"timestampType": _timestamp_type(given.get("timestampType"))})
    placed = F.col("partition").isNotNull() & F.col("offset").isNotNull() & F.col("timestamp").isNotNull()
    # Only offset commits are ever written in transactions, and the Kafka source does not show how those ended.
    transaction = F.when(is_offset_commit(), "unknown").otherwise("none")
    reason = F.coalesce(
        F.when(~is_of_log(), F.concat(F.lit(OTHER_TOPIC), F.col("topic"))),
        error,
        F.when(~placed, F.lit("no partition, offset or timestamp")),
        F.when(~F.year("timestamp").between(1, 9999), F.lit("timestamp out of range")),
    )
    known = {name: F.col(name) for name in KAFKA_SCHEMA.names} | {"transaction": transaction, "error": reason}
    return rows.select(*(known.get(f.name, F.lit(None)).cast(f.dataType).alias(f.name) for f in COPY_SCHEMA))


def _timestamp_type(given: DataType | None) -> Column:
    """Return Kafka's number of the type that a column `timestampType` of this data type holds; null for no type."""
    kind = F.col("timestampType")
    if isinstance(given, StringType):
        return F.coalesce(kind.try_cast("int"), F.when(kind == "CreateTime", 0).when(kind == "LogAppendTime", 1))
    return kind.try_cast("int") if isinstance(given, NumericType) else F.lit(None)


def _from_number(number: Column) -> Column:
    """Return the time that a count of ms, µs or ns since 1970 stands for."""
    is_millis, is_micros = (number.between(-end, end) for end in (_END_OF_MILLIS, _END_OF_MICROS))
    micros = F.when(is_millis, number * 1000).when(is_micros, number)
    return F.timestamp_micros(micros.otherwise(F.call_function("div", number, F.lit(1000))))
