"""Saved rows of Spark's Kafka source: Parquet and Delta dumps, and what all kinds of dumps share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kip848_records.errors import InputError
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.queries.texts import rendered
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.rows import END_OF_MICROS, END_OF_MILLIS, ROWS_SCHEMA, as_log_rows, log_rows
from kip848_records.specs.log_columns import COPY_COLUMNS, TOPIC
from kip848_records.times import FIRST_MS, LAST_MS, NO_TIMESTAMP_MS, utc

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.queries.tables import Row
    from kip848_records.sources.listing import Copy
    from kip848_records.sources.source_kind import ReadOptions

_INTEGERS: Final = ("int", "bigint", "smallint", "tinyint")
_NUMBER: Final = "bigint"
_COLUMN_TYPES: Final[Mapping[str, tuple[str, Collection[str]]]] = {
    "key": ("binary", ("binary",)),
    "value": ("binary", ("binary",)),
    "partition": ("integer", _INTEGERS),
    "offset": ("integer", _INTEGERS),
    "timestamp": ("timestamp", ("timestamp", "timestamp_ntz", _NUMBER)),
}
COLUMNS: Final = tuple(_COLUMN_TYPES)
"""The columns that a dump must have."""
_OPTIONAL: Final = ("topic", "timestampType")
_MS_OF_NUMBER: Final = (
    f"CASE WHEN dump.timestamp BETWEEN -{END_OF_MILLIS} AND {END_OF_MILLIS} THEN dump.timestamp "
    f"WHEN dump.timestamp BETWEEN -{END_OF_MICROS} AND {END_OF_MICROS} "
    "THEN CAST(round((dump.timestamp - dump.timestamp % 1000) / 1000) AS bigint) "
    "ELSE CAST(round((dump.timestamp - dump.timestamp % 1000000) / 1000000) AS bigint) END"
)
_SQL: Final = "sources/sql"
# A writer that sees only nulls cannot know their type.
_MAY_BE_NULL: Final = ("key", "value")
_KEYS_AT_ONCE: Final = 10_000


@dataclass(frozen=True)
class Form:
    """What counts of rows that are named `dump`, in SQL: of this log are also rows in error."""

    partition: str
    ms: str
    is_of_log: str
    is_readable: str

    @staticmethod
    def is_commit(*types: int) -> str:
        """Return the condition that a row's key is that of an offset commit, of these types or of any."""
        wanted = types or OFFSET_COMMIT_TYPES
        return f"dump.key >= unhex('{min(wanted):04X}') AND dump.key < unhex('{max(wanted) + 1:04X}')"


LOG_ROWS: Final = Form(
    "dump.partition",
    "unix_millis(dump.timestamp)",
    f"dump.error_code IS DISTINCT FROM '{ErrorCode.OTHER_TOPIC.value}'",
    "dump.error_code IS NULL",
)
"""That of log rows."""


def read_columns(engine: Engine, copy: Copy, options: ReadOptions) -> Relation:
    """Return the rows (`COPY_COLUMNS`) of a Parquet or Delta dump, and its coverage of each partition.

    The coverage is computed at once, in a separate scan. A dump does not show the outcomes of transactions, so none of
    its records is known to be aborted. Raises InputError for columns that do not match.
    """
    dump = engine.scan(copy)
    types = engine.types(dump)
    columns, form = _columns(engine, dump, types, copy.name), _form(types)
    text = rendered(f"{_SQL}/dump_rows.sql", columns=columns, form=form, offset_commits=options.offset_commits)
    rows = as_log_rows(engine, engine.map(log_rows, engine.sql(text, dump=dump), ROWS_SCHEMA))
    return with_coverage(engine, rows, coverage(engine, dump, form, copy.format, options))


def may_overlap(copy: Copy) -> bool:
    """Return whether a dump may hold a row twice: always, because files may have been saved twice."""
    del copy
    return True


def keys_of(file: str) -> Iterator[pa.Array]:
    """Yield the keys of a Parquet file."""
    for batch in pq.ParquetFile(file).iter_batches(_KEYS_AT_ONCE, columns=["key"]):
        yield batch["key"]


