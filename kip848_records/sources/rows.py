"""Rows of a source become log rows: what their columns mean, and which rows are errors, in Arrow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.columnar import Error
from kip848_records.protocol.columns import TIMES
from kip848_records.protocol.keys import key_columns, lacks_group
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.queries.texts import literal
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.specs.log_columns import COPY_COLUMNS, FILE, LOG_COLUMNS, TOPIC
from kip848_records.times import NO_TIMESTAMP_MS, can_be_shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from kip848_records.engines.engine import Engine, Relation

# A null array costs a row 4 bytes on its way from a worker, a null struct as much as all its fields.
ROWS_SCHEMA: Final = pa.schema(
    [pa.field("files", pa.list_(FILE)) if field.name == "file" else field for field in COPY_COLUMNS]
)
"""The columns of log rows as functions yield them: `files`, an array of at most one element, instead of `file`."""

_FILE: Final = "get(found.files, 0) AS file"
_COPY: Final = ", ".join(_FILE if name == "file" else f"found.{name}" for name in COPY_COLUMNS.names)
_AS_COPY: Final = f"SELECT {_COPY} FROM {{rows}} AS found"  # noqa: S608 - our own columns

NOWHERE: Final = "no partition, offset or timestamp"
OUT_OF_RANGE: Final = "timestamp out of range"
WITHOUT_TYPE: Final = f"key: {Error.MISSING_KEY.reason}"
WITHOUT_GROUP: Final = "key: no group id"
"""Texts of errors."""

END_OF_MILLIS: Final = 10**14
END_OF_MICROS: Final = 10**17
"""The unit of a numeric time since 1970 follows from its size: ms up to the year 5138, µs up to 5138 too, else ns."""
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_THOUSAND: Final = 1000

INTEGER: Final = re.compile(r"\s*[+-]?\d{1,40}\s*")
"""A text that is a whole number, of a length that Python converts."""
_TIMESTAMP_TYPES: Final = {"CreateTime": 0, "LogAppendTime": 1}


def as_log_rows(engine: Engine, rows: Relation) -> Relation:
    """Return rows of workers (`ROWS_SCHEMA`) as those of a copy (`COPY_COLUMNS`)."""
    return engine.sql(_AS_COPY, rows=rows)


def of_copy(engine: Engine, rows: Relation, name: str) -> Relation:
    """Return the rows of a copy (`COPY_COLUMNS`) as those of the log (`LOG_COLUMNS`), which name it."""
    # This function makes an array of one text on both engines: no path has that separator.
    copies = f"split({literal(name)}, chr(1)) AS copies"
    columns = ", ".join(copies if column == "copies" else f"found.{column}" for column in LOG_COLUMNS.names)
    return engine.sql(f"SELECT {columns} FROM {{rows}} AS found", rows=rows)  # noqa: S608 - our own columns


def log_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the log rows (`ROWS_SCHEMA`) of rows of Spark's Kafka source.

    The writer of a dump may have saved other types than Kafka's: `partition` and `offset` are integers, `timestamp` is
    a time of any unit, in UTC if it has no zone, or a number of ms, µs or ns. `timestampType` is a number or Kafka's
    name; without the column it is unknown. Without `topic`, all rows are of this log. `error_code` and `error`, if
    there, say why a row was not read. A dump does not show the outcomes of transactions, in which Kafka writes only
    offset commits.
    """
    return map(_log_rows, batches)


def _log_rows(rows: pa.RecordBatch) -> pa.RecordBatch:
    given = dict(zip(rows.schema.names, rows.columns, strict=True))
    millis, micros, is_timed = times_of(given["timestamp"])
    is_shown = can_be_shown(millis)
    is_known = is_timed & is_shown & (millis != NO_TIMESTAMP_MS)
    partition, offset = _integers(given["partition"], pa.int32()), _integers(given["offset"], pa.int64())
    is_complete = pc.and_(pc.and_(pc.is_valid(partition), pc.is_valid(offset)), pa.array(is_timed))
    columns = {
        "partition": partition,
        "offset": offset,
        "timestamp": pa.array(np.where(is_known, micros, 0), mask=~is_known).cast(TIMES),
        "timestamp_type": _timestamp_types(given.get("timestampType"), rows.num_rows),
        "key": given["key"].cast(pa.binary()),
        "value": given["value"].cast(pa.binary()),
        **({"error_code": given["error_code"], "error": given["error"]} if "error_code" in given else {}),
    }
    if "topic" in given:
        columns |= _other_topic(given["topic"].cast(pa.string()), columns)
    columns |= first_errors(columns, rows.num_rows, is_shown=is_shown, is_complete=is_complete)
    is_commit = pc.is_in(columns["key_type"], pa.array(OFFSET_COMMIT_TYPES, pa.int32()))
    return full_rows(columns | {"transaction": pc.if_else(is_commit, "unknown", "none")}, rows.num_rows)


