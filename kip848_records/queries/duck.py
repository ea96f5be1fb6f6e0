"""Queries by DuckDB in this process: delta-rs opens the tables in a folder or an object store."""

from __future__ import annotations

import atexit
import re
import warnings
from functools import cache, cached_property, partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import duckdb
import pyarrow as pa

from kip848_records.machine.budget import Budget
from kip848_records.machine.interrupts import interruptible
from kip848_records.machine.paths import path_on_this_machine
from kip848_records.queries.delta_files import DeltaFiles, literal, parquet, quoted
from kip848_records.queries.needs import require
from kip848_records.queries.tables import Tables, words
from kip848_records.tables.errors import DamagedError, TablesError
from kip848_records.tables.location import table_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from deltalake import DeltaTable

    from kip848_records.queries.delta_files import TableFiles
    from kip848_records.queries.tables import Parameter, Part

_QUERY_BYTES: Final = 2 << 30
"""The memory that a query may use at most before it spills to a temporary folder."""

_SMALL: Final = 4 << 20
"""The size of a table's files, in bytes, up to which a copy in memory pays: each query then takes half the time."""

# Spark's names for functions that DuckDB has under another name, so that one text runs on both.
_MACROS: Final = (
    "unix_millis(time) AS epoch_ms(time)",
    "unix_micros(time) AS epoch_us(time)",
    # A time before 1970 is rounded down too.
    "unix_seconds(time) AS (epoch_ms(time) - (epoch_ms(time) % 1000 + 1000) % 1000) // 1000",
    "timestamp_millis(ms) AS make_timestamptz(ms * 1000)",
    "size(items) AS len(items)",
    "get(items, place) AS items[place + 1]",
    "explode(items) AS unnest(items)",
    "sequence(first, last) AS generate_series(first, last)",
    # Over no rows DuckDB's own functions return null.
    "collect_list(item) AS coalesce(list(item) FILTER (item IS NOT NULL), [])",
    "collect_set(item) AS coalesce(list(DISTINCT item) FILTER (item IS NOT NULL), [])",
    "count_if(condition) AS count(CASE WHEN condition THEN 1 END)",
    # Spark returns an empty text for an array of nulls.
    (
        "array_join(items, separator) AS "
        "CASE WHEN items IS NOT NULL THEN coalesce(array_to_string(items, separator), '') END"
    ),
    "percentile(value, share) AS quantile_cont(value, share)",
    "array_min(items) AS list_min(items)",
    "array_max(items) AS list_max(items)",
    # It converts digits of base 16 to those of base 10, and no others.
    "conv(digits, from_base, to_base) AS CAST(try_cast('0x' || digits AS bigint) AS varchar)",
)
_SETTINGS: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # Spark's sort order.
    "default_null_order": "nulls_first_on_asc_last_on_desc",
}
HUGEINT: Final = pa.decimal128(38, 0)
"""The type of DuckDB's sums and counts in Arrow."""

_MISSING: Final = re.compile(r"Table with name (\w+) does not exist")
_OF_QUERIES: Final = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException, duckdb.DataError)
"""DuckDB's errors that no damaged file causes. It has no class for those that one does."""
_NAMED: Final = re.compile(r"'(?:[^']|'')*'|(?<![:\w]):([a-z_][a-z_0-9]*)\b")

# DuckDB advises `sql` instead of `execute`: that saves a copy of the answer, but plans each query twice, which takes
# longer. The filter is global, because a filter for a block is not safe with threads.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)


class NotOpenedError(TablesError):
    """delta-rs cannot open a table; the message has the reason. Spark may have the credentials, or know a feature."""


