"""Rows of this process on their way into a table, of either engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.queries.duck import filtered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from kip848_records.engines.engine import Rows

    Complete = Callable[[pa.RecordBatch], pa.RecordBatch]


@dataclass(frozen=True)
class ArrowRows:
    """Rows in memory."""

    table: pa.Table

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        yield from self.table.to_batches()


@dataclass(frozen=True)
class CompletedRows:
    """Rows with columns that the replay does not know: `complete` adds them to a batch."""

    rows: Rows
    complete: Complete

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        return map(self.complete, self.rows.batches())


@dataclass(frozen=True)
class TableRows:
    """The rows of the table `name`: those of all `parts`, except those that match the condition `unless`, in SQL."""

    name: str
    parts: Sequence[Rows]
    unless: str | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        for part in self.parts:
            for batch in part.batches():
                yield from [batch] if self.unless is None else filtered(self.name, batch, self.condition)

    @property
    def condition(self) -> str:
        """Which rows to keep."""
        return f"NOT coalesce({self.unless}, false)"
