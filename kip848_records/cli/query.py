"""`kip848 query`: run SQL over the tables of an audit, or a named question."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_debug, add_engine, add_schema, given_path, place
from kip848_records.errors import InputError
from kip848_records.machine.disks import FULL
from kip848_records.queries.engines import open_tables
from kip848_records.queries.tables import words
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping
    from typing import Any

    from kip848_records.cli.arguments import Commands
    from kip848_records.queries.questions import Question


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "query",
        help="query the tables with SQL, or with a named question",
        description="Runs SQL, or a named question, over the tables of an audit. Record types such as "
        "consumer_group_metadata are tables too: the command decodes their records from the log.",
    )
    command.add_argument(
        "out", nargs="?", type=given_path, metavar="DIR", help="folder of the Delta tables, as given to audit --out"
    )
    command.add_argument("question", nargs="?", metavar="SQL|NAME", help="a query, or a name from --list")
    command.add_argument("--list", action="store_true", help="list the named questions")
    add_schema(command)
    command.add_argument(
        "--cluster",
        metavar="NAME",
        help="only the rows of this cluster; a named question needs it if there are several clusters",
    )
    form = command.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print comma-separated values")
    form.add_argument("--json", action="store_true", help="print one JSON object per row")
    add_engine(command)
    add_debug(command)
    command.late_argument = "question"
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    from kip848_records.cli.output import print_parts
    from kip848_records.queries.questions import questions
    from kip848_records.report.terminal import cell_text, plain_text, text_table

    named = questions()
    if arguments.list:
        print_parts([text_table("name", "question", rows=[(each.name, each.words) for each in named.values()])])
        return 0
    if arguments.catalog is not None and arguments.question is None:
        arguments.out, arguments.question = None, arguments.out  # the only argument is the question
    location = place(arguments, arguments.out, "DIR")
    if arguments.question is None:
        raise InputError("no question is given", f"pass SQL, or one of these names: {', '.join(named)}")
    tables = open_tables(location, arguments.engine, session=_session, note=lambda text: print(text, file=sys.stderr))
    text = _text(arguments.question, named)
    if arguments.cluster is not None:
        tables.chosen_runs(arguments.cluster)
    elif arguments.question in named and len(tables.runs()) > 1:
        # Groups of two clusters may have one id, and the rows of an answer do not name their cluster.
        raise TablesError.question_of_several_clusters(
            location, arguments.question, [run.cluster for run in tables.runs()]
        )
    answer = _answer(tables, text, arguments.cluster)
    names, rows = answer.schema.names, zip(*(column.to_pylist() for column in answer.columns), strict=True)
    if arguments.json:
        for row in rows:
            print(json.dumps(dict(zip(names, row, strict=True)), default=plain_text, ensure_ascii=False))
    elif arguments.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([cell_text(value) for value in row] for row in rows)
    else:
        print_parts([text_table(*names, rows=(tuple(map(cell_text, row)) for row in rows))])
    return 0


def _text(question: str, named: Mapping[str, Question]) -> str:
    """Return the SQL of a question: a single word is a question's name."""
    if not list(words(question)):
        raise InputError("the query is empty", f"pass SQL, or one of these names: {', '.join(named)}")
    if len(question.split()) != 1:
        return question
    if question not in named:
        raise InputError(f"there is no question {question!r}", f"use one of {', '.join(named)}")
    return named[question].sql


def _answer(tables: Any, text: str, cluster: str | None) -> Any:  # noqa: ANN401 - Arrow has no types
    try:
        return tables.arrow(text, cluster)
    except InputError:
        raise
    except Exception as error:
        reason = _reason(error)
        if reason is None:
            raise
        raise InputError(
            f"the query cannot be answered: {reason}", "docs/reference/tables.md lists the tables and columns"
        ) from error


def _reason(error: Exception) -> str | None:
    """Return in one line what is wrong with a query; None for any other failure."""
    if FULL in str(error):  # of the folder into which DuckDB spills
        return None
    module = type(error).__module__.partition(".")[0]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2]) if module in {"duckdb", "_duckdb", "pyspark"} and lines else None


def _session() -> Any:  # noqa: ANN401 - pyspark may be missing
    from kip848_records.spark.session import get_session

    return get_session()