class DuckTables(Tables):
    """Tables that DuckDB queries. Raises NotOpenedError if delta-rs cannot open them."""

    engine = "embedded"

    def __init__(
        self,
        location: str,
        connection: Callable[[], duckdb.DuckDBPyConnection] | None = None,
        given: Mapping[str, TableFiles] | None = None,
    ) -> None:
        """`connection`: makes one to another database than this module's (`new_database`).

        `given`: the only tables that are asked, each in the only version that is asked.
        """
        super().__init__(location)
        self._new_connection = connection
        self._given = given
        self._files: dict[tuple[str, int | None], DeltaFiles] = {}
        self._views: dict[str, tuple[Part, ...]] = {}
        self._copies: set[str] = set()

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own, because views are those of a connection."""
        return _database().cursor() if self._new_connection is None else self._new_connection()

    @cached_property
    def _names(self) -> frozenset[str]:
        if self._given is not None:
            return frozenset(self._given)
        folder = path_on_this_machine(self.location)
        if folder is None:
            # Listing an object store is slow: the run's versions name the tables that it wrote.
            found = self._opened("audit_runs", None)
            versions = found.to_pyarrow_table(columns=["table_versions"])["table_versions"].to_pylist()
            return frozenset({"audit_runs", *(name for each in versions if each for name, _ in each)})
        if not folder.is_dir():
            raise TablesError.not_audited(self.location, "audit_runs")
        return frozenset(each.name for each in folder.iterdir() if (each / "_delta_log").is_dir())

    def names(self) -> Collection[str]:
        """Return the names of the existing tables."""
        return self._names

    def _read(
        self, text: str, cluster: str | None, tables: Mapping[str, Sequence[Part]], parameters: Mapping[str, Parameter]
    ) -> pa.Table:
        connection = self._connection
        # A record type's table may be one of the cluster of an earlier query alone.
        for name in self._views.keys() & set(words(text)) - tables.keys():
            connection.execute(f'DROP VIEW "{name}"')
            del self._views[name]
            self._copies.discard(name)
        used = {found[1] for found in _NAMED.finditer(text)}
        named = {name: value for name, value in parameters.items() if name in used}
        decoded: dict[str, Path] = {}
        try:
            for name, parts in tables.items():
                self._register(connection, name, parts)
            return self._answer(_with_dollars(text), named, cluster, decoded)
        except duckdb.Error as error:
            if not isinstance(error, _OF_QUERIES) and (file := self._damaged(tables)) is not None:
                raise DamagedError.of(str(file)) from error
            raise
        finally:
            # The next query may be about another cluster.
            for record, file in decoded.items():
                connection.execute(f'DROP VIEW IF EXISTS "{record}"')
                file.unlink(missing_ok=True)

    def _answer(
        self, query: str, named: Mapping[str, Parameter], cluster: str | None, decoded: dict[str, Path]
    ) -> pa.Table:
        """Run a query; add to `decoded` the record types that it names, of which this makes views, with their files."""
        connection = self._connection
        while True:
            try:
                return _with_bigints(
                    interruptible(
                        lambda: connection.execute(query, named or None).to_arrow_table(), connection.interrupt
                    )
                )
            except duckdb.CatalogException as error:
                missing = _MISSING.search(str(error))
                if missing is None or missing[1] in decoded or not self._can_decode(missing[1], cluster):
                    raise
                decoded[missing[1]] = Path(_spilled(), f"{uuid4()}.parquet")
                self._decode(missing[1], cluster, decoded[missing[1]])

    def _can_decode(self, record: str, cluster: str | None) -> bool:
        """Return whether a name is that of a record type whose records can be decoded from the log."""
        from kip848_records.protocol.columns import OFFSET_COMMIT_TABLE  # noqa: PLC0415 - few queries need it
        from kip848_records.queries.record_tables import DECODED  # noqa: PLC0415 - as above
        from kip848_records.tables.registry import DEFAULT  # noqa: PLC0415 - as above

        if record == OFFSET_COMMIT_TABLE:
            for run in self.runs():
                if cluster in {None, run.cluster}:
                    require(self, run, ("offset_commit_table",), "a query over offset_commit")
        if record in DEFAULT:
            raise TablesError.not_audited(self.location, record)
        if record in DECODED and "log" not in self._names:
            raise TablesError.not_audited(self.location, "log")
        return record in DECODED

    def _decode(self, record: str, cluster: str | None, file: Path) -> None:
        """Decode the records of a type into a Parquet file, and create a view of it."""
        from kip848_records.queries.record_tables import write_records  # noqa: PLC0415 - few queries need it

        connection = self._connection
        self._register(connection, "log", self._parts("log", cluster)["log"])
        dialects = {run.cluster: run.dialect for run in self.runs() if cluster in {None, run.cluster}}
        write_records(connection, record, dialects, file)
        view = f'CREATE TEMP VIEW "{record}" AS SELECT * FROM {parquet([file])}'  # noqa: S608
        connection.execute(view)

    def _register(self, connection: duckdb.DuckDBPyConnection, name: str, parts: Sequence[Part]) -> None:
        """Make some parts of a table available to the next query.

        The first query gets a view. The next one gets a copy in memory if the table is small.
        """
        if self._views.get(name) == tuple(parts):
            if name not in self._copies and self._size(name, parts) <= _SMALL:
                connection.execute(f'CREATE OR REPLACE TEMP TABLE "{name}__copy" AS SELECT * FROM "{name}"')  # noqa: S608
                connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS SELECT * FROM "{name}__copy"')  # noqa: S608
                self._copies.add(name)
            return
        selects = []
        for number, part in enumerate(parts):
            rows = self._files_of(name, part.version).text(partial(_registered, connection, f"{name}__{number}"))
            condition = "" if part.clusters is None else f" WHERE cluster IN ({', '.join(map(literal, part.clusters))})"
            selects.append(f"SELECT * FROM ({rows}){condition}")  # noqa: S608 - ours
        connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {" UNION ALL ".join(selects)}')
        self._views[name] = tuple(parts)
        self._copies.discard(name)

    def _size(self, name: str, parts: Sequence[Part]) -> int:
        """Return the size of all files of a table's versions, in bytes."""
        return sum(self._files_of(name, part.version).bytes for part in parts)

    def _damaged(self, tables: Mapping[str, Sequence[Part]]) -> Path | None:
        """Return a file of some tables that cannot be read; None if all can, or are not on this machine."""
        found = (self._files_of(name, part.version) for name, parts in tables.items() for part in parts)
        return next((file for files in found if isinstance(files, DeltaFiles) and (file := files.damaged())), None)

    def _files_of(self, name: str, version: int | None) -> TableFiles:
        """Return a table's files. They are listed once, so all queries see the same rows."""
        if self._given is not None:
            return self._given[name]
        if (name, version) not in self._files:
            folder = path_on_this_machine(table_path(self.location, name))
            files = DeltaFiles(self._opened(name, version), folder)
            if version is not None and not files.are_there():
                files = DeltaFiles(self._opened(name, None), folder)
            self._files[name, version] = files
        return self._files[name, version]

    def _opened(self, name: str, version: int | None) -> DeltaTable:
        """Open a table at a version, or at the newest one if the commits of that version have been removed."""
        from deltalake import DeltaTable  # noqa: PLC0415 - a question about a log opens no table
        from deltalake.exceptions import DeltaError, TableNotFoundError  # noqa: PLC0415 - as above

        path = table_path(self.location, name)
        try:
            return DeltaTable(path, version=version)
        except TableNotFoundError:
            if version is not None:
                return self._opened(name, None)
            raise TablesError.not_audited(self.location, name) from None
        except (DeltaError, OSError) as error:
            raise NotOpenedError(
                f"the embedded engine cannot read {path}: {str(error).splitlines()[0]}",
                "use --engine spark, or copy the tables again if the copy was not whole",
            ) from error


