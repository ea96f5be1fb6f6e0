"""Tables that answer one command and are never written: in memory, or in files of the scratch folder if large."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, cast

from kip848_records.engines.delta_rs import shaped
from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.engines.embedded.relations import Stored, stored
from kip848_records.engines.rows import ArrowRows
from kip848_records.queries.duck import DuckTables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa

    from kip848_records.engines.embedded.space import Space
    from kip848_records.engines.embedded.tables import LocalTables
    from kip848_records.machine.budget import Budget
    from kip848_records.queries.tables import Tables
    from kip848_records.specs.columns import TableSpec


class UnwrittenEngine(EmbeddedEngine):
    """The embedded engine for one run into tables that are not kept. Close it, or use it as a context."""

    def __init__(self, budget: Budget | None = None) -> None:
        super().__init__("", budget)
        self.out = str(self._space.new_folder("tables"))  # it stays empty, and no source is in it
        self._unwritten = UnwrittenTables(self._space)
        # All that one run into new tables asks for.
        self._known = cast("LocalTables", self._unwritten)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._space.close()

    @contextmanager
    def alone(self, work_folder: str) -> Iterator[None]:
        """Do nothing: no other run knows these tables, and the scratch folder lasts until the engine is closed."""
        del work_folder
        yield

    def answers(self) -> Tables:
        """Return the tables for queries, once they are complete."""
        return DuckTables(self.out, self._space.cursor, self._unwritten.rows)


class UnwrittenTables:
    """The tables of one cluster after its only run, as `LocalTables` has those in a folder."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self.rows: dict[str, UnwrittenRows] = {}

    def is_there(self, table: str) -> bool:
        """Return whether a table exists."""
        return table in self.rows

    def version(self, table: str) -> int | None:
        """Return 0, the only version; None if the table does not exist."""
        return 0 if table in self.rows else None

    def files(self, table: str) -> UnwrittenRows:
        """Return the rows of a table."""
        return self.rows[table]

    def columns(self, table: str) -> Mapping[str, Any] | None:
        """Return None: no table is that of an older version."""
        del table
        return None

    def create(self, spec: TableSpec) -> None:
        """Create a table without rows if it does not exist."""
        if spec.name not in self.rows:
            self.rows[spec.name] = UnwrittenRows(Stored(self._space, ArrowRows(spec.schema.empty_table()), spec.schema))

    def restore(self, table: str, version: int | None) -> None:
        """Remove a table: before the only run it was not there."""
        del version
        self.rows.pop(table, None)

    def replace(self, spec: TableSpec, cluster: str, batches: Iterable[pa.RecordBatch]) -> None:
        """Replace all rows."""
        rows = shaped(batches, spec.schema, cluster)
        self.rows[spec.name] = UnwrittenRows(stored(self._space, spec.schema, rows, spec.name))

    def append(
        self, spec: TableSpec, cluster: str, batches: Iterable[pa.RecordBatch], *, application: str, number: int
    ) -> None:
        """Add the rows of the only run."""
        del application, number
        self.replace(spec, cluster, batches)


class UnwrittenRows:
    """The rows of a table, as `DeltaFiles` has those of a Delta table."""

    def __init__(self, rows: Stored) -> None:
        self._rows = rows
        self.bytes = rows.rows.table.nbytes if isinstance(rows.rows, ArrowRows) else 1 << 62

    def text(self, named: Callable[[Any], str]) -> str:
        """Return SQL for the rows. `named` returns a name for Arrow data."""
        return self._rows.read_by(named)
