"""The engine in this process: DuckDB and Arrow move the rows, delta-rs writes the tables, and no JVM starts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kip848_records.engines.delta_rs import of_cluster
from kip848_records.engines.embedded.duck_sql import type_name
from kip848_records.engines.embedded.files import (
    MappedFiles,
    ParquetFiles,
    SourceFiles,
    delta_rows,
    here,
    reading_files,
)
from kip848_records.engines.embedded.folders import folder_values
from kip848_records.engines.embedded.lines import lines_of, lines_schema
from kip848_records.engines.embedded.processes import run_tagged
from kip848_records.engines.embedded.relations import (
    DeltaRows,
    Mapped,
    Once,
    Relation,
    Sql,
    Stored,
    relation_of,
    stored,
)
from kip848_records.engines.embedded.space import Space
from kip848_records.engines.embedded.tagged_rows import tagged_by_class
from kip848_records.engines.existing import prepare_tables
from kip848_records.engines.rows import ArrowRows
from kip848_records.engines.scratch import scratch_folder
from kip848_records.machine.disks import FULL, DiskError
from kip848_records.machine.files import Listing
from kip848_records.queries.delta_files import quoted
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.tables import named_rows
from kip848_records.queries.texts import plain
from kip848_records.tables.locks import locked
from kip848_records.tables.registry import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kip848_records.engines.embedded.tables import LocalTables
    from kip848_records.engines.engine import Rows, TableWork, Work
    from kip848_records.machine.budget import Budget
    from kip848_records.queries.tables import Parameter, Row
    from kip848_records.sources.listing import Copy
    from kip848_records.specs.columns import TableSpec


class EmbeddedEngine:
    """The engine for copies and tables in folders of this machine (`engines.engine.Engine`).

    A module that only may need it imports it late: DuckDB and delta-rs take a while to load.
    """

    name = "embedded"

    def __init__(self, out: str = "", budget: Budget | None = None) -> None:
        """`out`: the folder of the tables; without it the engine has none. `budget`: by default half of what is free.

        Raises InputError for a folder that is not on this machine.
        """
        self.out = out
        self._space = Space(budget)
        self._known: LocalTables | None = None

    def sql(self, text: str, **relations: Relation | Rows) -> Relation:
        """Return the answer to a query."""
        return Sql(self._space, plain(text), {name: self.relation(each) for name, each in relations.items()})

    def relation(self, rows: pa.Table | Relation | Rows) -> Relation:
        """Return rows of this process."""
        return relation_of(self._space, ArrowRows(rows) if isinstance(rows, pa.Table) else rows)

    def types(self, rows: Relation) -> dict[str, str]:
        """Return the columns of rows with their types."""
        return {each.name: type_name(each.type) for each in rows.schema}

    def map(self, work: Work, rows: Relation, schema: pa.Schema) -> Relation:
        """Return the result of a function over rows; several processes do the work on large files."""
        if isinstance(rows, SourceFiles):
            return MappedFiles(work, rows, schema)
        return Mapped.of(self._space, work, rows, schema)

    def map_sorted(
        self, work: Work, rows: Relation, schema: pa.Schema, *, key: Sequence[str], order: Sequence[str]
    ) -> Relation:
        """Return the result of a function over sorted rows."""
        return Mapped.of(self._space, work, self._sorted(rows, key, order), schema)

    def replay(self, work: TableWork, rows: Relation, *, key: Sequence[str], order: Sequence[str]) -> dict[str, Rows]:
        """Return what a function over sorted rows yields, by table; several processes do the work if it is long."""
        batches = self._sorted(rows, key, order).batches()
        workers = self._space.budget.workers
        return dict(
            run_tagged(tagged_by_class(work), batches, key, workers, lambda: self._space.new_folder("replayed"))
        )

    def materialize(self, rows: Relation, name: str) -> Stored:
        """Return rows that are computed once."""
        rows = self.relation(rows)
        if isinstance(rows, Stored):
            return rows
        return rows.stored if isinstance(rows, Mapped) else stored(self._space, *rows.opened(), name)

    def observed(self, rows: Relation, aggregate: str, kept: str) -> tuple[Relation, Callable[[], int]]:
        """Return rows, of which all are computed once, and a function that returns an aggregate over all of them."""
        once = Once(self._space, self.relation(rows), aggregate)
        return self.sql(f"SELECT * FROM {{rows}} WHERE {kept}", rows=once), once.found  # noqa: S608 - ours

    def iterate(self, rows: Relation) -> Iterator[Row]:
        """Yield rows, a batch at a time."""
        return (row for batch in rows.batches() for row in named_rows(pa.Table.from_batches([batch])))

    def collect(self, rows: Relation) -> list[Row]:
        """Return a few rows."""
        return named_rows(rows.table())

    def listing(self) -> Listing:
        """Return what lists the files of this machine."""
        return Listing(here)

    def scan(self, copy: Copy) -> Relation:
        """Return the rows of a copy in Parquet or Delta."""
        return delta_rows(self._space, copy) if copy.format == "delta" else ParquetFiles(self._space, copy)

    def lines(self, copy: Copy) -> Relation:
        """Return the lines of a copy."""
        files = folder_values(map(here, copy.files), here(copy.name))
        return Mapped(self._space, lambda: lines_of(files), lines_schema(files))

    def files(self, copy: Copy) -> Relation:
        """Return the files of a copy."""
        return SourceFiles(self._space, copy)

    def new_folder(self, name: str) -> Path:
        """Return a new folder of this process for files, which is removed with the scratch folder."""
        return self._space.new_folder(name)

    def reading(self) -> AbstractContextManager[None]:
        """Turn failures to read a source within the block into InputErrors."""
        return reading_files(self._space)

    @contextmanager
    def alone(self, work_folder: str) -> Iterator[None]:
        """Keep other runs from the tables, and offer a scratch folder below `work_folder`."""
        folder = here(work_folder)
        with (
            locked(folder, work_folder),
            _naming_full_disks(work_folder, folder),
            scratch_folder(folder, work_folder) as scratch,
        ):
            self._space.use(scratch)
            try:
                yield
            finally:
                self._space.use(None)

    def prepare(self, *, migrate: bool = True) -> list[str]:
        """Add this version's columns to the tables of an older one; return the clusters that must be rebuilt."""
        return prepare_tables(self, migrate=migrate)

    def table(self, table: str, cluster: str) -> Relation:
        """Return the newest rows of one cluster in a table."""
        if not self.tables.is_there(table):
            return self.relation(TABLES[table].schema.empty_table())
        return DeltaRows(self._space, self.tables.files(table), of_cluster(cluster))

    def ask(self, text: str, *tables: str, **parameters: Parameter) -> list[Row]:
        """Return the answer to a query over the newest rows of some tables."""
        files = {table: self.tables.files(table) for table in tables}
        return DuckTables(self.out, self._space.cursor, files).newest(text, *tables, **parameters)

    def replace(self, spec: TableSpec, cluster: str, rows: Relation | Rows | None) -> None:
        """Replace a cluster's rows in one commit."""
        if rows is not None:
            self.tables.replace(spec, cluster, rows.batches())
        elif self.tables.is_there(spec.name):
            self.tables.delete(spec.name, cluster)

    def append(self, spec: TableSpec, cluster: str, rows: Relation, *, application: str, number: int) -> None:
        """Append rows in one commit, but not a second time."""
        self.tables.append(spec, cluster, rows.batches(), application=application, number=number)

    def delete(self, spec: TableSpec, cluster: str, rows: Relation, keys: Sequence[str]) -> None:
        """Delete rows by their keys."""
        self.tables.delete_matching(spec.name, cluster, self.materialize(rows, "deleted"), keys)

    def for_each(self, work: Callable[[Any], object], items: Iterable[Any]) -> None:
        """Do the work for each item, one after another: each uses all cores."""
        for item in items:
            work(item)

    @property
    def tables(self) -> LocalTables:
        """The tables in the folder."""
        if self._known is None:
            from kip848_records.engines.embedded.tables import LocalTables  # noqa: PLC0415 - delta-rs takes a while to load

            self._known = LocalTables(self.out, here(self.out).absolute())
        return self._known

    def _sorted(self, rows: Relation, key: Sequence[str], order: Sequence[str]) -> Relation:
        columns = ", ".join(map(quoted, [*key, *order]))
        return Sql(self._space, f"SELECT * FROM {{rows}} ORDER BY {columns}", {"rows": self.relation(rows)})  # noqa: S608


@contextmanager
def _naming_full_disks(out: str, folder: Path) -> Iterator[None]:
    """Turn the errors of a full disk within the block into one that names the disk."""
    try:
        yield
    except DiskError:
        raise
    except Exception as error:
        if FULL in str(error):
            raise DiskError.full({out: folder}) from error
        raise