def with_coverage(engine: Engine, rows: Relation, covered: pa.Table) -> Relation:
    """Return log rows and the rows of their coverage."""
    if not covered.num_rows:
        return rows
    return engine.sql("SELECT * FROM {rows} UNION ALL SELECT * FROM {files}", rows=rows, files=engine.relation(covered))


def coverage(engine: Engine, dump: Relation, form: Form, source_format: str, options: ReadOptions) -> pa.Table:
    """Return the coverage (`COPY_COLUMNS`) of a dump's partitions, with counts of skipped records; none unless asked.

    No row leaves the scan for it: it is an aggregate, which is computed at once.
    """
    if not options.coverage:
        return COPY_COLUMNS.empty_table()
    text = rendered(
        f"{_SQL}/dump_coverage.sql",
        form=form,
        offset_commits=options.offset_commits,
        no_timestamp=NO_TIMESTAMP_MS,
    )
    spans = engine.collect(engine.sql(text, dump=dump))
    return pa.Table.from_pylist(
        [_coverage_row(span, source_format, offset_commits=options.offset_commits) for span in spans], COPY_COLUMNS
    )


def _coverage_row(span: Row, source_format: str, *, offset_commits: bool) -> dict[str, object]:
    newest = None if offset_commits else span.newest_ms
    file = {
        "format": source_format,
        "first_offset": span.first_offset,
        "last_offset": span.last_offset,
        "has_gap": span.offsets != span.last_offset - span.first_offset + 1,
        "unread": [],
        "skipped": [] if offset_commits else _skipped(span),
        "newest_skipped": None if newest is None else utc(newest),
    }
    return {"partition": span.partition, "offset": span.last_offset, "file": file}


def _skipped(span: Row) -> list[dict[str, object]]:
    counts = ((kind, getattr(span, f"type_{kind}")) for kind in OFFSET_COMMIT_TYPES)
    return [{"key_type": kind, "transaction": "unknown", "count": count} for kind, count in counts if count]


def _columns(engine: Engine, dump: Relation, types: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the columns that log rows need, in SQL. Raises InputError for one that is missing or has another type."""
    if missing := [column for column in COLUMNS if column not in types]:
        raise InputError.missing_columns(name, missing, COLUMNS)
    columns = {column: f"dump.{column}" for column in (*COLUMNS, *_OPTIONAL) if column in types}
    for column, (usual, accepted) in _COLUMN_TYPES.items():
        if types[column] in accepted:
            continue
        if column not in _MAY_BE_NULL or _holds_values(engine, dump, column):
            raise InputError.mistyped_column(name, column, types[column], usual)
        columns[column] = "CAST(NULL AS binary)"
    if types["timestamp"] != _NUMBER:
        columns["timestamp"] = "CAST(dump.timestamp AS timestamp)"
    if "topic" in types:
        columns["topic"] = "CAST(dump.topic AS string)"
    return columns


def _holds_values(engine: Engine, dump: Relation, column: str) -> bool:
    text = f"SELECT 1 AS one FROM {{dump}} AS dump WHERE dump.{column} IS NOT NULL LIMIT 1"  # noqa: S608 - ours
    return bool(engine.collect(engine.sql(text, dump=dump)))


def _form(types: Mapping[str, str]) -> Form:
    is_number = types["timestamp"] == _NUMBER
    ms = _MS_OF_NUMBER if is_number else "unix_millis(CAST(dump.timestamp AS timestamp))"
    is_int = "dump.partition BETWEEN -2147483648 AND 2147483647"
    is_placed = f"{is_int} AND dump.offset IS NOT NULL"
    is_of_log = f"coalesce(right(CAST(dump.topic AS string), {len(TOPIC)}) = '{TOPIC}', true)"
    is_of_log = is_of_log if "topic" in types else "true"
    return Form(
        partition=f"CASE WHEN {is_int} THEN CAST(dump.partition AS int) END",
        ms=ms,
        is_of_log=is_of_log,
        is_readable=f"({is_placed} AND {ms} BETWEEN {FIRST_MS} AND {LAST_MS} AND {is_of_log})",
    )
