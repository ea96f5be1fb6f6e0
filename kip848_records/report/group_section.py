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
from kip848_records.report.columns import filled, titled
from kip848_records.report.terminal import fitted_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.queries.tables import Tables
    from kip848_records.report.columns import Column

    Fields = dict[str, Any]

_OF_ALL: Final = frozenset({"partition", "group_id", "nth", "total", "kind", "clients", "places"})
_SQL: Final = "report/page/sql"


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
        columns = [column.for_page(KINDS[kind].words) for column in self.columns]
        shown = {"name": self.name, "isFolded": self.is_folded, "note": self.note}
        return shown | {"title": titled(self.title, KINDS[kind].words), "columns": columns}

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
        yield Text(f"\n{title or titled(self.title, KINDS[kind].words)}{cut}:")
        yield from table(self.columns, shown, kind)
        if cut and self.relation:
            yield Text(f"  and {total - len(shown):,} more: see {self.relation}")
        if self.note:
            yield Text(f"\n{self.note}. See {with_page_paths(self.page)}")


def table(columns: Sequence[Column], rows: Sequence[Fields], kind: str) -> Iterator[Text]:
    """Yield a table for the terminal, of the columns that are filled."""
    shown = [each for each in columns if "lesser" not in each.style]
    titles, cells, right = filled(shown, rows, KINDS[kind].words)
    yield from fitted_table(*titles, rows=cells, right=right)


def with_rows(tables: Tables, cluster: str, sections: Sequence[GroupSection]) -> list[GroupSection]:
    """Return those of the sections that may have rows: all but those whose tables have none in the cluster."""
    found = tables.with_rows({each.table for each in sections if each.table}, cluster)
    return [each for each in sections if not each.table or each.table in found]


def relations() -> dict[str, str]:
    """Return the relations that the texts of the page share, by their names."""
    return {name: read(f"{_SQL}/{name}.sql") for name in ("ranked", "chosen")}
