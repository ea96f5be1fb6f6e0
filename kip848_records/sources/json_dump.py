"""Saved rows of Spark's Kafka source as JSON lines, with keys and values as base64."""

from __future__ import annotations

import gzip
import json
import zlib
from binascii import a2b_base64
from datetime import UTC, datetime
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.errors import InputError
from kip848_records.protocol.columns import TIMES
from kip848_records.queries.texts import rendered
from kip848_records.sources.dump import COLUMNS, LOG_ROWS, counted_by_key, skipped, spans, with_coverage
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.rows import INTEGER, ROWS_SCHEMA, as_log_rows, log_rows, times_of_numbers
from kip848_records.specs.log_columns import COPY_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.sources.listing import Copy
    from kip848_records.sources.source_kind import CopyRows, ReadOptions

FORMAT: Final = "json"
_LINES_AT_ONCE: Final = 1_000
_NAMED_SCHEMA: Final = pa.schema([(name, pa.int32()) for name in COLUMNS])
_ROW_SCHEMA: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int64()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("timestampType", pa.string()),
        ("error_code", pa.string()),
        ("error", pa.string()),
    ]
)
_ANY: Final = f"SELECT {', '.join(f'max(found.{name}) AS {name}' for name in COLUMNS)} FROM {{found}} AS found"  # noqa: S608
_LAST_LONG: Final = (1 << 63) - 1
_SPACE: Final = str.maketrans("", "", " \t\r\n")


def read_lines(engine: Engine, copy: Copy, options: ReadOptions) -> CopyRows:
    """Return the rows of files of JSON lines, and their coverage of each partition.

    A line that is not such a row becomes a row with an error. Raises InputError for a column that no line has.
    """
    lines = engine.lines(copy)
    _check_columns(engine, lines, copy.name)
    read = as_log_rows(engine, engine.map(rows_of_lines, lines, ROWS_SCHEMA))
    columns = {name: f"dump.{name}" for name in COPY_COLUMNS.names}
    found = spans(engine, read, LOG_ROWS, options)
    text = rendered("sources/sql/dump_rows.sql", columns=columns, skipped=skipped(LOG_ROWS, options, found))
    by_key = counted_by_key(engine, read, columns, LOG_ROWS, found) if options.by_key else None
    return with_coverage(engine, engine.sql(text, dump=read), found, FORMAT, by_key)


def keys_of(file: str) -> Iterator[pa.Array]:
    """Yield the keys of a file of JSON lines, plain or gzip; null for lines that are not rows.

    Raises InputError for a file that cannot be decompressed.
    """
    with gzip.open(file) if file.endswith(".gz") else Path(file).open("rb") as lines:
        try:
            while several := list(islice(lines, _LINES_AT_ONCE)):
                yield pa.array([_key_of(line) for line in several], pa.binary())
        except (EOFError, OSError, zlib.error):
            raise InputError.unreadable(file) from None


def rows_of_lines(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield log rows (`ROWS_SCHEMA`) of lines: the column `value`, and columns that the names of folders give."""
    return log_rows(map(_parsed, batches))


def _parsed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return lines as rows of the Kafka source, with the errors of those that are none."""
    found = [_row(*each) for each in _objects(batch)]
    columns = {name: [row.get(name) for row in found] for name in (*_ROW_SCHEMA.names, "time")}
    typed = {field.name: pa.array(columns[field.name], field.type) for field in _ROW_SCHEMA}
    times = pa.array(columns["time"], TIMES)
    typed["timestamp"] = pc.coalesce(times_of_numbers(typed["timestamp"]), times)
    return pa.RecordBatch.from_pydict(typed)


def _objects(batch: pa.RecordBatch) -> Iterator[tuple[bytes | None, dict[str, Any] | None, dict[str, Any]]]:
    """Yield each line with its object, None for anything else, and with what its folder's name gives.

    Empty lines are skipped. An array counts as a line for each of its objects, without a text: all may be one line.
    """
    folders = batch.drop_columns(["value"]).to_pylist() if batch.num_columns > 1 else repeat({})
    for line, folder in zip(batch["value"].to_pylist(), folders, strict=False):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (RecursionError, ValueError):
            found = None
        objects = found if isinstance(found, list) else [found]
        if all(isinstance(each, dict) for each in objects):
            text = None if found is objects else line
            yield from ((text, each, folder) for each in objects)
        else:
            yield line, None, folder


def _row(line: bytes | None, found: dict[str, Any] | None, folder: dict[str, Any]) -> dict[str, Any]:
    given = {**(found or {}), **folder}
    row: dict[str, Any] = {
        "topic": _text(given.get("topic")),
        "partition": _long(given.get("partition")),
        "offset": _long(given.get("offset")),
        "timestamp": _long(given.get("timestamp")),
        "timestampType": _text(given.get("timestampType")),
    }
    if row["timestamp"] is None:
        row["time"] = _time(given.get("timestamp"))
    if found is None:
        row |= {"error_code": ErrorCode.NOT_JSON.value, "error": "the line is not a JSON object"}
    for name in ("key", "value"):
        text = _text(given.get(name))
        row[name] = None if text is None else _bytes(text)
        if text is not None and row[name] is None and "error" not in row:
            row |= {"error_code": ErrorCode.NOT_BASE64.value, "error": f"{name} is not base64"}
    if "error" in row:
        row["value"] = json.dumps(found).encode() if line is None else line
    return row


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()  # JSON may have half of a pair of UTF-16, which is no text
    return None if value is None else json.dumps(value)


def _long(value: object) -> int | None:
    """Return a whole number of at most 64 bits, or the one that a text holds."""
    if isinstance(value, str) and INTEGER.fullmatch(value):
        value = int(value)
    return value if type(value) is int and -_LAST_LONG <= value + 1 <= _LAST_LONG + 1 else None


def _bytes(text: str) -> bytes | None:
    """Return the bytes of base64, which may lack padding and contain white space."""
    try:
        return a2b_base64(text, strict_mode=True)
    except ValueError:
        bare = text.translate(_SPACE)
    try:
        return a2b_base64(bare + "=" * (-len(bare) % 4), strict_mode=True)
    except ValueError:
        return None


def _time(value: object) -> datetime | None:
    """Return the time in a text of ISO 8601, UTC unless it names its zone."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value.strip().removesuffix("UTC").rstrip())
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _key_of(line: bytes) -> bytes | None:
    rows = _objects(pa.RecordBatch.from_pydict({"value": [line]}))
    return next((_row(*each)["key"] for each in rows), None)


def _check_columns(engine: Engine, lines: Relation, path: str) -> None:
    """Raise InputError for the columns that no line names; one that is named may be null in every line.

    Spark's JSON writer omits nulls, also in a tombstone's value, and a dump may begin with rows of another topic.
    """
    for work in (_named_first, _named):
        (found,) = engine.collect(engine.sql(_ANY, found=engine.map(work, lines, _NAMED_SCHEMA)))
        missing = [name for name, is_named in zip(COLUMNS, found, strict=True) if not is_named]
        if None in found or not missing:  # no line at all, or enough of them
            return
    raise InputError.missing_columns(path, missing, COLUMNS)


def _named_first(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield which columns the first lines name: most dumps need no more."""
    return _named(islice(batches, 1))


def _named(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield which columns the lines of each batch name."""
    for batch in batches:
        objects = [{*(found or {}), *folder} for _, found, folder in _objects(batch)]
        if objects:
            named = set[str]().union(*objects)
            yield pa.RecordBatch.from_pylist([{name: int(name in named) for name in COLUMNS}], _NAMED_SCHEMA)
