"""`kip848 query`: run SQL, or a named question, over the tables of an audit or of a log."""

from __future__ import annotations

import csv
import json
import re
import sys
from typing import TYPE_CHECKING, Final

from rich.text import Text

from kip848_records.cli.arguments import add_quiet, is_schema_named, place, zoned_time
from kip848_records.cli.audited import METAVAR, add_tables, check_tables, opened_tables
from kip848_records.cli.output import print_note, print_parts, terminal_width
from kip848_records.cli.progress import shown_progress
from kip848_records.errors import InputError
from kip848_records.machine.disks import FULL
from kip848_records.queries.needs import require, unread
from kip848_records.queries.tables import words
from kip848_records.tables.errors import TablesError
from kip848_records.text import printable, similar_hint

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence
    from typing import Any

    from kip848_records.cli.arguments import Commands
    from kip848_records.queries.questions import Question
    from kip848_records.queries.tables import Run, Tables


_NO_TABLE: Final = re.compile(r"Catalog Error: Table with name (\w+) does not exist")


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "query",
        help="query the tables with SQL, or with a named question",
        description="Runs SQL, or a named question, over the tables of an audit, or over those of a log, which is "
        "audited first. Record types such as consumer_group_metadata are tables too: the command decodes their records "
        "from the log. A named question needs --cluster if the tables are those of several clusters.",
    )
    add_tables(command)
    command.add_argument("named", nargs="?", metavar="SQL|NAME", help="a query, or a name from --list")
    command.add_argument(
        "--sql", metavar="SQL|NAME", help="the same, in place of the last argument; needed if there are several sources"
    )
    command.add_argument(
        "--since-last-run", action="store_true", help="with events: only what the run before the last one did not know"
    )
    command.add_argument(
        "--as-of",
        type=zoned_time,
        metavar="TIME",
        help="with diagnosis: what was known to be wrong at that time, ISO 8601, UTC if it has no zone",
    )
    command.add_argument("--list", action="store_true", help="list the named questions")
    form = command.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print comma-separated values")
    form.add_argument("--json", action="store_true", help="print one JSON object per row")
    add_quiet(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    from kip848_records.queries.questions import questions

    named = questions()
    if arguments.list:
        from kip848_records.report.terminal import fitted_table

        rows = [(each.name, each.words) for each in named.values()]
        print_parts(fitted_table("name", "question", rows=rows, width=terminal_width(), is_ruled=True))
        return 0
    question = _question(arguments)
    place(arguments, next(iter(arguments.sources), None), METAVAR)
    if question is None:
        raise InputError("no question is given", f"pass SQL, or one of these names: {', '.join(named)}")
    text, parameters = _text(question, named, arguments)
    check_tables(arguments)
    with shown_progress(arguments) as progress, opened_tables(arguments, progress) as (tables, cluster):
        progress.done()
        if question in named:
            asked = "new_events" if arguments.since_last_run else question
            _answer_named(named[asked], tables, cluster, text, parameters, arguments)
            return 0
        runs = tables.chosen_runs(cluster) if cluster is not None else tables.runs()
        answer = _answer(tables, text, cluster, parameters)
        _print(answer, arguments)
        _note_missing(runs, text, is_empty=not answer.num_rows)
    return 0


def _note_missing(runs: Sequence[Run], text: str, *, is_empty: bool) -> None:
    """Say on stderr that an answer has no rows, and which tables of the query were never filled."""
    if is_empty:
        print_note("the answer has no rows")
    names = {*words(text)}
    for run in runs:
        for each in unread(run, names, is_empty=is_empty):
            print_note(f"cluster {run.cluster}: {each}" if len(runs) > 1 else each)


def _answer_named(  # noqa: PLR0913, PLR0917 - what asks, and what is asked
    question: Question,
    tables: Tables,
    cluster: str | None,
    text: str,
    parameters: Mapping[str, Any],
    arguments: Namespace,
) -> None:
    """Answer a named question about one cluster, or refuse it: an empty answer would read as if all were well."""
    if cluster is None and len(tables.runs()) > 1:
        # Groups of two clusters may have one id, and the rows of an answer do not name their cluster.
        raise TablesError.question_of_several_clusters(
            tables.shown, question.name, [run.cluster for run in tables.runs()]
        )
    (run,) = tables.runs() if cluster is None else tables.chosen_runs(cluster)
    require(tables, run, question.needs, question.name)
    answer = _answer(tables, text, cluster, parameters)
    missing = question.missing(run)
    nothing = None if answer.num_rows else question.nothing(tables, run.cluster)
    if nothing is None or arguments.json or arguments.csv:
        _print(answer, arguments)
        missing = missing if nothing is None else [nothing, *missing]
    else:
        print_parts([Text(printable(nothing))])
    for each in missing:
        print_note(each)


def _question(arguments: Namespace) -> str | None:
    """Return the question: that of --sql, else the last argument, which is no source then; None if there is none."""
    if arguments.sql is None and len(arguments.sources) > (0 if is_schema_named(arguments) else 1):
        return str(arguments.sources.pop())
    return arguments.sql if arguments.sql is None else str(arguments.sql)


def _print(answer: Any, arguments: Namespace) -> None:  # noqa: ANN401 - Arrow has no types
    from kip848_records.report.terminal import cell_text, fitted_table, plain_text, table_cell_text

    names, rows = answer.schema.names, zip(*(column.to_pylist() for column in answer.columns), strict=True)
    if arguments.json:
        for row in rows:
            print(json.dumps(dict(zip(names, row, strict=True)), default=plain_text, ensure_ascii=False))
    elif arguments.csv:
        writer = csv.writer(_Lines())
        writer.writerow(names)
        writer.writerows([cell_text(value) for value in row] for row in rows)
    else:
        cells = (tuple(map(table_cell_text, row)) for row in rows)
        print_parts(fitted_table(*names, rows=cells, width=terminal_width(), is_ruled=True))


class _Lines:
    """Takes the rows of a CSV writer that ends them by CR LF, so that it quotes texts with either."""

    @staticmethod
    def write(row: str) -> int:
        return sys.stdout.write(row.removesuffix("\r\n") + "\n")


def _text(question: str, named: Mapping[str, Question], arguments: Namespace) -> tuple[str, dict[str, Any]]:
    """Return the SQL of a question and its parameters: a single word is a question's name."""
    for option, value, of in (
        ("--since-last-run", arguments.since_last_run, "events"),
        ("--as-of", arguments.as_of, "diagnosis"),
    ):
        if value and question != of:
            raise InputError(f"{option} does not fit this question", f"pass it with {of}")
    if arguments.as_of:
        from kip848_records.queries.texts import query

        return query("queries/diagnosis_as_of"), {"as_of": arguments.as_of}
    return _sql("new_events" if arguments.since_last_run else question, named), {}


def _sql(question: str, named: Mapping[str, Question]) -> str:
    if not list(words(question)):
        raise InputError("the query is empty", f"pass SQL, or one of these names: {', '.join(named)}")
    if len(question.split()) != 1:
        from kip848_records.queries.texts import with_relations

        return with_relations(question)
    if question not in named:
        hint = similar_hint(question, named) or f"use one of {', '.join(named)}"
        raise InputError(f"there is no question {question!r}", hint)
    return named[question].sql


def _answer(tables: Any, text: str, cluster: str | None, parameters: Mapping[str, Any]) -> Any:  # noqa: ANN401 - Arrow has no types
    try:
        return tables.arrow(text, cluster, **parameters)
    except InputError:
        raise
    except Exception as error:
        reason = _reason(error)
        if reason is None:
            raise
        raise InputError(f"the query cannot be answered: {reason}", _hint(reason)) from error


def _hint(reason: str) -> str:
    """Return what to do about a query that cannot be answered: similar names, if a table has none of ours."""
    hint = "docs/reference/tables.md lists the tables and columns"
    if not (missing := _NO_TABLE.search(reason)):
        return hint
    from kip848_records.queries.questions import questions
    from kip848_records.tables.registry import TABLES

    name = missing[1].lower()
    if name in (named := questions()):
        return f"{name} is a question: pass its name alone"
    similar = similar_hint(name, [*TABLES, *named])
    return f"{similar}; {hint}" if similar else hint


def _reason(error: Exception) -> str | None:
    """Return in one line what is wrong with a query; None for any other failure."""
    if FULL in str(error):  # of the folder into which DuckDB spills
        return None
    module = type(error).__module__.partition(".")[0]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if _NO_TABLE.search(str(error)):  # what DuckDB suggests instead are its own tables
        lines = [line.partition(" Did you mean")[0] for line in lines[:1]]
    return " ".join(lines[:2]) if module in {"duckdb", "_duckdb", "pyspark"} and lines else None
