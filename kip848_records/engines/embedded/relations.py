"""Relations of the embedded engine: queries of DuckDB, functions over batches, and rows in memory or in files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kip848_records.engines.embedded.duck_sql import plain_type
from kip848_records.engines.embedded.tagged_rows import FileRows, TaggedRows, conformed
from kip848_records.engines.rows import ArrowRows
from kip848_records.machine.interrupts import interruptible
from kip848_records.queries.delta_files import parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    import duckdb

    from kip848_records.engines.embedded.space import Space
    from kip848_records.engines.engine import Rows, Work
    from kip848_records.queries.delta_files import DeltaFiles

BATCH_ROWS: Final = 10_000
"""The rows of a batch: a good size for the decoder, as Spark's batches have it."""

IN_MEMORY: Final = 32 << 20
"""The bytes up to which rows that are computed once stay in memory."""


@dataclass
class Query:
    """A query that is put together: Arrow data by name, and the texts of the relations that it reads, in order."""

    data: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)

    def name(self, relation: Relation) -> str:
        """Return the name of a relation, which is added if this is the first time."""
        known = self._names.get(id(relation))
        if known is None:
            text = relation.text(self)
            known = self._names[id(relation)] = f"relation_{len(self._names)}"
            self.texts[known] = text
        return known

    def data_name(self, data: object) -> str:
        """Return the name of Arrow data."""
        name = f"data_{len(self.data)}"
        self.data[name] = data
        return name

    def complete(self, name: str) -> str:
        """Return the text that reads the relation of that name."""
        # DuckDB would compute a relation that is named twice as a whole, with all of its columns.
        parts = ",\n".join(f"{each} AS NOT MATERIALIZED (\n{text}\n)" for each, text in self.texts.items())
        return f"WITH {parts}\nSELECT * FROM {name}"


class Relation(ABC):
    """Rows that are perhaps not computed yet. DuckDB reads them by a text, as a query of their own or in others."""

    def __init__(self, space: Space) -> None:
        self.space = space

    @abstractmethod
    def text(self, query: Query) -> str:
        """Return SQL that reads the rows, and add what it reads to a query."""

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, as the answer has them."""
        return self._few("LIMIT 0").schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        return self.opened()[1]

    def opened(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the columns and the rows. A query for both is planned once."""
        answer = self._answer()
        return next(answer).schema, answer

    def table(self) -> pa.Table:
        """Return all rows at once, only for few: DuckDB plans the query once, but twice for a reader of batches."""
        return self._few()

    def _few(self, limit: str = "") -> pa.Table:
        with self._prepared() as (cursor, text):
            found: pa.Table = interruptible(
                lambda: cursor.execute(f"{text} {limit}").to_arrow_table(), cursor.interrupt
            )
            schema = _plain_schema(found.schema)
            return pa.Table.from_batches(conformed(found.to_batches(), schema), schema)

    def _answer(self) -> Generator[pa.RecordBatch]:
        """Yield a batch without rows, which shows the columns, and then the rows."""
        with self._prepared() as (cursor, text):

            def begin() -> tuple[pa.RecordBatchReader, list[pa.RecordBatch]]:
                # `execute` would hold the whole answer in memory.
                reader = cursor.sql(text).to_arrow_reader(BATCH_ROWS)
                return reader, [*islice(reader, 1)]

            # A sort, for example, is done when the first rows are there.
            reader, first = interruptible(begin, cursor.interrupt)
            nothing = pa.RecordBatch.from_pylist([], reader.schema)
            yield from conformed(chain([nothing], first, reader), _plain_schema(reader.schema))

    @contextmanager
    def _prepared(self) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        """Yield a connection that knows the Arrow data of the query, and the query."""
        query = Query()
        text = query.complete(query.name(self))
        with closing(self.space.cursor()) as cursor:
            for name, data in query.data.items():
                cursor.register(name, data)
            yield cursor, text


