"""`kip848 explain`: the history of one group, from the tables of an audit or from a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_quiet, int32, is_schema_named, place
from kip848_records.cli.audited import add_tables, answer_about, check_tables
from kip848_records.cli.before_spark import is_nothing
from kip848_records.cli.output import print_note, print_parts
from kip848_records.cli.progress import shown_progress
from kip848_records.errors import InputError, Kip848Error
from kip848_records.specs.log_columns import TOPIC
from kip848_records.tables.location import groups_command, location_arguments
from kip848_records.text import quoted

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.cli.arguments import Commands
    from kip848_records.queries.tables import Tables


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
    command.add_argument(
        "--no-describe", action="store_true", help="do not ask the brokers of a live topic how the group is now"
    )
    add_quiet(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    group = _group(arguments)
    check_tables(arguments)
    from kip848_records.report.explain import explain
    from kip848_records.report.group_history import GroupHistory
    from kip848_records.report.partly_read import not_looked_at

    def told(tables: Tables, cluster: str | None) -> None:
        progress.done()
        print_parts(explain(GroupHistory(tables, group, cluster), arguments.epoch))
        print_parts(not_looked_at(tables, cluster))
        _print_reported_state(arguments, group)

    with shown_progress(arguments) as progress:
        # Whether messages wait shows in what other groups read.
        answer_about(arguments, progress, group, told, needs_others=arguments.offset_commits)
    return 0


def _print_reported_state(arguments: Namespace, group: str) -> None:
    """Print the state that the coordinator reports; if it cannot be asked, the answer of the log stands."""
    brokers = arguments.brokers
    # The brokers of a topic of copied records have other groups.
    if brokers is None or arguments.no_describe or brokers.topic.name != TOPIC:
        return
    from kip848_records.report.group_now import reported_state

    try:
        print_parts(reported_state(brokers.group_now(group)))
    except Kip848Error as error:
        print_note(f"the brokers could not say how the group is now: {error.message}")


def _group(arguments: Namespace) -> str:
    """Return the group id: that of --group, else the last argument, which is no source then.

    Raises InputError if there is none.
    """
    if arguments.group is not None:
        return str(arguments.group)
    if len(arguments.sources) > (0 if is_schema_named(arguments) else 1):
        return str(arguments.sources.pop())
    named = next(iter(arguments.sources), None)
    if named is not None and is_nothing(named):
        raise InputError(
            f"no folder is given, or no group: there is nothing at {named}",
            f"use kip848 explain DIR --group {quoted(named)}, with the folder of the tables of an audit, or of a log",
        )
    location = place(arguments, named, "DIR")
    explained = f"kip848 explain {location_arguments(location)} --group G"
    raise InputError("no group is given", f"use {explained}; this lists the groups: {groups_command(location)}")
