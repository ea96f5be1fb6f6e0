"""Commands whose answer about each cluster is sections: text, Markdown for a ticket, or JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kip848_records.cli.output import print_parts
from kip848_records.errors import UnexpectedError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Sequence

    from kip848_records.cli.arguments import Parser
    from kip848_records.expectations import Expectation
    from kip848_records.expectations.files import Setting
    from kip848_records.expectations.results import Result
    from kip848_records.queries.tables import Run, Tables
    from kip848_records.report.sections import Section


class Answer(Protocol):
    """An answer about one cluster."""

    @property
    def run(self) -> Run:
        """The last run over the cluster."""


A = TypeVar("A", bound=Answer)


def add_forms(command: Parser) -> None:
    """Add `json` and `markdown`, of which one may be given."""
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object per cluster")
    form.add_argument("--markdown", action="store_true", help="print Markdown, as for a ticket")


def print_answers(
    arguments: Namespace,
    title: str,
    found: Iterable[A],
    sections: Callable[[A], Iterable[Section]],
    as_json: Callable[[A], dict[str, Any]],
) -> None:
    """Print the answers in the form of `add_forms`. `title`: stands before the cluster in Markdown."""
    from kip848_records.report.sections import captured_text, sections_markdown, sections_terminal
    from kip848_records.report.terminal import plain_text

    for each in found:
        if arguments.json:
            print(json.dumps(as_json(each), default=plain_text, ensure_ascii=False))
        elif arguments.markdown:
            print(sections_markdown(f"{title}: {captured_text(each.run)}", sections(each)), end="")
        else:
            print_parts(sections_terminal(captured_text(each.run), sections(each)))


def evaluated(
    tables: Tables, settings: dict[str, Setting], expectations: Sequence[Expectation], cluster: str
) -> Sequence[Result]:
    """Return the results of expectations that the answer needs; an error in one of them is raised."""
    from kip848_records.check import check

    results = check(tables, settings, expectations=expectations, cluster=cluster).results
    for fault in (fault for result in results for fault in result.faults.values()):
        raise (fault.__cause__ if isinstance(fault, UnexpectedError) else None) or fault
    return results
