"""`kip848 migration`: which groups of a fleet can move to the consumer protocol, in which order, and how far it is."""

from __future__ import annotations

import sys
from argparse import RawDescriptionHelpFormatter
from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_quiet, add_release
from kip848_records.cli.audited import add_tables, check_tables, opened_tables
from kip848_records.cli.progress import shown_progress
from kip848_records.cli.sections import add_forms, evaluated, print_answers
from kip848_records.errors import InputError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from kip848_records.cli.arguments import Commands
    from kip848_records.queries.tables import Row, Tables
    from kip848_records.report.fleet import Fleet

_TITLE = "Move to the consumer protocol"
_REFUSED = 1
_EXIT_CODES = """\
exit codes:
  0    all groups that --require-upgradable names can move, have moved, or are
       half-way; without it, always
  1    one cannot while its members run, or the log does not show that it can
  2    bad arguments or input, or --require-upgradable names no group
"""


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "migration",
        help="who can move to the consumer protocol, who should first, who is half-way, and who cannot and why",
        description="Says of all groups of a cluster whether they can move from the classic to the consumer protocol, "
        "from the tables of an audit or from a log: a plan with the groups to begin with, the reasons of those that "
        "cannot, what the move changes, and the members that are left in groups that are half-way.",
        epilog=_EXIT_CODES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    add_tables(command)
    add_release(command, "also say what brokers of this release of Kafka load, and what they lack for a move")
    command.add_argument(
        "--require-upgradable",
        action="append",
        default=[],
        metavar="PATTERN",
        help="exit code 1 if a group whose id matches cannot move; * stands for any text, ? for one character; may be "
        "given several times",
    )
    add_forms(command)
    add_quiet(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    check_tables(arguments)
    from kip848_records.report.fleet import as_json, sections

    with (
        shown_progress(arguments) as progress,
        opened_tables(arguments, progress) as (tables, cluster),
    ):
        progress.done()
        found = _fleets(tables, cluster, arguments.release)
        required = _required(tables, found, arguments.require_upgradable)
    print_answers(arguments, _TITLE, found, sections, as_json)
    return required


def _fleets(tables: Tables, cluster: str | None, release: str | None) -> Sequence[Fleet]:
    from kip848_records.report.fleet import fleet

    runs = tables.chosen_runs(cluster)
    if release is None:
        return [fleet(tables, run) for run in runs]
    from kip848_records.expectations.files import Setting
    from kip848_records.expectations.loadable_by import loadable_by

    asked = loadable_by(release)
    settings = {asked.name: Setting()}
    found = []
    for run in runs:
        (loads,) = evaluated(tables, settings, (asked,), run.cluster)
        found.append(fleet(tables, run, release, loads))
    return found


def _required(tables: Tables, found: Sequence[Fleet], patterns: Sequence[str]) -> int:
    """Return the exit code, and name the groups that cannot move on stderr.

    Raises InputError for a pattern that matches no group.
    """
    from kip848_records.report.fleet import refused_groups
    from kip848_records.text import matches, printable

    refused: dict[tuple[str, int, str], Row] = {}
    for pattern in patterns:
        ids = [
            row.group_id
            for each in found
            for row in tables.rows("SELECT DISTINCT group_id FROM group_state", each.run.cluster)
        ]
        if not any(matches(pattern, group_id) for group_id in ids):
            raise InputError(
                f"--require-upgradable {printable(pattern)} matches no group",
                "kip848 query DIR ready_to_move lists them",
            )
        refused |= {
            (each.run.cluster, row.partition, row.group_id): row
            for each in found
            for row in refused_groups(each, pattern)
        }
    for (cluster, partition, group_id), row in refused.items():
        why = f"{row.verdict}: {row.reasons}" if row.reasons else row.verdict
        place = f"cluster {printable(cluster)}, partition {partition}"
        print(f"{printable(group_id)} cannot move now: {row.meaning} ({why}; {place})", file=sys.stderr)
    return _REFUSED if refused else 0
