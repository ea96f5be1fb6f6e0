"""Saved rows of Spark's Kafka source: Parquet and Delta dumps, and what all kinds of dumps share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kip848_records.engines.engine import union_of
from kip848_records.errors import InputError
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.queries.texts import rendered
from kip848_records.sources.dump_by_key import by_key_of_rows
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.rows import END_OF_MICROS, END_OF_MILLIS, ROWS_SCHEMA, as_log_rows, log_rows
from kip848_records.sources.source_kind import CopyRows
from kip848_records.specs.log_columns import BY_KEY, COPY_COLUMNS, TOPIC
from kip848_records.times import FIRST_MS, LAST_MS, MICROS_PER_MS, NO_TIMESTAMP_MS, utc

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

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
    """SQL for the rows of a relation named `dump`. Rows in error are rows of this log too.

    `time`: a number, `per_ms` of which are a millisecond.
    """

    partition: str
    time: str
    per_ms: int
    is_of_log: str
    is_readable: str

    def is_at(self, ms: int) -> str:
        """Return the condition that a column `time` of these numbers is within a millisecond."""
        return f"(time {_between(ms, ms, self.per_ms)})"

    @staticmethod
    def is_commit(*types: int) -> str:
        """Return the condition that a row's key is that of an offset commit, of these types or of any."""
        wanted = types or OFFSET_COMMIT_TYPES
        return f"dump.key >= unhex('{min(wanted):04X}') AND dump.key < unhex('{max(wanted) + 1:04X}')"


LOG_ROWS: Final = Form(
    "dump.partition",
    "unix_micros(dump.timestamp)",
    MICROS_PER_MS,
    f"dump.error_code IS DISTINCT FROM '{ErrorCode.OTHER_TOPIC.value}'",
    "dump.error_code IS NULL",
)
"""The form of log rows."""


def read_columns(engine: Engine, copy: Copy, options: ReadOptions) -> CopyRows:
    """Return the rows of a Parquet or Delta dump, and its coverage of each partition.

    The coverage is computed at once, in a separate scan. A dump does not show the outcomes of transactions, so none of
    its records is known to be aborted. Raises InputError for columns that do not match.
    """
    dump = engine.scan(copy)
    types = engine.types(dump)
    columns, form = _columns(engine, dump, types, copy.name), _form(types)
    found = spans(engine, dump, form, options)
    text = rendered(f"{_SQL}/dump_rows.sql", columns=columns, skipped=skipped(form, options, found))
    rows = as_log_rows(engine, engine.map(log_rows, engine.sql(text, dump=dump), ROWS_SCHEMA))
    by_key = counted_by_key(engine, dump, columns, form, found) if options.by_key else None
    return with_coverage(engine, rows, found, copy.format, by_key)


def keys_of(file: str) -> Iterator[pa.Array]:
    """Yield the keys of a Parquet file."""
    for batch in pq.ParquetFile(file).iter_batches(_KEYS_AT_ONCE, columns=["key"]):
        yield batch["key"]


def spans(engine: Engine, dump: Relation, form: Form, options: ReadOptions) -> list[Row] | None:
    """Return the offsets of a dump in each partition, with counts of skipped records; None unless asked.

    No row leaves the scan for it: it is an aggregate, which is computed at once. It reads no values.
    """
    if not options.coverage:
        return None
    text = rendered(
        f"{_SQL}/dump_coverage.sql",
        form=form,
        offset_commits=options.offset_commits,
        no_timestamp=NO_TIMESTAMP_MS,
    )
    return engine.collect(engine.sql(text, dump=dump))


def skipped(form: Form, options: ReadOptions, found: Sequence[Row] | None) -> str | None:
    """Return the condition that no row is made of a row of a dump, in SQL; None: all become rows.

    `found`: what `spans` returned. Offset commits in error become rows. Where there are none, only the key decides:
    DuckDB then reads the other columns of the remaining rows alone.
    """
    if options.offset_commits:
        return None
    if found is not None and not any(span.commits_in_error for span in found):
        return form.is_commit()
    return f"{form.is_commit()} AND {form.is_readable}"


