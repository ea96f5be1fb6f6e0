"""`kip848 maintain`: report which rows of the tables are too old to keep, and remove them."""

from __future__ import annotations

import argparse
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.text import Text

from kip848_records.cli import before_spark
from kip848_records.cli.arguments import add_debug, add_quiet, add_schema, add_scratch, check_scratch, given_path, place
from kip848_records.cli.engine import add_engine, engine_for_tables, session_of
from kip848_records.cli.output import print_parts
from kip848_records.cli.progress import shown_progress
from kip848_records.text import printable
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from kip848_records.cli.arguments import Commands
    from kip848_records.pipeline.maintain import Retention

_MOST_DAYS = 36_500


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "maintain",
        help="remove old history from the tables of live topics, and compact their files",
        description="Prints which history in the tables of live topics ended before the period to keep, and removes "
        "it. The present state stays. Then the command compacts the files of all tables, and deletes files that no "
        "table has used for a week.",
    )
    command.add_argument("out", nargs="?", type=given_path, metavar="DIR", help="the folder of an audit's tables")
    add_schema(command)
    add_scratch(command)
    command.add_argument(
        "--keep",
        required=True,
        type=_days,
        metavar="DAYSd",
        help="how much history to keep before each cluster's last audit, such as 90d",
    )
    command.add_argument("--dry-run", action="store_true", help="only print what would be removed")
    add_engine(command)
    add_quiet(command)
    add_debug(command)
    command.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    tables = place(arguments, arguments.out, "DIR")
    _check(arguments, tables)
    choice = engine_for_tables(arguments.engine, tables)
    with shown_progress(arguments) as progress:
        spark = session_of(choice, progress)
        from kip848_records.engines.choice import new_engine
        from kip848_records.pipeline.maintain import maintain, plan

        engine = new_engine(spark, tables)
        plans = plan(engine, arguments.keep)
        progress.done()
        print_parts(_explained(plans, arguments.keep))
        if not arguments.dry_run:
            maintain(engine, plans, progress, arguments.scratch)
    if not arguments.dry_run:
        print("Done")
    return 0


def _check(arguments: argparse.Namespace, tables: str) -> None:
    """Raise InputError for invalid arguments, before any work is done."""
    check_scratch(arguments, tables)
    before_spark.check_tables(tables)
    before_spark.check_outputs({"--scratch": arguments.scratch})
    if not arguments.dry_run:
        before_spark.check_folders({"DIR": arguments.out, "--scratch": arguments.scratch})


def _days(text: str) -> timedelta:
    if (days := re.fullmatch(r"([0-9]{1,5})d", text)) and 1 <= int(days[1]) <= _MOST_DAYS:
        return timedelta(days=int(days[1]))
    message = f"{text!r} is not a number of days such as 90d: 1d to {_MOST_DAYS}d"
    raise argparse.ArgumentTypeError(message)


def _explained(plans: list[Retention], keep: timedelta) -> Iterator[RenderableType]:
    from kip848_records.pipeline.maintain import DAYS_OF_FILES
    from kip848_records.report.terminal import fitted_table

    for each in plans:
        name = printable(each.cluster)
        if each.is_copy:
            yield Text(f"Cluster {name}: nothing to remove, because each audit of a copy replaces its tables")
        elif each.since_ms is None or not each.rows:
            yield Text(f"Cluster {name}: nothing is older than {keep.days} days")
        else:
            ended = "was archived" if each.is_archived else "ended"
            yield Text(f"Cluster {name}: history that {ended} before {utc_text(utc(each.since_ms))} is removed")
            rows = [(table, f"{count:,}") for table, count in each.rows.items()]
            yield from fitted_table("table", "rows", rows=rows, right=("rows",), width=None, is_ruled=True)
    yield Text(f"In all tables: small files are merged; files unused for {DAYS_OF_FILES} days are deleted")
