"""Parts of an answer for people, rendered twice: as text for a terminal, and as Markdown for a ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.text import Text

from kip848_records.report.markdown import code, prose, table
from kip848_records.report.terminal import fitted_table, wrapped_lines
from kip848_records.text import WIDTH, names_text, printable
from kip848_records.times import utc_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kip848_records.queries.tables import Run

_SHOWN: Final = 10
_NAMED: Final = 3
_SHOWN_IN_MARKDOWN: Final = 200


class Names(tuple[str, ...]):
    """A cell of names: as text the first of them, and how many more there are."""

    __slots__ = ()

    def __str__(self) -> str:
        return names_text(self, _NAMED)


class Section(NamedTuple):
    """A part of the answer for people. `rows`: in their order of importance; `right`: columns of numbers.

    Cells are texts, numbers, None and `Names`. A column `group` has the id of a group, `such as` those of several.
    """

    title: str
    columns: tuple[str, ...] = ()
    rows: Sequence[tuple[Any, ...]] = ()
    right: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def filled(section: Section) -> Section:
    """Return the section without the columns that have no value in any row."""
    kept = [nth for nth, _ in enumerate(section.columns) if any(row[nth] not in {None, "", ()} for row in section.rows)]
    columns = tuple(section.columns[nth] for nth in kept)
    return section._replace(columns=columns, rows=[tuple(row[nth] for nth in kept) for row in section.rows])


def captured_text(run: Run) -> str:
    """Return of which cluster an answer is, and of when."""
    at = run.captured_at
    return f"cluster {run.cluster}" + ("" if at is None else f", captured at {utc_text(at)}")


def sections_terminal(head: str, sections: Iterable[Section]) -> Iterator[Text]:
    """Yield the lines, with the first rows of each section."""
    yield Text(printable(head))
    for nth, section in enumerate(map(filled, sections)):
        yield Text(f"{'' if nth == 0 else chr(10)}{printable(section.title)}")
        for note in section.notes:
            yield Text("\n".join(wrapped_lines(printable(note), WIDTH, "  - ", "    ")))
        if section.rows:
            shown = section.rows[:_SHOWN]
            yield from fitted_table(*section.columns, rows=shown, right=section.right)
            if more := _more(len(section.rows), len(shown)):
                has_all = len(section.rows) <= _SHOWN_IN_MARKDOWN
                where = (
                    "--json and --markdown have" if has_all else f"--markdown has {_SHOWN_IN_MARKDOWN}, --json all of"
                )
                yield Text(f"  {more}; {where} them")


def sections_markdown(head: str, sections: Iterable[Section]) -> str:
    """Return the sections as Markdown, with the first 200 rows of each."""
    return "\n\n".join(_markdown(head, sections)) + "\n"


def _markdown(head: str, sections: Iterable[Section]) -> Iterator[str]:
    yield f"## {prose(head)}"
    for section in map(filled, sections):
        yield f"### {prose(section.title)}"
        if section.notes:
            yield "\n".join(f"- {prose(note)}" for note in section.notes)
        if section.rows:
            shown = section.rows[:_SHOWN_IN_MARKDOWN]
            yield table(section.columns, [tuple(map(_cell, row)) for row in shown])
            if more := _more(len(section.rows), len(shown)):
                yield f"{more}; --json has them"


def _cell(value: Any) -> str:  # noqa: ANN401 - of a section
    return "" if value is None else code(str(value))


def _more(counted: int, shown: int) -> str:
    return f"and {counted - shown:,} more" if counted > shown else ""
