"""`kip848 report`: write the tables of an audit, or of a log, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kip848_records.cli import before_spark
from kip848_records.cli.arguments import add_expectations, add_quiet, given_path
from kip848_records.cli.audited import add_tables, are_tables, check_tables, note_other_limits, opened_tables
from kip848_records.cli.output import print_error
from kip848_records.cli.progress import shown_progress
from kip848_records.cli.replaced_file import check_file, write_file
from kip848_records.tables.location import is_of_sources

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.cli.arguments import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "report",
        help="write what an audit found as one HTML page",
        description="Writes what an audit found, or what is in a log, as one self-contained HTML file: groups that "
        "have not converged, the slowest rebalances, failed expectations, and a timeline of each group.",
    )
    add_tables(command)
    command.add_argument("--out", required=True, type=given_path, metavar="FILE", help="the file to write")
    add_expectations(command)
    add_quiet(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    file = Path(arguments.out)
    check_file(file)
    check_tables(arguments)
    before_spark.check_outputs({"--out": arguments.out}, () if are_tables(arguments) else arguments.sources)
    from kip848_records.check import check
    from kip848_records.config import load_config
    from kip848_records.report.changes import changes_of_clusters
    from kip848_records.report.page.contents import contents
    from kip848_records.report.page.page import page
    from kip848_records.text import count_text

    expectations, settings = load_config(arguments.config, arguments.expectations)
    with shown_progress(arguments) as progress, opened_tables(arguments, progress) as (tables, cluster):
        progress.phase("evaluating expectations")
        note_other_limits(arguments, tables, cluster)
        verdict = check(tables, settings, expectations=expectations, cluster=cluster)
        files = {"expectations": arguments.expectations}
        if not is_of_sources(tables.shown):  # else it is one of the options of the log
            files["config"] = arguments.config
        changes = changes_of_clusters(tables, verdict.captured_at, settings)
        found = contents(tables, verdict, cluster=arguments.cluster, files=files, changes=changes)
        progress.phase("writing the page")
        written = page(found)
        write_file(file, written.html)
    deleted = f", {written.deleted:,} deleted" if written.deleted else ""
    print(f"{file}: {count_text(written.groups, 'group')}{deleted}; {len(written.html.encode()) / 1e6:.1f} MB")
    broken = [each for result in verdict.results for each in result.faults.values()]
    for each in broken:
        print_error(each, is_traced=arguments.debug)
    return broken[0].exit_code if broken else 0