def _registered(connection: duckdb.DuckDBPyConnection, name: str, rows: Any) -> str:  # noqa: ANN401 - Arrow has no types
    """Give Arrow data a name in a connection."""
    connection.register(name, rows)
    return quoted(name)


def filtered(table: str, batch: pa.RecordBatch, condition: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a batch that match a condition, in the SQL of both engines."""
    connection = _database().cursor()
    connection.register(table, pa.Table.from_batches([batch]))
    yield from connection.sql(f"SELECT * FROM {table} WHERE {condition}").to_arrow_table().to_batches()  # noqa: S608 - ours


def new_database(folder: str, memory: int) -> duckdb.DuckDBPyConnection:
    """Return a database in memory, with Spark's names for functions; what does not fit is spilled to a folder."""
    connection = duckdb.connect(config={**_SETTINGS, "temp_directory": folder, "memory_limit": f"{memory}B"})
    # A statement of its own takes half a millisecond.
    connection.execute("; ".join(("SET GLOBAL TimeZone = 'UTC'", *(f"CREATE MACRO {macro}" for macro in _MACROS))))
    return connection


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Return this process's database for queries."""
    return new_database(_spilled(), min(_QUERY_BYTES, Budget.of_machine().database))


@cache
def _spilled() -> str:
    """Return a folder for data that does not fit into memory; it is removed when the process ends."""
    folder = mkdtemp(prefix="kip848-query-")
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder


def _with_dollars(text: str) -> str:
    """Return a text with DuckDB's form of its parameters."""
    return _NAMED.sub(lambda found: found[0] if found[1] is None else f"${found[1]}", text)


def _with_bigints(answer: pa.Table) -> pa.Table:
    """Convert sums and counts, which DuckDB returns with 128 bits, to bigint, as Spark returns them.

    A sum that a bigint cannot hold stays as it is. Few answers have one, and Arrow's casts take 30 ms to import.
    """
    if HUGEINT not in answer.schema.types:
        return answer
    fields = [field.with_type(pa.int64()) if field.type == HUGEINT else field for field in answer.schema]
    try:
        return answer.cast(pa.schema(fields))
    except pa.ArrowInvalid:
        return answer
