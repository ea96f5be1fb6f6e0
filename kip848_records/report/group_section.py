"""A section of a group's history: its rows, columns, words and note, once for `explain` and for the page.

The rows are those of a file in `sql/sections/`, for the groups in `chosen`: `explain` chooses one group. They have
``partition`` and ``group_id``, and in Python also ``kind``, the kind of the group, and ``clients``, the names of its
members by their ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.text import Text

from kip848_records.kinds import KINDS
from kip848_records.machine.paths import with_page_paths
from kip848_records.queries.texts import completed, read, rendered
from kip848_records.report.terminal import fitted_table
from kip848_records.text import span_text
from kip848_records.times import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kip848_records.queries.tables import Tables

    Fields = dict[str, Any]

TEXT: Final = ""
NUMBER: Final = "number"
TIME: Final = "time"
SPAN: Final = "span"
AT_LEAST: Final = "at least"
AT_MOST: Final = "at most"
"""The kinds of columns: their values are texts, numbers, times in ms since 1970, or time spans in ms."""

CLASSES: Final = {TEXT: "", TIME: "time"}
RIGHT: Final = (NUMBER, SPAN, AT_LEAST, AT_MOST)
_KEY: Final = str.maketrans(" ", "_", "{}")
_OF_ALL: Final = frozenset({"partition", "group_id", "nth", "total", "kind", "clients", "places"})
_SQL: Final = "report/page/sql"


class Column(NamedTuple):
    """A column, which is there only if a cell is filled.

    `title`: a noun, in lower case, with words of the kind of group such as ``{units}``. `value`: the name of a field,
    or a function of the row; a text may stand for a value of any kind, None for an empty cell. `style`: the class of
    its cells on the page, such as ``minor``; those that are ``lesser`` are not in the terminal.
    """

    title: str
    value: str | Callable[[Fields], Any]
    kind: str = TEXT
    style: str = ""

    @property
    def key(self) -> str:
        """The name of its values in the rows of the page."""
        return self.value if isinstance(self.value, str) else f"{self.title.translate(_KEY)}_text"

    def of(self, row: Fields) -> Any:  # noqa: ANN401 - of the column's kind
        """Return the value in a row."""
        return row[self.value] if isinstance(self.value, str) else self.value(row)

    def text(self, row: Fields) -> str:
        """Return a cell as text, with the time zone of a time."""
        return cell_text(self.of(row), self.kind)

    def for_page(self, kind: str) -> dict[str, str]:
        """Return what the page knows of the column, in a group of a kind."""
        return {
            "title": _titled(self.title, kind) + (" (UTC)" if self.kind == TIME else ""),
            "key": self.key,
            "of": self.kind,
            "kind": " ".join(filter(None, (CLASSES.get(self.kind, "number"), self.style))),
        }


def cell_text(value: Any, kind: str) -> str:  # noqa: ANN401 - of the kind
    """Return a value of a kind of columns as text."""
    if value is None or isinstance(value, str):
        return value or ""
    if kind == TIME:
        return time_text(value)
    if kind == AT_MOST:
        return f"≤ {span_text(value)}" if value >= 0 else span_text(value)
    return span_text(value, is_minimum=kind == AT_LEAST) if kind in {SPAN, AT_LEAST} else f"{value:,}"


class GroupSection(NamedTuple):
    """A section of a group's history.

    `limit`: how many rows of a group the page has, the first by `order`; `shown`: how many of them the terminal has, 0
    if the section is on the page only. `table`: that of a kind of groups that it is about; if it has no rows, the
    section is not read. Without it, groups of all kinds have the section. `source`: the file of its rows, if that has
    another name; `where`: which of them.

    `title`: with words of the kind, as those of `columns`. Without columns it is no table; `kept`: the fields that
    the page's scripts draw besides the columns, by default all. `is_past`: the terminal has the rows of all
    incarnations, not only those of the last one. `is_folded`: it is closed on the page at first. `note`: stands below
    it. `page`: that of the documentation, which only the terminal names: the page may be on another machine.
    `relation`: the relation that has all rows; the terminal names it below those that it shows.
    """

    name: str
    order: str
    title: str
    columns: Sequence[Column] = ()
    limit: int = 500
    shown: int = 20
    table: str = ""
    source: str = ""
    where: str = "true"
    kept: str = ""
    is_past: bool = False
    is_folded: bool = False
    note: str = ""
    page: str = ""
    relation: str = ""

    @property
    def query(self) -> str:
        """SQL for the rows of chosen groups, with ``nth`` and ``total``; its parameters are those of `chosen`."""
        return self.query_of(**relations())

    def query_of(self, where: str = "", **shared: str) -> str:
        """Return the same for the groups of a relation ``chosen``, its SQL; `where`: instead of its own condition."""
        text = rendered(f"{_SQL}/section.sql", order=self.order, limit=self.limit, where=where or self.where)
        return completed(text, rows_=read(f"report/sql/sections/{self.source or self.name}.sql"), **shared)

    def words(self, kind: str) -> str:
        """Return what its rows are called, in groups of a kind."""
        return self.title.format_map(KINDS[kind].words).split(",")[0]

    def for_page(self, kind: str) -> dict[str, Any]:
        """Return what the page knows of the section in groups of a kind."""
        columns = [column.for_page(kind) for column in self.columns]
        shown = {"name": self.name, "isFolded": self.is_folded, "note": self.note}
        return shown | {"title": _titled(self.title, kind), "columns": columns}

    def rows_for_page(self, rows: Sequence[Fields]) -> list[Fields]:
        """Return the part of rows that the page has."""
        kept = self.kept.split() if self.kept or self.columns else [name for name in rows[0] if name not in _OF_ALL]
        columns = [(column.key, column.of) for column in self.columns]
        return [{name: row[name] for name in kept} | {key: value(row) for key, value in columns} for row in rows]

    def terminal(self, rows: Sequence[Fields], kind: str, title: str = "") -> Iterator[Text]:
        """Yield the section as text, `title` in place of its own; nothing without a row."""
        if not rows:
            return
        total, shown = sum({row["partition"]: row["total"] for row in rows}.values()), rows[: self.shown]
        cut = f", {len(shown):,} of {total:,}" if total > len(shown) else ""
        yield Text(f"\n{title or _titled(self.title, kind)}{cut}:")
        yield from table(self.columns, shown, kind)
        if cut and self.relation:
            yield Text(f"  and {total - len(shown):,} more: see {self.relation}")
        if self.note:
            yield Text(f"\n{self.note}. See {with_page_paths(self.page)}")


def table(columns: Sequence[Column], rows: Sequence[Fields], kind: str) -> Iterator[Text]:
    """Yield a table for the terminal, of the columns that are filled."""
    cells = {each: [each.text(row) for row in rows] for each in columns if "lesser" not in each.style}
    filled = {each: texts for each, texts in cells.items() if any(texts)}
    titles = [each.title.format_map(KINDS[kind].words) for each in filled]
    right = [title for title, each in zip(titles, filled, strict=True) if each.kind in RIGHT]
    yield from fitted_table(*titles, rows=zip(*filled.values(), strict=True), right=right)


def _titled(title: str, kind: str) -> str:
    said = title.format_map(KINDS[kind].words)
    return said[0].upper() + said[1:]


def with_rows(tables: Tables, cluster: str, sections: Sequence[GroupSection]) -> list[GroupSection]:
    """Return those of the sections that may have rows: all but those whose tables have none in the cluster."""
    found = tables.with_rows({each.table for each in sections if each.table}, cluster)
    return [each for each in sections if not each.table or each.table in found]


def relations() -> dict[str, str]:
    """Return the relations that the texts of the page share, by their names."""
    return {name: read(f"{_SQL}/{name}.sql") for name in ("ranked", "chosen")}
