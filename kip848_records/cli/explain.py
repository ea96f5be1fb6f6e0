"""`kip848 explain`: the history of one group, from the tables of an audit or from a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_quiet, int32, is_schema_named, place
from kip848_records.cli.audited import add_tables, check_tables, opened_tables
from kip848_records.cli.output import print_parts
from kip848_records.cli.progress import shown_progress
from kip848_records.errors import InputError
from kip848_records.tables.errors import NoGroupError
from kip848_records.tables.location import groups_command, is_of_sources, place_arguments

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.cli.arguments import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "explain",
        help="explain one group: what blocks it, its rebalances, its members, and who waits for whom",
        description="Explains one group from the tables of an audit, or from a log: its state, its rebalances and its "
        "members. A log is replayed for this group only. With --offset-commits all groups are replayed, because what "
        "others have read shows whether messages wait.",
    )
    add_tables(command)
    command.add_argument("named", nargs="?", metavar="GROUP", help="group id, in place of --group")
    command.add_argument("--group", metavar="G", help="group id; needed if there are several sources")
    command.add_argument(
        "--epoch",
        type=int32("a group epoch"),
        metavar="E",
        help="only this group epoch, or this generation of a classic group",
    )
    add_quiet(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    group = _group(arguments)
    check_tables(arguments)
    from kip848_records.report.explain import explain
    from kip848_records.report.group_history import GroupHistory

    # Whether messages wait shows in what other groups read, so that these are replayed too.
    replayed = (None,) if arguments.offset_commits else (group, None)
    with shown_progress(arguments) as progress:
        for only in replayed:
            with opened_tables(arguments, progress, group=only) as (tables, cluster):
                progress.done()
                try:
                    print_parts(explain(GroupHistory(tables, group, cluster), arguments.epoch))
                except NoGroupError:
                    # The error names similar groups, so that all of a log must have been replayed.
                    if only is None or not is_of_sources(tables.shown):
                        raise
                else:
                    break
    return 0


def _group(arguments: Namespace) -> str:
    """Return the group id: that of --group, else the last argument, which is no source then.

    Raises InputError if there is none.
    """
    if arguments.group is not None:
        return str(arguments.group)
    if len(arguments.sources) > (0 if is_schema_named(arguments) else 1):
        return str(arguments.sources.pop())
    location = place(arguments, next(iter(arguments.sources), None), "DIR")
    explained = f"kip848 explain {place_arguments(location)} --group G"
    raise InputError("no group is given", f"use {explained}; this lists the groups: {groups_command(location)}")
