"""`kip848 inspect`: the decoded records of a copy of the log, a line each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_source, int32, key_type
from kip848_records.decode.dialects import AUTO, choose_dialect
from kip848_records.errors import InputError
from kip848_records.inspection import inspect_log, json_line, text_line
from kip848_records.session import get_session
from kip848_records.sources import read_log, reading
from kip848_records.sources.copies import drop_copies
from kip848_records.text import printable

if TYPE_CHECKING:
    from argparse import Namespace

    from pyspark.sql import DataFrame

    from kip848_records.cli.arguments import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "inspect",
        help="print the decoded records of a copy of the log",
        description="Prints the decoded records of a copy of __consumer_offsets, by partition and offset.",
    )
    add_source(command)
    command.add_argument("--group", metavar="G", help="only records of this group")
    command.add_argument(
        "--type",
        type=key_type,
        action="append",
        default=[],
        metavar="N",
        dest="types",
        help="only records of this type; may be repeated",
    )
    command.add_argument("--limit", type=int32("a number of records"), metavar="N", help="only the first N records")
    command.add_argument("--json", action="store_true", help="one JSON object a line, in the forms of kafka-dump-log")
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    spark = get_session()
    log = read_log(spark, arguments.sources, arguments.format)
    dialect = _dialect(arguments.dialect, log)
    rows = inspect_log(log, dialect=dialect, group=arguments.group, types=arguments.types, limit=arguments.limit)
    line = json_line if arguments.json else text_line
    decoded, undecided, first_error = 0, 0, None
    with reading():
        for row in rows.toLocalIterator():
            print(line(row))
            decoded += row.error is None
            undecided += row.transaction == "unknown"
            first_error = first_error or row.error
    if undecided:
        what = f"how transactions ended: {undecided:,} offset commits above may have been aborted"
        print(f"note: {printable(', '.join(arguments.sources))} does not show {what}", file=sys.stderr)
    selected = arguments.group is not None or arguments.types
    if not decoded and not selected and arguments.limit is None:
        raise InputError.no_records(", ".join(arguments.sources), first_error)
    return 0


def _dialect(name: str, log: DataFrame) -> str:
    if name != AUTO:
        return name
    with reading():
        choice = choose_dialect(drop_copies(log))
    print(choice, file=sys.stderr)
    return choice.name
