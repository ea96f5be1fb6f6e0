"""The files of sources on this machine: rows of Parquet and Delta, and lines of text."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from kip848_records.engines.delta_rs import mistaken
from kip848_records.engines.embedded.errors import USE_SPARK, EngineError
from kip848_records.engines.embedded.folders import folder_values
from kip848_records.engines.embedded.processes import BYTES_OF_ONE_PROCESS, file_batch, run_on_files
from kip848_records.engines.embedded.relations import (
    DeltaRows,
    Mapped,
    Relation,
    Stored,
)
from kip848_records.engines.embedded.tagged_rows import conformed, tagged
from kip848_records.engines.rows import ArrowRows
from kip848_records.errors import InputError
from kip848_records.machine.disks import FULL
from kip848_records.machine.parquet import is_whole
from kip848_records.machine.paths import path_on_this_machine
from kip848_records.queries.delta_files import DeltaFiles, literal, parquet, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kip848_records.engines.embedded.relations import Query
    from kip848_records.engines.embedded.space import Space
    from kip848_records.engines.engine import Work
    from kip848_records.sources.listing import Copy


_INT96: Final = "INT96"

_REFUSED: Final = re.compile(r'Cannot open file "(.*?)": (Permission denied)')
_NOT_WRITTEN: Final = "Could not write file"
_DAMAGED: Final = re.compile(r"""(?:file|reading|path) ['"](.+?)['"]""", re.IGNORECASE)


def here(path: str) -> Path:
    """Return a path of this machine. Raises InputError for another file system."""
    found = path_on_this_machine(path)
    if found is None:
        raise EngineError(f"the embedded engine reads and writes files of this machine, and {path} is none", USE_SPARK)
    return found


class SourceFiles(Stored):
    """The files of a copy as ``path``."""

    def __init__(self, space: Space, copy: Copy) -> None:
        self.files = [here(file) for file in copy.files]
        paths = pa.Table.from_batches([file_batch(self.files)])
        super().__init__(space, ArrowRows(paths), paths.schema)


class MappedFiles(Mapped):
    """The result of a function over files: if they are large, other processes read them, and write the rows.

    A mapped file that its broker truncates ends the process that reads it.
    """

    def __init__(self, work: Work, files: SourceFiles, schema: pa.Schema) -> None:
        super().__init__(files.space, lambda: conformed(work(files.batches()), schema), schema)
        self._work = tagged(work, schema, "read")
        self._files = files.files

    @cached_property
    def _processes(self) -> int:
        is_large = sum(file.stat().st_size for file in self._files) > BYTES_OF_ONE_PROCESS
        return max(1, min(self.space.budget.workers, len(self._files))) if is_large else 0

    @property
    def stored(self) -> Stored:
        """The rows, which are computed if they were not."""
        if self._stored is None and self._processes:
            found = run_on_files(self._work, self._files, self._processes, lambda: self.space.new_folder("read"))
            self._stored = Stored(self.space, found.get("read", ArrowRows(self.schema.empty_table())), self.schema)
        return super().stored

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        return self.stored.batches() if self._processes else super().batches()


class ParquetFiles(Relation):
    """Rows of Parquet files: the columns are those of the first file, then those that folders name."""

    def __init__(self, space: Space, copy: Copy) -> None:
        super().__init__(space)
        root = here(copy.name)
        files = sorted(here(file) for file in copy.files)
        self._groups: dict[tuple[tuple[str, int | str | None], ...], list[Path]] = {}
        # Spark too skips empty files, unless it takes the columns from one.
        read = [file for file in files if file == files[0] or file.stat().st_size]
        for file, values in folder_values(read, root).items():
            self._groups.setdefault(tuple(values.items()), []).append(file)
        self._first = files[0]
        space.sources += files
        self._columns = _columns(self._first)

    def text(self, query: Query) -> str:
        """Return SQL that reads the rows."""
        del query
        named = dict.fromkeys(name for group in self._groups for name, _ in group)
        columns = {name: _column(name, is_int96=is_int96) for name, is_int96 in self._columns.items()}
        columns |= {name: quoted(name) for name in named}
        # The first one gives the columns: other files may lack some of them.
        parts = [f"SELECT * FROM {parquet([self._first])} WHERE false"]  # noqa: S608 - ours
        for values, files in self._groups.items():
            added = "".join(f", {_value(value)} AS {quoted(name)}" for name, value in values)
            hidden = [quoted(name) for name, _ in values if name in self._columns]
            exclude = f" EXCLUDE ({', '.join(hidden)})" if hidden else ""
            parts.append(f"SELECT *{exclude}{added} FROM {parquet(files, by_name=True)}")  # noqa: S608 - ours
        return f"SELECT {', '.join(columns.values())} FROM ({' UNION ALL BY NAME '.join(parts)})"  # noqa: S608 - ours


def delta_rows(space: Space, copy: Copy) -> Relation:
    """Return the rows of a Delta table."""
    from kip848_records.engines.embedded.tables import opened  # noqa: PLC0415 - delta-rs takes a while to load

    path = here(copy.name).absolute()
    if characters := mistaken(path):
        raise EngineError.path_for_tables(copy.name, characters)
    files = DeltaFiles(opened(path, lambda: InputError.not_delta(copy.name)), path)
    space.sources += [path / name for name in files.names]
    return DeltaRows(space, files)


@contextmanager
def reading_files(space: Space) -> Iterator[None]:
    """Turn failures to read a source within the block into InputErrors, which name the file if it is known."""
    try:
        yield
    except (pa.ArrowInvalid, OSError, duckdb.Error) as error:
        # Arrow's own errors name their file in the text alone.
        if isinstance(error, (FileNotFoundError, PermissionError)) and error.filename is not None:
            raise InputError.not_opened(str(error.filename), error.strerror) from error
        # An answer that is streamed passes DuckDB's errors on as those of a device, without a number. A file that
        # DuckDB cannot write is no source.
        if FULL in str(error) or _NOT_WRITTEN in str(error) or getattr(error, "errno", None) is not None:
            raise
        if refused := _REFUSED.search(str(error)):
            raise InputError.not_opened(refused[1], refused[2]) from error
        if damaged := _DAMAGED.search(str(error)):
            raise InputError.unreadable(damaged[1]) from error
        for file in space.sources:
            if not is_whole(file):
                raise InputError.unreadable(str(file)) from error
        raise


def _columns(file: Path) -> dict[str, bool]:
    """Return the columns of a Parquet file, each with whether it has times in the old form of 96 bits."""
    try:
        with pq.ParquetFile(file) as opened:
            schema = opened.schema
            leaves = {schema.column(at).path: schema.column(at).physical_type for at in range(len(schema))}
            return {name: leaves.get(name) == _INT96 for name in opened.schema_arrow.names}
    except PermissionError as error:
        raise InputError.not_opened(str(file), error.strerror) from None
    except (pa.ArrowException, OSError):
        raise InputError.unreadable(str(file)) from None


def _column(name: str, *, is_int96: bool) -> str:
    # DuckDB reads such a time as one without a zone; Spark wrote it in UTC.
    return f"CAST({quoted(name)} AS TIMESTAMPTZ) AS {quoted(name)}" if is_int96 else quoted(name)


def _value(value: int | str | None) -> str:
    """Return a value of a folder's name as SQL."""
    if value is None:
        return "NULL"
    return literal(value) if isinstance(value, str) else str(value)