class Computed(Relation):
    """Rows that are computed without DuckDB, or before it reads them."""

    _schema: pa.Schema

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._schema

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""

    def opened(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the columns and the rows."""
        return self.schema, self.batches()

    def table(self) -> pa.Table:
        """Return all rows at once. Only for few rows."""
        return pa.Table.from_batches(self.batches(), self.schema)


class Stored(Computed):
    """Rows in memory, or in files that this package wrote."""

    def __init__(self, space: Space, rows: Rows, schema: pa.Schema) -> None:
        super().__init__(space)
        self.rows = rows
        self._schema = schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        return self.rows.batches()

    def text(self, query: Query) -> str:
        """Return SQL that reads the rows."""
        return self.read_by(query.data_name)

    def read_by(self, named: Callable[[Any], str]) -> str:
        """Return SQL that reads the rows. `named` returns a name for Arrow data."""
        if isinstance(self.rows, FileRows):
            return f"SELECT * FROM {parquet(self.rows.files)}"  # noqa: S608 - ours
        assert isinstance(self.rows, ArrowRows)  # noqa: S101 - `stored` returns no other rows
        return f"SELECT * FROM {named(self.rows.table)}"  # noqa: S608 - ours


class DeltaRows(Relation):
    """Rows of a Delta table."""

    def __init__(self, space: Space, files: DeltaFiles, condition: str = "true") -> None:
        super().__init__(space)
        self._files = files
        self._condition = condition

    def text(self, query: Query) -> str:
        """Return SQL that reads the rows."""
        return f"SELECT * FROM ({self._files.text(query.data_name)}) WHERE {self._condition}"  # noqa: S608 - ours


def stored(space: Space, schema: pa.Schema, batches: Iterable[pa.RecordBatch], name: str) -> Stored:
    """Return rows that are computed once: in memory if they are few, else in a file."""
    found = TaggedRows(lambda: space.new_folder(name), IN_MEMORY)
    for batch in batches:
        found.add(name, batch)
    return Stored(space, found.end().get(name, ArrowRows(schema.empty_table())), schema)


class Mapped(Computed):
    """The result of a function over rows: streamed to a reader of batches, computed once for queries."""

    def __init__(self, space: Space, compute: Callable[[], Iterable[pa.RecordBatch]], schema: pa.Schema) -> None:
        super().__init__(space)
        self._compute = compute
        self._schema = schema
        self._stored: Stored | None = None

    @classmethod
    def of(cls, space: Space, work: Work, rows: Relation, schema: pa.Schema) -> Mapped:
        """Return the result of a function over rows."""
        return cls(space, lambda: conformed(work(rows.batches()), schema), schema)

    @property
    def stored(self) -> Stored:
        """The rows, which are computed if they were not."""
        if self._stored is None:
            self._stored = stored(self.space, self._schema, self._compute(), "mapped")
        return self._stored

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        return iter(self._compute()) if self._stored is None else self._stored.batches()

    def text(self, query: Query) -> str:
        """Return SQL that reads the rows."""
        return self.stored.text(query)


class Once(Computed):
    """Rows that the first reader computes, for all readers, together with an aggregate in SQL."""

    def __init__(self, space: Space, rows: Relation, aggregate: str) -> None:
        super().__init__(space)
        self._rows = rows
        self._aggregate = aggregate

    @cached_property
    def _computed(self) -> tuple[Stored, int]:
        # Both at once: when the caller asks for the aggregate, the scratch folder may be gone.
        rows = stored(self.space, *self._rows.opened(), "once")
        found = Sql(self.space, f"SELECT {self._aggregate} FROM {{rows}}", {"rows": rows})  # noqa: S608 - ours
        return rows, int(found.table()[0][0].as_py() or 0)

    @property
    def stored(self) -> Stored:
        """The rows, which are computed if they were not."""
        return self._computed[0]

    def found(self) -> int:
        """Return the aggregate."""
        return self._computed[1]

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._rows.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        return self.stored.batches()

    def text(self, query: Query) -> str:
        """Return SQL that reads the rows."""
        return self.stored.text(query)


class Sql(Relation):
    """The answer to a query."""

    def __init__(self, space: Space, text: str, relations: Mapping[str, Relation]) -> None:
        super().__init__(space)
        self._text = text
        self._relations = relations

    def text(self, query: Query) -> str:
        """Return the text, in which relations have the names of a query."""
        return self._text.format(**{name: query.name(each) for name, each in self._relations.items()})


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([each.with_type(plain_type(each.type)) for each in schema])


def relation_of(space: Space, rows: Relation | Rows) -> Relation:
    """Return rows of any kind as a relation."""
    if isinstance(rows, Relation):
        return rows
    if isinstance(rows, ArrowRows):
        return Stored(space, rows, rows.table.schema)
    batches = iter(rows.batches())
    first = next(batches, None)
    if first is None:
        message = "rows without a batch have no columns"
        raise ValueError(message)
    return Mapped(space, lambda: rows.batches(), first.schema)  # noqa: PLW0108 - a new iterator for each reader
