"""`kip848 report`: the tables of an audit as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_debug, add_schema, given_path, place
from kip848_records.cli.output import check_file, progress_lines, write_file
from kip848_records.config import load_settings
from kip848_records.report.page.contents import contents
from kip848_records.report.page.page import page
from kip848_records.session import get_session
from kip848_records.terminal import count_text

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.cli.arguments import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "report",
        help="write what an audit found as one HTML page",
        description="Writes what an audit found as one HTML file, which needs nothing else: what has not converged, "
        "the slowest rebalances, failed expectations, and a timeline of each group.",
    )
    command.add_argument(
        "tables", nargs="?", type=given_path, metavar="DIR", help="folder of the Delta tables, as given to audit --out"
    )
    add_schema(command)
    command.add_argument("--out", required=True, type=given_path, metavar="FILE", help="the file to write")
    command.add_argument("--cluster", metavar="NAME", help="only this cluster of DIR")
    command.add_argument(
        "--config", type=given_path, metavar="FILE", help="TOML for the expectations, as kip848 check takes it"
    )
    add_debug(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    tables = place(arguments, arguments.tables, "DIR")
    file = Path(arguments.out)
    check_file(file)
    settings = load_settings(arguments.config)
    progress = progress_lines()
    progress("starting Spark")
    spark = get_session(reads=[tables])
    progress("reading the tables")
    found = contents(spark, tables, settings, arguments.cluster)
    progress("writing the page")
    written = page(found)
    write_file(file, written.html)
    print(f"{file}: {count_text(written.listed, 'group')}, {len(written.html.encode()) / 1e6:.1f} MB")
    return 0
