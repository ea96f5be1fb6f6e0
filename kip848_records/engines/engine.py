"""The interface of an engine, which moves rows. It knows no rule.

A rule is a function of Arrow batches, or a text in SQL that DuckDB and Spark both understand. So there is one pipeline,
whichever engine moves its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from kip848_records.machine.files import Listing
    from kip848_records.queries.tables import Parameter, Row
    from kip848_records.sources.listing import Copy
    from kip848_records.specs.columns import TableSpec

    Work = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    """A function over batches, which can be pickled: other processes call it."""
    TableWork = Callable[[Iterable[pa.RecordBatch]], Iterator[tuple[type[Any], pa.RecordBatch]]]
    """The same, with the class of the rows of each batch (`replay.rows.ROW_CLASSES`)."""

Relation: TypeAlias = Any
"""Rows that an engine can read, perhaps not computed yet. Only the engine that returned them looks inside."""


class Rows(Protocol):
    """Rows that are read in this process, as often as a caller asks."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""


class MissingColumn(NamedTuple):
    """A column that a table lacks, or a field of one: `path` has the names down to it, as Spark's SQL has them."""

    path: tuple[str, ...]
    type: pa.DataType
    comment: str | None


class EngineTables(Protocol):
    """Delta tables at one location: each holds the rows of all clusters."""

    def is_there(self, table: str) -> bool:
        """Return whether a table exists, with rows of any cluster."""

    def version(self, table: str) -> int | None:
        """Return a table's present Delta version; None if it does not exist."""

    def create(self, spec: TableSpec) -> None:
        """Create a table without rows if it does not exist, with comments and NOT NULL."""

    def restore(self, table: str, version: int | None) -> None:
        """Restore a version of a table; None: remove the table, which did not exist."""

    def optimize(self, table: str, days: int) -> None:
        """Merge small files of a table, and delete files that no version has used for so many days."""

    def columns(self, table: str) -> Mapping[str, Any] | None:
        """Return a table's schema as in Delta's log ("Schema Serialization Format"); None if it does not exist."""

    def add_columns(self, spec: TableSpec, missing: Sequence[MissingColumn]) -> None:
        """Add columns and fields. They are nullable, because existing rows have no value for them."""

    def make_anew(self, spec: TableSpec) -> None:
        """Give a table the columns of this version, without rows, in one commit; it keeps its properties."""


class Engine(Protocol):
    """Moves rows between a log's copies, the functions of the pipeline, and the tables at one location.

    `name`: as in `--engine`. `out`: the location of the tables.
    """

    name: str
    out: str

    # Relations

    def sql(self, text: str, **relations: Relation) -> Relation:
        """Return the answer to a query. ``{name}`` in its text stands for the relation of that name.

        The text is one of `queries.texts`: both engines understand it.
        """

    def relation(self, rows: pa.Table | Rows) -> Relation:
        """Return rows of this process."""

    def types(self, rows: Relation) -> dict[str, str]:
        """Return the columns of rows with their types as Spark's SQL names them, such as `bigint`."""

    def map(self, work: Work, rows: Relation, schema: pa.Schema) -> Relation:
        """Return the result of a function over rows, in any order and in any number of parts."""

    def map_sorted(
        self, work: Work, rows: Relation, schema: pa.Schema, *, key: Sequence[str], order: Sequence[str]
    ) -> Relation:
        """Return the result of a function over sorted rows; all rows of a key reach one call, one key after another."""

    def replay(self, work: TableWork, rows: Relation, *, key: Sequence[str], order: Sequence[str]) -> dict[str, Rows]:
        """Return what a function over sorted rows yields, by table (`replay.rows.ROW_CLASSES`).

        All rows of a key reach one call, as with `map_sorted`. A table without rows is missing; batches of other
        classes are skipped.
        """

    def materialize(self, rows: Relation, name: str) -> Rows:
        """Compute rows once, in the scratch folder. The result is a relation too."""

    def observed(self, rows: Relation, aggregate: str, kept: str) -> tuple[Relation, Callable[[], int]]:
        """Return the rows for which the condition `kept` holds, and a function that returns an aggregate over all rows.

        Both are SQL. Call the function after `replace` has written the rows: within the text of another query a session
        of Spark Connect loses what was observed.
        """

    def iterate(self, rows: Relation) -> Iterator[Row]:
        """Yield rows as named tuples, a part of them at a time."""

    def collect(self, rows: Relation) -> list[Row]:
        """Return a few rows as named tuples; their structs are dictionaries."""

    # Sources

    def listing(self) -> Listing:
        """Return what lists the files of sources."""

    def scan(self, copy: Copy) -> Relation:
        """Return the rows of a copy in Parquet or Delta, with the columns and types of its files.

        Raises InputError for files that are not of the format.
        """

    def lines(self, copy: Copy) -> Relation:
        """Return the lines of a copy as ``value`` (binary), decompressed by the endings of its files' names.

        Folders that are named as partition columns, such as `partition=3`, give more columns.
        """

    def files(self, copy: Copy) -> Relation:
        """Return the files of a copy as ``path``; those that are not on a file system of the workers with ``content``.

        Raises InputError for a file that is too large to be read as a whole.
        """

    def reading(self) -> AbstractContextManager[None]:
        """Turn failures to read a source within the block into InputErrors, which name the file if it is known."""

    # Tables

    @property
    def tables(self) -> EngineTables:
        """The tables at the location."""

    def alone(self, work_folder: str) -> AbstractContextManager[None]:
        """Keep other runs from the tables, and offer a scratch folder below `work_folder`, which is removed.

        Raises InputError if another run writes to them, then or later.
        """

    def prepare(self, *, migrate: bool = True) -> list[str]:
        """Add this version's columns to the tables of an older one; return the clusters that must be rebuilt."""

    def table(self, table: str, cluster: str) -> Relation:
        """Return the newest rows of one cluster in a table; none if it does not exist."""

    def ask(self, text: str, *tables: str, **parameters: Parameter) -> list[Row]:
        """Return the answer to a query over the newest rows of some tables, of an unfinished run too."""

    def replace(self, spec: TableSpec, cluster: str, rows: Relation | Rows | None) -> None:
        """Replace a cluster's rows in one commit: a reader sees the old ones or the new ones. None: no rows.

        Missing columns become null. Without rows, a missing table is not created.
        """

    def append(self, spec: TableSpec, cluster: str, rows: Relation, *, application: str, number: int) -> None:
        """Append rows in one commit, but not a second time for the same `application` and `number`.

        Numbers must increase: Delta stores the last one of each application.
        """

    def delete(self, spec: TableSpec, cluster: str, rows: Relation, keys: Sequence[str]) -> None:
        """Delete those of a cluster's rows that have the same values of `keys` as one of `rows`, in one commit."""

    def for_each(self, work: Callable[[Any], object], items: Iterable[Any]) -> None:
        """Do the work for each item, some at a time if that is faster; raises the first error."""


def union_of(engine: Engine, parts: Sequence[Relation], columns: Iterable[str] = ("*",)) -> Relation:
    """Return these columns of the rows of all parts, of which there is at least one."""
    listed = ", ".join(f"part.{column}" for column in columns)
    texts = [f"SELECT {listed} FROM {{part_{nth}}} AS part" for nth in range(len(parts))]  # noqa: S608 - names of columns
    return engine.sql(" UNION ALL ".join(texts), **{f"part_{nth}": part for nth, part in enumerate(parts)})
