"""Parts of an answer for people, rendered twice: as text for a terminal, and as Markdown for a ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.text import Text

from kip848_records.report.columns import Cells, filled
from kip848_records.report.markdown import code, prose, table
from kip848_records.report.terminal import fitted_table, wrapped_lines
from kip848_records.text import WIDTH, printable
from kip848_records.times import utc_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kip848_records.queries.tables import Run
    from kip848_records.report.columns import Column

_SHOWN: Final = 10
_SHOWN_IN_MARKDOWN: Final = 200


class Section(NamedTuple):
    """A part of the answer for people; rows are in their order of importance.

    A column `group` has the id of a group, `such as` those of several.
    """

    title: str
    cells: Cells = Cells()
    notes: Sequence[str] = ()


def section(title: str, columns: Sequence[Column], rows: Sequence[Any], *notes: str) -> Iterator[Section]:
    """Yield a section with the columns that are filled; nothing without a row."""
    if rows:
        yield Section(title, filled(columns, rows), notes)


def captured_text(run: Run) -> str:
    """Return of which cluster an answer is, and of when."""
    at = run.captured_at
    return f"cluster {run.cluster}" + ("" if at is None else f", captured at {utc_text(at)}")


def sections_terminal(head: str, sections: Iterable[Section]) -> Iterator[Text]:
    """Yield the lines, with the first rows of each section."""
    yield Text(printable(head))
    for nth, section in enumerate(sections):
        yield Text(f"{'' if nth == 0 else chr(10)}{printable(section.title)}")
        for note in section.notes:
            yield Text("\n".join(wrapped_lines(printable(note), WIDTH, "  - ", "    ")))
        titles, rows, right = section.cells
        if rows:
            shown = rows[:_SHOWN]
            yield from fitted_table(*titles, rows=shown, right=right)
            if more := _more(len(rows), len(shown)):
                has_all = len(rows) <= _SHOWN_IN_MARKDOWN
                where = (
                    "--json and --markdown have" if has_all else f"--markdown has {_SHOWN_IN_MARKDOWN}, --json all of"
                )
                yield Text(f"  {more}; {where} them")


def sections_markdown(head: str, sections: Iterable[Section]) -> str:
    """Return the sections as Markdown, with the first 200 rows of each."""
    return "\n\n".join(_markdown(head, sections)) + "\n"


def _markdown(head: str, sections: Iterable[Section]) -> Iterator[str]:
    yield f"## {prose(head)}"
    for section in sections:
        yield f"### {prose(section.title)}"
        if section.notes:
            yield "\n".join(f"- {prose(note)}" for note in section.notes)
        titles, rows, _ = section.cells
        if rows:
            shown = rows[:_SHOWN_IN_MARKDOWN]
            yield table(titles, [[code(str(cell)) for cell in row] for row in shown])
            if more := _more(len(rows), len(shown)):
                yield f"{more}; --json has them"


def _more(counted: int, shown: int) -> str:
    return f"and {counted - shown:,} more" if counted > shown else ""
