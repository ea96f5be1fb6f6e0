"""Parts of the generated pages: tables, and the types of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, DataType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterable

_BAR = r"\|"  # a bar within a cell


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace('|', _BAR) for cell in cells)} |"

    titles = list(titles)
    return "\n".join([line(titles), f"|{'---|' * len(titles)}", *(line(row) for row in rows)])


def type_text(kind: DataType) -> str:
    """Return a type in SQL, with spaces, so that long ones can be broken."""
    if isinstance(kind, ArrayType):
        return f"array<{type_text(kind.elementType)}>"
    if isinstance(kind, StructType):
        return f"struct<{', '.join(f'{each.name}: {type_text(each.dataType)}' for each in kind)}>"
    return kind.simpleString()
