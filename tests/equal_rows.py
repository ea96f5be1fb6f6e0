"""Rows of tables, equal in any order; a test that finds others shows what differs by column."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_SHOWN = 3
"""So many rows are compared by column: the first ones say what kind of difference it is."""

_Columns = tuple[tuple[Any, str], ...]


class Rows:
    """Rows of one table (mappings or tuples), in any order."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self.rows = list(rows)
        # As a whole, which is three times as fast as by column.
        self._counts = Counter(map(repr, map(_plain, self.rows)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(frozenset(self._counts.items()))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"

    def differences(self, expected: "Rows") -> Iterator[str]:
        """Yield what differs from the expected rows, each beside the row that is most like it."""
        found, wanted = (Counter(map(_columns, each.rows)) for each in (self, expected))
        wrong, missing = (sorted((one - other).elements()) for one, other in ((found, wanted), (wanted, found)))
        yield f"{len(wrong)} rows are not expected, {len(missing)} are missing"
        for row in wrong[:_SHOWN]:
            nearest = max(missing, key=lambda other: len({*other} & {*row}), default=())
            yield f"  found    {_text(item for item in row if item not in nearest)}"
            yield f"  expected {_text(item for item in nearest if item not in row)}"
            yield f"  in       {_text(item for item in row if item in nearest)}"
        for row in () if wrong else missing[:_SHOWN]:
            yield f"  missing {_text(row)}"


def differences(found: object, expected: object) -> list[str] | None:
    """Return what differs in rows, or in rows by table; None if it is about something else."""
    if isinstance(found, Rows) and isinstance(expected, Rows):
        return ["equal rows", *found.differences(expected)]
    if not isinstance(found, dict) or not isinstance(expected, dict) or found.keys() != expected.keys():
        return None
    tables = [name for name, rows in found.items() if isinstance(rows, Rows) and rows != expected[name]]
    lines = [f"{name}: {line}" for name in tables for line in found[name].differences(expected[name])]
    return ["equal tables", *lines] if tables else None


def _plain(row: Any) -> Any:
    """A row by the names of its columns if it has them, else a tuple."""
    row = row._asdict() if hasattr(row, "_asdict") else row
    return dict(row) if isinstance(row, Mapping) else tuple(row)


def _columns(row: Any) -> _Columns:
    """The columns of a row: by name, or by position."""
    row = _plain(row)
    items = row.items() if isinstance(row, dict) else enumerate(row)
    return tuple((column, repr(value)) for column, value in items)


def _text(items: Iterable[tuple[Any, str]]) -> str:
    return ", ".join(f"{column}: {value}" for column, value in items)
