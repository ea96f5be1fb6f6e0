"""How answers look in a terminal: tables, times and ids that are never truncated."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.text import Text

from kip848_records.text import WIDTH, names_text, printable, ranges_text
from kip848_records.times import utc_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


TOGETHER: Final = re.compile(
    r"(?<=[≥≤]) (?=\d)|(?<=\d) (?=(?:ms|s|min|h|d|UTC)\b)|(?<=-\d\d) (?=\d\d:)| (?=@ )|(?<= @) "
)
"""A space at which no line ends: before a unit, within a time, and around what stands between a client and its host."""
JOINT: Final = "\ue000"
"""Stands for a space at which no line ends; no printable text has it."""

_LOOSE: Final = "\ue001"
"""The same, unless what stands together is too wide for a line."""
_INDENT: Final = "  "
_IDS_SHOWN = 3


def cell_text(value: object) -> str:
    """Return a cell of a query's answer as text: empty for null, JSON for lists and structs."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=plain_text, ensure_ascii=False)
    return plain_text(value)


def table_cell_text(value: object) -> str:
    """Return a cell of a query's answer as text for people: numbers such as partitions as ranges, times in UTC."""
    if isinstance(value, datetime):
        return utc_text(value)
    if isinstance(value, list) and all(isinstance(each, int) for each in value):
        return ranges_text(value)
    return cell_text(value)


def plain_text(value: object) -> str:
    """Return a text for values that JSON cannot represent: times in ISO 8601, bytes in base64."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value.isoformat() if isinstance(value, datetime) else str(value)


def ids_text(ids: Sequence[str | None] | None) -> str:
    """Return the first ids in full, and the number of the others."""
    return names_text([each for each in ids or () if each is not None], _IDS_SHOWN)


def wrapped(text: str, label: str = "") -> Text:
    """Return a sentence on lines of `WIDTH` columns, behind a label."""
    return Text("\n".join(wrapped_lines(text, WIDTH, label, " " * len(label))))


def wrapped_lines(text: str, width: int, first: str = "", others: str = "") -> Iterator[str]:
    """Yield the lines of a text, at most `width` cells wide unless a name alone is wider.

    `first`, `others`: what the first line and all others begin with. No name is cut, and no line ends before a unit,
    between a client and its host, or at a `JOINT`, if what stands together fits.
    """
    line, is_empty = first, True
    joined = TOGETHER.sub(_LOOSE, text).split(" ")
    fits = width - len(others)
    for word in chain.from_iterable(each.split(_LOOSE) if cell_len(each) > fits else [each] for each in joined):
        if not is_empty and cell_len(line) + 1 + cell_len(word) > width:
            yield _spaced(line)
            line, is_empty = others, True
        line = f"{line}{word}" if is_empty else f"{line} {word}"
        is_empty = False
    yield _spaced(line)


def _spaced(line: str) -> str:
    return line.replace(JOINT, " ").replace(_LOOSE, " ").rstrip()


def fitted(part: Text) -> Text:
    """Return a text with its long lines wrapped; the lines after the first are indented a little further."""
    if all(cell_len(line) <= WIDTH for line in part.plain.split("\n")):
        return part
    lines: list[str] = []
    for line in part.plain.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        lines += wrapped_lines(line.lstrip(), WIDTH, indent, f"{indent}  ") if cell_len(line) > WIDTH else [line]
    return Text("\n".join(lines))


def fitted_table(
    *titles: str,
    rows: Iterable[tuple[object, ...]],
    right: Sequence[str] = (),
    width: int | None = WIDTH,
    is_ruled: bool = False,
) -> Iterator[Text]:
    """Yield a table of at most `width` columns, its most important columns first, unless a name alone is wider.

    Those columns that have no room follow each row on lines of their own, behind their titles; None is an empty cell.
    The columns named in `right` are right-aligned. `width` None: each row is one line. `is_ruled`: the table is the
    whole answer, so that it is not indented, and a line stands below its titles.
    """
    indent, gap = ("", " " * 3) if is_ruled else (_INDENT, _INDENT)
    cells = [tuple("" if cell is None else printable(str(cell)) for cell in row) for row in rows]
    widths = [max(map(cell_len, (title, *column))) for title, *column in zip(titles, *cells, strict=True)]
    shown = len(titles)
    while width is not None and shown > 1 and len(indent) + sum(widths[:shown]) + len(gap) * (shown - 1) > width:
        shown -= 1
    for row in (titles, *cells):
        padded = [
            " " * (column - cell_len(cell)) + cell if title in right else cell + " " * (column - cell_len(cell))
            for title, cell, column in zip(titles[:shown], row, widths, strict=False)
        ]
        yield Text(f"{indent}{gap.join(padded)}".rstrip())
        if row is titles and is_ruled:
            yield Text("\u2500" * (sum(widths[:shown]) + len(gap) * (shown - 1)))
        others = [] if row is titles else zip(titles[shown:], row[shown:], strict=True)
        rest = "; ".join(f"{title}: {cell}" if title else cell for title, cell in others if cell)
        if rest and width is not None:
            yield Text("\n".join(wrapped_lines(rest, width, indent + _INDENT * 2, indent + _INDENT * 3)))
