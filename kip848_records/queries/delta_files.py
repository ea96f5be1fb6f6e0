"""The files of a Delta table as DuckDB reads them: by itself where it can, because Arrow takes four times as long."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from kip848_records.machine.parquet import is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    import pyarrow.dataset as ds
    from deltalake import DeltaTable

_VIEWS: Final = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


class TableFiles(Protocol):
    """The rows of a table, as a query reads them."""

    @property
    def bytes(self) -> int:
        """The size of all rows."""

    def text(self, named: Callable[[Any], str]) -> str:
        """Return SQL for the rows. `named` returns a name for Arrow data."""


class DeltaFiles:
    """The rows of a Delta table. `folder`: that of the table if it is on this machine.

    DuckDB itself reads the files on this machine whose columns have the types of the table. Spark writes times in an
    older form, and an older version of this package wrote fewer columns: Arrow reads such files.
    """

    def __init__(self, table: DeltaTable, folder: Path | None) -> None:
        self._table = table
        self._folder = folder
        self._schema = pa.schema(table.schema().to_arrow())
        self._files = pa.table(table.get_add_actions(flatten=True))
        self._local: dict[tuple[tuple[str, str], ...], list[Path]] = {}
        usual = set()
        # Files of a table with features may have deleted rows: Arrow's reader refuses it.
        if folder is not None and not table.protocol().reader_features:
            partitions = table.metadata().partition_columns
            named = {f"partition.{name}": name for name in partitions}
            for row in self._files.select(["path", *named]).to_pylist():
                path = unquote(row.pop("path"))
                keys = {named[name]: value for name, value in row.items()}
                if _is_usual(folder / path, self._schema, keys):
                    self._local.setdefault(tuple(keys.items()), []).append(folder / path)
                    usual.add(path)
        self._others: pa.Table | ds.Dataset | None = None
        if not self._files.num_rows:
            self._others = self._schema.empty_table()
        elif len(usual) < self._files.num_rows:
            self._others = self._dataset_without(usual)

    @property
    def names(self) -> list[str]:
        """The paths in the folder of the table."""
        return [unquote(path) for path in self._files["path"].to_pylist()]

    def _dataset_without(self, usual: Collection[str]) -> ds.FileSystemDataset:
        """Return the rows of all files but some, as Arrow reads them."""
        # Few tables need it, and its library takes 7 MB.
        import pyarrow.dataset as ds  # noqa: PLC0415
        from pyarrow.fs import LocalFileSystem, SubTreeFileSystem  # noqa: PLC0415

        # Arrow's own files: to close those of delta-rs takes Python's lock, and where an Arrow thread does it while
        # Python exits, the process aborts after all was well.
        files = None if self._folder is None else SubTreeFileSystem(str(self._folder), LocalFileSystem())
        found, partitions = self._table.to_pyarrow_dataset(filesystem=files), self._table.metadata().partition_columns
        others = []
        for file in found.get_fragments():
            if file.path not in usual:
                # Statistics of a column that has only nulls look like the value of a partition.
                values = ds.get_partition_keys(file.partition_expression)
                others.append(_without_statistics(found, file, {name: values.get(name) for name in partitions}))
        return ds.FileSystemDataset(others, found.schema, found.format, found.filesystem)

    def are_there(self) -> bool:
        """Return whether all files exist; an object store is not asked."""
        return self._folder is None or all((self._folder / name).exists() for name in self.names)

    def damaged(self) -> Path | None:
        """Return a file on this machine that is missing, or of which some rows cannot be read; None: there is none."""
        if self._folder is None:
            return None
        return next((file for name in self.names if not is_whole(file := self._folder / name)), None)

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(self._files["size_bytes"].to_pylist())

    def text(self, named: Callable[[Any], str]) -> str:
        """Return SQL for the rows. `named` returns a name for Arrow data."""
        parts = [] if self._others is None else [f"SELECT * FROM {named(self._others)}"]  # noqa: S608 - ours
        for keys, files in self._local.items():
            values = {name: f"{literal(value)} AS {quoted(name)}" for name, value in keys}
            columns = ", ".join(values.get(name, quoted(name)) for name in self._schema.names)
            parts.append(f"SELECT {columns} FROM {parquet(files)}")  # noqa: S608 - ours
        return " UNION ALL ".join(parts)


def parquet(files: Iterable[Path], *, by_name: bool = False) -> str:
    """Return what DuckDB reads Parquet files with. `by_name`: some may lack columns."""
    named = ", ".join(literal(escape_glob(str(file))) for file in files)
    return f"read_parquet([{named}], union_by_name = {str(by_name).lower()}, hive_partitioning = false)"


def escape_glob(path: str) -> str:
    """Return a path in which DuckDB sees no pattern."""
    return "".join(f"[{each}]" if each in "[*?" else each for each in path)


def literal(text: str) -> str:
    """Return a text as a literal of the SQL of delta-rs and DuckDB; Spark's differs (`queries.spark.sql_string`)."""
    return "'{}'".format(text.replace("'", "''"))


def quoted(name: str) -> str:
    """Return a name of a column in SQL."""
    return '"{}"'.format(name.replace('"', '""'))


def _is_usual(path: Path, schema: pa.Schema, keys: dict[str, Any]) -> bool:
    """Return whether a file has the columns of its table, and folders name only texts."""
    columns = pa.schema([field for field in schema if field.name not in keys])
    try:
        return all(isinstance(value, str) for value in keys.values()) and _plain(pq.read_schema(path)).equals(
            _plain(columns)
        )
    except (pa.ArrowException, OSError):
        return False


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema without NOT NULL and views: a merge of delta-rs writes such files, which DuckDB reads alike."""
    return pa.schema([_plain_field(field) for field in schema])


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_plain_type(field.type)).with_nullable(nullable=True)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(field) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    return _VIEWS.get(kind, kind)


def _without_statistics(found: ds.FileSystemDataset, file: ds.Fragment, keys: dict[str, Any]) -> ds.Fragment:
    """Return a file without its statistics, except the values of the partitions.

    Spark writes no minimum of a BOOLEAN, for example. Then delta-rs says `column >= null` of the file, which holds for
    no row: Arrow would skip the file for a condition on the column, without an error.
    """
    import pyarrow.dataset as ds  # noqa: PLC0415 - as above

    partition = reduce(and_, (ds.field(key) == value for key, value in keys.items()), ds.scalar(value=True))
    return found.format.make_fragment(file.path, found.filesystem, partition)
