"""`kip848 maintain`: says what of the tables is older than is to be kept, and removes it."""

from __future__ import annotations

import argparse
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.text import Text

from kip848_records.cli.arguments import add_debug, add_schema, add_scratch, given_path, place
from kip848_records.cli.output import print_parts, progress_lines
from kip848_records.maintain import DAYS_OF_FILES, maintain, plan
from kip848_records.session import get_session
from kip848_records.terminal import text_table
from kip848_records.text import printable
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from kip848_records.cli.arguments import Commands
    from kip848_records.maintain import Retention

_MOST_DAYS = 36_500


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "maintain",
        help="remove what is older than is to be kept from the tables of live topics, and tidy their files",
        description="Says what is older than is to be kept in the tables of live topics, and removes it: history that "
        "had ended by then. The present state stays. Then it compacts the files of all tables and deletes those that "
        f"no table has had for {DAYS_OF_FILES} days.",
    )
    command.add_argument("out", nargs="?", type=given_path, metavar="DIR", help="the folder of an audit's tables")
    add_schema(command)
    add_scratch(command)
    command.add_argument(
        "--keep",
        required=True,
        type=_days,
        metavar="DAYSd",
        help="how much history to keep, such as 90d: back from when each cluster was audited last",
    )
    command.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    add_debug(command)
    command.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    tables = place(arguments, arguments.out, "DIR")
    progress = progress_lines()
    progress("starting Spark")
    spark = get_session()
    plans = plan(spark, tables, arguments.keep)
    print_parts(_explained(plans, arguments.keep))
    if not arguments.dry_run:
        maintain(spark, tables, plans, progress, arguments.scratch)
        print("Done")
    return 0


def _days(text: str) -> timedelta:
    if (days := re.fullmatch(r"([0-9]{1,5})d", text)) and 1 <= int(days[1]) <= _MOST_DAYS:
        return timedelta(days=int(days[1]))
    message = f"{text!r} is not a number of days such as 90d: 1d to {_MOST_DAYS}d"
    raise argparse.ArgumentTypeError(message)


def _explained(plans: list[Retention], keep: timedelta) -> Iterator[RenderableType]:
    for each in plans:
        name = printable(each.cluster)
        if each.is_copy:
            yield Text(f"Cluster {name}: nothing to remove, each audit of a copy replaces its tables")
        elif each.since_ms is None or not each.rows:
            yield Text(f"Cluster {name}: nothing is older than {keep.days} days")
        else:
            what = "set aside" if each.is_set_aside else "ended"
            yield Text(f"Cluster {name}: what was {what} before {utc_text(utc(each.since_ms))} is removed")
            rows = [(table, f"{count:,}") for table, count in each.rows.items()]
            yield text_table("table", "rows", rows=rows, right=("rows",))
    yield Text(f"In all tables: small files are joined; files that none has had for {DAYS_OF_FILES} days are deleted")
