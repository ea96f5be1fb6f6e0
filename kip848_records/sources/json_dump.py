"""Saved rows of Spark's Kafka source as JSON lines, with keys and values as base64."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from kip848_records.errors import InputError
from kip848_records.sources.dump import COLUMN_TYPES, Check, placed_rows, timestamp_of, with_coverage
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.log_rows import KAFKA_SCHEMA
from kip848_records.spark.files import escape_glob

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.sources.listing import Copy
    from kip848_records.sources.source_kind import ReadOptions

FORMAT: Final = "json"
_CORRUPT: Final = "_corrupt_record"
_LINES_AT_ONCE: Final = 1_000


def read_lines(spark: SparkSession, copy: Copy, options: ReadOptions) -> DataFrame:
    """Return the rows (`COPY_SCHEMA`) of files of JSON lines, and their coverage of each partition.

    A line that is not such a row becomes a row with an error. Raises InputError for a column that no line has.
    """
    text = StructType([StructField(name, StringType()) for name in [*KAFKA_SCHEMA.names, _CORRUPT]])
    rows = spark.read.schema(text).option("columnNameOfCorruptRecord", _CORRUPT).json(escape_glob(copy.name))
    _check_columns(spark, rows, copy.name)
    decoded = {name: F.try_to_binary(F.col(name), F.lit("base64")) for name in ("key", "value")}
    is_no_base64 = {name: F.col(name).isNotNull() & bytes_.isNull() for name, bytes_ in decoded.items()}
    is_corrupt = F.col(_CORRUPT).isNotNull()
    number = F.col("timestamp").try_cast("bigint")
    kept = F.coalesce(F.col(_CORRUPT), F.to_json(F.struct(*KAFKA_SCHEMA.names))).cast("binary")
    typed = rows.select(
        decoded["key"].alias("key"),
        F.when(is_corrupt | is_no_base64["key"] | is_no_base64["value"], kept)
        .otherwise(decoded["value"])
        .alias("value"),
        *("topic", "partition", "offset", "timestampType"),
        F.coalesce(timestamp_of(number), F.col("timestamp").try_cast("timestamp")).alias("timestamp"),
        is_corrupt.alias("is_corrupt"),
        *(is_wrong.alias(f"is_no_base64_{name}") for name, is_wrong in is_no_base64.items()),
    )
    checks = (
        Check(F.col("is_corrupt"), ErrorCode.NOT_JSON, F.lit("the line is not a JSON object")),
        *(
            Check(F.col(f"is_no_base64_{name}"), ErrorCode.NOT_BASE64, F.lit(f"{name} is not base64"))
            for name in decoded
        ),
    )
    return with_coverage(placed_rows(typed, checks), FORMAT, options)


def keys_of(file: str) -> Iterator[pa.Array]:
    """Yield the keys of a file of JSON lines, plain or gzip; null for lines that are not rows."""
    with gzip.open(file) if file.endswith(".gz") else Path(file).open("rb") as lines:
        keys: list[bytes | None] = []
        for line in lines:
            keys.append(_key_of(line))
            if len(keys) == _LINES_AT_ONCE:
                yield pa.array(keys, pa.binary())
                keys = []
        yield pa.array(keys, pa.binary())


def _key_of(line: bytes) -> bytes | None:
    try:
        row = json.loads(line)
        return b64decode(row["key"], validate=True) if isinstance(row, dict) and row.get("key") else None
    except (TypeError, ValueError):
        return None


def _check_columns(spark: SparkSession, rows: DataFrame, path: str) -> None:
    """Raise InputError for the columns that no line has: for each column that is missing so far, read one more line.

    Spark's JSON writer omits nulls, also in a tombstone's value, and a dump may begin with rows of another topic.
    """
    missing = list(COLUMN_TYPES)
    while missing:
        line = rows.filter(reduce(or_, (F.col(name).isNotNull() for name in missing))).first()
        if line is None:
            break
        missing = [name for name in missing if line[name] is None]
    if missing and not rows.isEmpty():
        missing = _not_there(spark, path, missing)
    if missing and not rows.isEmpty():
        raise InputError.missing_columns(path, missing, list(COLUMN_TYPES))


def _not_there(spark: SparkSession, path: str, columns: list[str]) -> list[str]:
    """Return the columns that no line names: a column that is named may be null in every line."""
    is_named = (F.count_if(F.col("value").rlike(rf'"{name}"\s*:\s*null\b')).alias(name) for name in columns)
    counts = spark.read.text(escape_glob(path)).agg(*is_named).first()
    return [name for name in columns if counts is None or not counts[name]]
