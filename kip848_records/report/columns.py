"""The columns of every table that people read: of sections of a group's history, and of answers about a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.machine.disks import bytes_text
from kip848_records.text import names_text, span_text
from kip848_records.times import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TEXT: Final = ""
NUMBER: Final = "number"
TIME: Final = "time"
SPAN: Final = "span"
AT_LEAST: Final = "at least"
AT_MOST: Final = "at most"
BYTES: Final = "bytes"
"""The kinds of columns: their values are texts, numbers, times in ms since 1970, time spans in ms, or bytes."""

CLASSES: Final = {TEXT: "", TIME: "time"}
_KEY: Final = str.maketrans(" ", "_", "{}")
_NAMED: Final = 3


class Names(tuple[str, ...]):
    """A cell of names: as text the first of them, and how many more there are."""

    __slots__ = ()

    def __str__(self) -> str:
        return names_text(self, _NAMED)


class Column(NamedTuple):
    """A column, which is there only if a cell is filled.

    `title`: a noun, in lower case, with words of the kind of group such as ``{units}``. `value`: the name of a field,
    or a function of the row; a text may stand for a value of any kind, `Names` for a text, None for an empty cell.
    `style`: the class of its cells on the page, such as ``minor``; those that are ``lesser`` are not in the terminal.
    """

    title: str
    value: str | Callable[[Any], Any]
    kind: str = TEXT
    style: str = ""

    @property
    def key(self) -> str:
        """The name of its values in the rows of the page."""
        return self.value if isinstance(self.value, str) else f"{self.title.translate(_KEY)}_text"

    def of(self, row: Any) -> Any:  # noqa: ANN401 - of the column's kind
        """Return the value in a row, which has its fields as keys or as attributes."""
        if not isinstance(self.value, str):
            return self.value(row)
        return row[self.value] if isinstance(row, dict) else getattr(row, self.value)

    def cell(self, row: Any) -> str | Names:  # noqa: ANN401 - any row
        """Return a cell as text, with the time zone of a time."""
        value = self.of(row)
        if value is None or isinstance(value, (str, Names)):
            return value or ""
        if self.kind == TIME:
            return time_text(value)
        if self.kind == BYTES:
            return bytes_text(value, "bytes")
        if self.kind == AT_MOST:
            return f"≤ {span_text(value)}" if value >= 0 else span_text(value)
        is_span = self.kind in {SPAN, AT_LEAST}
        return span_text(value, is_minimum=self.kind == AT_LEAST) if is_span else f"{value:,}"

    def for_page(self, words: Mapping[str, str]) -> dict[str, str]:
        """Return what the page knows of the column, in a group of a kind with these words."""
        return {
            "title": titled(self.title, words) + (" (UTC)" if self.kind == TIME else ""),
            "key": self.key,
            "of": self.kind,
            "kind": " ".join(filter(None, (CLASSES.get(self.kind, "number"), self.style))),
        }


class Cells(NamedTuple):
    """A table as people read it: the titles of columns, and those of them that are aligned right."""

    columns: Sequence[str] = ()
    rows: Sequence[tuple[str | Names, ...]] = ()
    right: Sequence[str] = ()


def filled(columns: Sequence[Column], rows: Sequence[Any], words: Mapping[str, str] | None = None) -> Cells:
    """Return the cells of the columns with a value in any row. `words`: those of the kind of group, for its titles."""
    cells = {each: [each.cell(row) for row in rows] for each in columns}
    kept = {each: texts for each, texts in cells.items() if any(texts)}
    titles = [each.title.format_map(words or {}) for each in kept]
    right = [title for title, each in zip(titles, kept, strict=True) if each.kind not in CLASSES]
    return Cells(titles, list(zip(*kept.values(), strict=True)), right)


def titled(title: str, words: Mapping[str, str]) -> str:
    """Return a title with the words of a kind of group, and a capital letter."""
    said = title.format_map(words)
    return said[0].upper() + said[1:]


def bare(name: str) -> Callable[[Any], str | None]:
    """Return a number that is a name or a position: without separators."""
    of = Column("", name).of
    return lambda row: None if of(row) is None else str(of(row))
