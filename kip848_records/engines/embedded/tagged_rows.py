"""Batches of rows of several tables: those of a table stay in memory while they are few, then they go to a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kip848_records.engines.rows import ArrowRows
from kip848_records.machine.parquet import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from kip848_records.engines.engine import Rows, TableWork, Work

    Tagged = Iterator[tuple[str, pa.RecordBatch]]
    TaggedWork = Callable[[Iterable[pa.RecordBatch]], Tagged]
    """A function over batches, which names the table of each batch that it yields."""

ROW_GROUP_BYTES: Final = 16 << 20
"""The size of a row group before compression: a writer keeps one in memory."""

_ENDING: Final = ".parquet"
_ROWS: Final = 10_000


@dataclass(frozen=True)
class FileRows:
    """Rows in Parquet files that this package wrote: they have the types that were written."""

    files: tuple[Path, ...]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        for file in self.files:
            with pq.ParquetFile(file) as opened:
                yield from opened.iter_batches(_ROWS)


class TaggedRows:
    """Collects rows by table. `in_memory`: how many bytes may stay there; files are in `folder`, one for each table."""

    def __init__(self, folder: Callable[[], Path], in_memory: int) -> None:
        self._folder = folder
        self._in_memory = in_memory
        self._waiting: dict[str, list[pa.RecordBatch]] = {}
        self._bytes = 0
        self._bytes_of: dict[str, int] = {}
        self._writers: dict[str, tuple[Path, Writer]] = {}

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Add rows of a table."""
        if not batch.num_rows:
            return
        self._waiting.setdefault(table, []).append(batch)
        self._bytes += batch.nbytes
        self._bytes_of[table] = self._bytes_of.get(table, 0) + batch.nbytes
        while self._bytes > self._in_memory:
            self._write(max(self._bytes_of, key=self._bytes_of.__getitem__))
        if table in self._writers and self._bytes_of.get(table, 0) > ROW_GROUP_BYTES:
            self._write(table)

    def end(self, *, to_files: bool = False) -> Mapping[str, Rows]:
        """Return the rows of each table; `to_files`: write also those that are in memory."""
        for table in list(self._waiting):
            if to_files or table in self._writers:
                self._write(table)
        for _, writer in self._writers.values():
            writer.close()
        found: dict[str, Rows] = {table: FileRows((path,)) for table, (path, _) in self._writers.items()}
        return found | {table: ArrowRows(pa.Table.from_batches(batches)) for table, batches in self._waiting.items()}

    def _write(self, table: str) -> None:
        batches = self._waiting.pop(table)
        self._bytes -= self._bytes_of.pop(table)
        if table not in self._writers:
            path = self._folder() / f"{table}{_ENDING}"
            self._writers[table] = path, Writer(path, batches[0].schema, compression="lz4")
        self._writers[table][1].write_table(pa.Table.from_batches(batches))


def files_by_table(folders: Iterable[Path]) -> dict[str, FileRows]:
    """Return the rows that processes wrote into these folders, by table."""
    found: dict[str, list[Path]] = {}
    for file in sorted(file for folder in folders for file in folder.glob(f"*{_ENDING}")):
        found.setdefault(file.name.removesuffix(_ENDING), []).append(file)
    return {table: FileRows(tuple(files)) for table, files in found.items()}


def tagged_by_class(work: TableWork) -> TaggedWork:
    """Return a function that names the table of each class of rows (`replay.rows.ROW_CLASSES`), and skips others."""
    return partial(_by_class, work)


def tagged(work: Work, schema: pa.Schema, name: str) -> TaggedWork:
    """Return a function that gives all batches the schema and the name of one table."""
    return partial(_named, work, schema, name)


def conformed(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield batches with the columns of a schema, by their position, and its types.

    Raises ValueError for batches with other columns: that is a fault of the function that returned them.
    """
    for batch in batches:
        if batch.schema.names != schema.names:
            message = f"columns {batch.schema.names} instead of {schema.names}"
            raise ValueError(message)
        if batch.schema.equals(schema):
            yield batch
        else:
            columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _by_class(work: TableWork, batches: Iterable[pa.RecordBatch]) -> Tagged:
    from kip848_records.replay.rows import ROW_CLASSES  # noqa: PLC0415 - a worker that maps rows does not need it

    names: dict[type[Any], str] = {row_class: table for table, row_class in ROW_CLASSES.items()}
    for row_class, batch in work(batches):
        if row_class in names:
            yield names[row_class], batch


def _named(work: Work, schema: pa.Schema, name: str, batches: Iterable[pa.RecordBatch]) -> Tagged:
    return ((name, batch) for batch in conformed(work(batches), schema))
