"""Sections that tell of one group: their columns, words and notes, once for `explain` and once for the page.

The rows are those of `page/sql/sections/`, for the groups in `chosen`: of `explain` that is one group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.text import Text

from kip848_records.machine.paths import with_page_paths
from kip848_records.report.page.sections import SECTIONS
from kip848_records.report.terminal import fitted_table
from kip848_records.text import span_text
from kip848_records.times import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kip848_records.report.group_history import GroupHistory

    Fields = Mapping[str, Any]

TEXT: Final = ""
NUMBER: Final = "number"
TIME: Final = "time"
SPAN: Final = "span"
AT_LEAST: Final = "at least"
AT_MOST: Final = "at most"
"""The kinds of columns: their values are texts, numbers, times in ms since 1970, or time spans in ms."""

_RIGHT: Final = (NUMBER, SPAN, AT_LEAST, AT_MOST)


class Column(NamedTuple):
    """A column. `title`: a noun, in lower case; `value`: of a row, of the column's kind; None: an empty cell.

    `style`: the class of its cells on the page, such as ``minor``. `is_optional`: it is there only if a cell is filled.
    """

    title: str
    value: Callable[[Fields], Any]
    kind: str = TEXT
    style: str = ""
    is_optional: bool = False

    def text(self, row: Fields) -> str:
        """Return a cell as text, with the time zone of a time."""
        value = self.value(row)
        if value is None or isinstance(value, str):
            return value or ""
        if self.kind == TIME:
            return time_text(value)
        if self.kind == AT_MOST:
            return f"≤ {span_text(value)}" if value >= 0 else span_text(value)
        return span_text(value, is_minimum=self.kind == AT_LEAST) if self.kind in _RIGHT[1:] else f"{value:,}"


class Told(NamedTuple):
    """A section: `name` is that of its rows. `cut`: which rows are shown if there are more; `note`: stands below it.

    `page`: that of the documentation, which only the terminal names: the page may be on another machine.
    """

    name: str
    title: str
    cut: str
    columns: Sequence[Column]
    note: str = ""
    page: str = ""

    def for_page(self) -> dict[str, Any]:
        """Return what the page knows of the section: titles, kinds and styles of its columns, and the note."""
        columns = [_of_page(column) for column in self.columns]
        return {"title": self.title, "note": self.note, "columns": columns}

    def cells(self, row: Fields) -> list[str]:
        """Return the cells of a row as the page shows them: the titles of times name their zone."""
        return [
            text.removesuffix(" UTC") if column.kind == TIME else text
            for column, text in ((column, column.text(row)) for column in self.columns)
        ]

    def terminal(self, group: GroupHistory) -> Iterator[Text]:
        """Yield the section of a group as text, by its times; nothing without a row."""
        section = next(each for each in SECTIONS if each.name == self.name)
        rows = sorted(group.section(section), key=lambda row: row["at_offset"] or 0)
        if not rows:
            return
        total = sum({row["partition"]: row["total"] for row in rows}.values())
        cut = f", the {len(rows)} of {total:,} {self.cut}" if total > len(rows) else ""
        yield Text(f"\n{self.title}{cut}:")
        cells = [[column.text(row) for column in self.columns] for row in rows]
        shown = [n for n, each in enumerate(self.columns) if not each.is_optional or any(row[n] for row in cells)]
        titles = [self.columns[n].title for n in shown]
        right = [self.columns[n].title for n in shown if self.columns[n].kind in _RIGHT]
        yield from fitted_table(*titles, rows=[tuple(row[n] for n in shown) for row in cells], right=right)
        if self.note:
            yield Text(f"\n{self.note}. See {with_page_paths(self.page)}")


def _of_page(column: Column) -> dict[str, Any]:
    kind = {TIME: "time", TEXT: ""}.get(column.kind, "number")
    return {
        "title": column.title[0].upper() + column.title[1:] + (" (UTC)" if column.kind == TIME else ""),
        "kind": " ".join(filter(None, (kind, column.style))),
        "isOptional": column.is_optional,
    }
