"""The truth as Parquet files, one per table."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from kip848_records.machine.parquet import Writer
from kip848_records.simulate.truth.schemas import SCHEMAS, TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType


LOG_PARTITION: Final = pa.schema(
    [("partition", pa.int32()), *((name, pa.int64()) for name in ("rows", "end_offset", "cleaned_to"))]
)
"""Rows of a partition's log, the offset after its last one, and the offset below which the cleaner has been."""

_ROWS_PER_WRITE: Final = 20_000


class TruthFiles:
    """Writes rows to one file per table: `<folder>/<table><suffix>.parquet`."""

    def __init__(self, folder: Path, suffix: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.paths = {name: folder / f"{name}{suffix}.parquet" for name in SCHEMAS}
        self._writers = {name: Writer(path, SCHEMAS[name]) for name, path in self.paths.items()}
        self._rows: dict[str, list[Mapping[str, Any]]] = {name: [] for name in SCHEMAS}

    def __enter__(self) -> Self:
        """Return the files themselves."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the files, or drop them after an error."""
        with ExitStack() as closing:
            for writer in self._writers.values():
                closing.callback(writer.close)
            if kind is None:
                for name in self._writers:
                    self._flush(name)

    def write(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Append rows, whose times are in ms, by the name of their table."""
        for name, found in rows.items():
            self._rows[name] += found
            if len(self._rows[name]) >= _ROWS_PER_WRITE:
                self._flush(name)

    def join(self, parts: Iterable[Mapping[str, Path]]) -> None:
        """Append the content of other files of the same tables, and remove those files."""
        for part in parts:
            for name, path in part.items():
                with pq.ParquetFile(path) as file:
                    for group in range(file.num_row_groups):
                        self._writers[name].write_table(file.read_row_group(group))
                path.unlink()

    def _flush(self, name: str) -> None:
        if self._rows[name]:
            self._writers[name].write_table(_table(name, self._rows[name]))
        self._rows[name] = []


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    schema = SCHEMAS[name]
    arrays = [pa.array([row.get(field.name) for row in rows], _in_ms(field.type)) for field in schema]
    return pa.table([array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema)


def _in_ms(kind: pa.DataType) -> pa.DataType:
    """Return a type of the schemas with times in ms, as in rows."""
    if kind == TIME:
        return pa.timestamp("ms", "UTC")
    if pa.types.is_list(kind):
        return pa.list_(_in_ms(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _in_ms(field.type)) for field in kind])
    return kind