def first_errors(
    columns: Mapping[str, pa.Array], count: int, *, is_shown: NDArray[np.bool_], is_complete: pa.Array | None = None
) -> dict[str, pa.Array]:
    """Return type and group id of the keys in some columns of log rows, and the first error of each row.

    `is_shown`: which times can be represented; `is_complete`: which rows have a partition, an offset and a time, by
    default all.
    `error_code` and `error`, if there, stay. Markers, which have `control`, need no key.
    """
    key_type, group_id = key_columns(columns["key"])
    every = pa.repeat(pa.scalar(value=True), count)
    is_record = pc.is_null(columns["control"]) if "control" in columns else every
    code, error = (columns.get(name, pa.nulls(count, pa.string())) for name in ("error_code", "error"))
    for wrong, value, text in (
        (pc.invert(every if is_complete is None else is_complete), ErrorCode.INCOMPLETE_ROW, NOWHERE),
        (pa.array(~is_shown), ErrorCode.TIMESTAMP_OUT_OF_RANGE, OUT_OF_RANGE),
        (pc.and_(is_record, pc.is_null(key_type)), ErrorCode.KEY_WITHOUT_TYPE, WITHOUT_TYPE),
        (pc.and_(is_record, lacks_group(key_type, group_id)), ErrorCode.KEY_WITHOUT_GROUP, WITHOUT_GROUP),
    ):
        if pc.any(wrong).as_py():
            is_first = pc.and_(wrong, pc.is_null(code))
            code, error = pc.if_else(is_first, value.value, code), pc.if_else(is_first, text, error)
    return {"key_type": key_type, "group_id": group_id, "error_code": code, "error": error}


def full_rows(columns: Mapping[str, pa.Array], count: int) -> pa.RecordBatch:
    """Return log rows (`ROWS_SCHEMA`) of these columns; missing ones are null."""
    full = [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in ROWS_SCHEMA]
    return pa.RecordBatch.from_arrays(full, ROWS_SCHEMA.names)


def times_of_numbers(numbers: pa.Array) -> pa.Array:
    """Return the times of numbers (int64) of ms, µs or ns since 1970."""
    return pa.array(
        _micros(pc.fill_null(numbers, 0).to_numpy()), mask=pc.is_null(numbers).to_numpy(zero_copy_only=False)
    ).cast(TIMES)


def _other_topic(topic: pa.Array, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return the code and the text of each row's error: that of a row of another topic precedes what is there."""
    is_other = pc.fill_null(pc.invert(pc.ends_with(topic, TOPIC)), fill_value=False)
    if not pc.any(is_other).as_py():
        return {}
    code, error = (columns.get(name, pa.nulls(len(topic), pa.string())) for name in ("error_code", "error"))
    named = pc.binary_join_element_wise("a row of topic ", topic, "")
    is_code = pc.if_else(is_other, ErrorCode.OTHER_TOPIC.value, code)
    return {"error_code": is_code, "error": pc.if_else(is_other, named, error)}


def times_of(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return times in ms and in µs since 1970, and which rows have one; µs are right for times that can be shown."""
    is_timed = pc.is_valid(column).to_numpy(zero_copy_only=False)
    number = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
    if not pa.types.is_timestamp(column.type):
        micros = _micros(number)
    elif (per_second := _PER_SECOND[column.type.unit]) > _THOUSAND:
        micros = number // (per_second // _PER_SECOND["us"])
    else:
        millis = number * (_THOUSAND // per_second)
        return millis, np.where(can_be_shown(millis), millis, 0) * _THOUSAND, is_timed
    return micros // _THOUSAND, micros, is_timed


def _micros(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return µs since 1970 for numbers of ms, µs or ns."""
    is_millis, is_micros = ((number >= -end) & (number <= end) for end in (END_OF_MILLIS, END_OF_MICROS))
    micros = np.where(is_millis, np.where(is_millis, number, 0) * _THOUSAND, number)
    return np.where(is_micros, micros, number // _THOUSAND)


def _integers(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return whole numbers of another width; null for those that do not fit."""
    if column.type == wanted or column.type.bit_width < wanted.bit_width:
        return column.cast(wanted)
    beyond = 1 << (wanted.bit_width - 1)
    fits = pc.and_(pc.greater_equal(column, -beyond), pc.less(column, beyond))
    return pc.if_else(fits, column, None).cast(wanted)


def _timestamp_types(column: pa.Array | None, count: int) -> pa.Array:
    """Return Kafka's numbers for the values of a column `timestampType`; null for names that are none of Kafka's."""
    if column is None:
        return pa.nulls(count, pa.int32())
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _integers(column.cast(pa.int64(), safe=False), pa.int32())
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return pa.nulls(count, pa.int32())
    names = column.dictionary_encode()
    numbers = pa.array([_timestamp_type(name) for name in names.dictionary.to_pylist()], pa.int32())
    return numbers.take(names.indices)


def _timestamp_type(name: str) -> int | None:
    if not INTEGER.fullmatch(name):
        return _TIMESTAMP_TYPES.get(name)
    return number if abs(number := int(name)) < 1 << 31 else None