def counted_by_key(
    engine: Engine, dump: Relation, columns: Mapping[str, str], form: Form, found: Sequence[Row] | None
) -> dict[int, pa.Array] | None:
    """Return by partition what a dump holds by key; None if it has rows twice: each would count twice.

    `columns`: in SQL, as in `dump_rows.sql`. `found`: what `spans` returned.
    """
    if any(span.rows_read > span.offsets for span in _placed(found)):
        return None
    return by_key_of_rows(engine, dump, {**columns, "partition": form.partition}, form.is_readable)


def with_coverage(
    engine: Engine,
    rows: Relation,
    found: Sequence[Row] | None,
    source_format: str,
    by_key: Mapping[int, pa.Array] | None = None,
) -> CopyRows:
    """Return log rows and the coverage of their partitions, which `spans` found. `by_key`: of `counted_by_key`."""
    placed = _placed(found)
    if not placed:
        return CopyRows(rows, may_overlap=found is None)
    covered = pa.Table.from_pylist([_coverage_row(span, source_format) for span in placed], COPY_COLUMNS)
    if by_key is not None:
        covered = with_by_key(covered, by_key)
    return CopyRows(
        union_of(engine, [rows, engine.relation(covered)]),
        may_overlap=any(span.rows_read > span.offsets for span in placed),
    )


def _placed(found: Sequence[Row] | None) -> list[Row]:
    """Return those of `spans` that have a partition and offsets."""
    return [span for span in found or () if span.partition is not None and span.first_offset is not None]


def with_by_key(covered: pa.Table, by_key: Mapping[int, pa.Array]) -> pa.Table:
    """Return the rows of coverage, one for each partition, with what the partition holds by key."""
    column = covered.schema.field("by_key")
    nothing = pa.array([], BY_KEY)
    theirs = [by_key.get(partition, nothing) for partition in covered["partition"].to_pylist()]
    bounds = np.cumsum([0, *map(len, theirs)])
    lists = pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), pa.concat_arrays([nothing, *theirs]))
    return covered.set_column(covered.schema.get_field_index(column.name), column, lists)


def _coverage_row(span: Row, source_format: str) -> dict[str, object]:
    file = {
        "format": source_format,
        "first_offset": span.first_offset,
        "last_offset": span.last_offset,
        "has_gap": span.offsets != span.last_offset - span.first_offset + 1,
        "unread": [],
        "skipped": _skipped(span),
        "newest_skipped": None if span.newest is None else utc(span.newest // span.per_ms),
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
            raise InputError(
                f"column {column} of {name} is {types[column]}, not {usual}",
                "save the rows as Spark's Kafka source returns them, without casts",
            )
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
    # Spark's times are numbers of µs, so no row pays for a division.
    time, per_ms = (
        (_MS_OF_NUMBER, 1) if is_number else ("unix_micros(CAST(dump.timestamp AS timestamp))", MICROS_PER_MS)
    )
    is_int = "dump.partition BETWEEN -2147483648 AND 2147483647"
    is_placed = f"{is_int} AND dump.offset IS NOT NULL"
    topic = "CAST(dump.topic AS string)"
    # Nearly all rows have this topic, and Spark takes longer for the end of a text than for the rest of a row.
    is_of_log = f"({topic} = '{TOPIC}' OR coalesce(right({topic}, {len(TOPIC)}) = '{TOPIC}', true))"
    is_of_log = is_of_log if "topic" in types else "true"
    return Form(
        partition=f"CASE WHEN {is_int} THEN CAST(dump.partition AS int) END",
        time=time,
        per_ms=per_ms,
        is_of_log=is_of_log,
        is_readable=f"({is_placed} AND {time} {_between(FIRST_MS, LAST_MS, per_ms)} AND {is_of_log})",
    )


def _between(first_ms: int, last_ms: int, per_ms: int) -> str:
    return f"BETWEEN {first_ms * per_ms} AND {(last_ms + 1) * per_ms - 1}"
