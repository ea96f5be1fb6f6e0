"""`kip848 explain`: the history of one group, from the tables of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_debug, add_schema, given_path, int32, place
from kip848_records.cli.output import print_note, print_parts
from kip848_records.errors import InputError
from kip848_records.queries.engines import ENGINES, open_tables
from kip848_records.tables.location import groups_command, place_arguments

if TYPE_CHECKING:
    from argparse import Namespace

    from pyspark.sql import SparkSession

    from kip848_records.cli.arguments import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "explain",
        help="explain one group: what blocks it, its rebalances, its members, and who waits for whom",
        description="Explains one group from the tables of an audit: its state, its rebalances and its members.",
    )
    command.add_argument(
        "out", nargs="?", type=given_path, metavar="DIR", help="folder of the Delta tables, as given to audit --out"
    )
    add_schema(command)
    command.add_argument("named", nargs="?", metavar="GROUP", help="group id, in place of --group")
    command.add_argument("--group", metavar="G", help="group id")
    command.add_argument(
        "--epoch",
        type=int32("a group epoch"),
        metavar="E",
        help="only this group epoch, or this generation of a classic group",
    )
    command.add_argument("--cluster", metavar="NAME", help="the cluster, if several have such a group")
    command.add_argument("--engine", choices=ENGINES, help="engine that reads the tables (default: duckdb if it can)")
    add_debug(command)
    command.late_argument = "named"
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    if arguments.catalog is not None and arguments.named is None and arguments.group is None:
        arguments.out, arguments.named = None, arguments.out  # the only argument is the group
    location = place(arguments, arguments.out, "DIR")
    group = _group(arguments, location)

    def session() -> SparkSession:
        from kip848_records.cli import before_spark
        from kip848_records.spark.session import get_session

        before_spark.check_tables(location)
        return get_session(reads=[location])

    from kip848_records.report.commits_only import commits_only
    from kip848_records.report.explain import explain
    from kip848_records.report.group_history import GroupHistory

    tables = open_tables(location, arguments.engine, session=session, note=print_note)
    parts = commits_only(tables, group, arguments.cluster)
    print_parts(parts or explain(GroupHistory(tables, group, arguments.cluster), arguments.epoch))
    return 0


def _group(arguments: Namespace, location: str) -> str:
    """Return the group id, by either of its two arguments. Raises InputError for none, or for two different ones."""
    given = {each for each in (arguments.named, arguments.group) if each is not None}
    if len(given) == 1:
        return str(given.pop())
    if given:
        raise InputError("two groups are given", "pass the group once, as GROUP or as --group G")
    explained = f"kip848 explain {place_arguments(location)} --group G"
    raise InputError("no group is given", f"use {explained}; this lists the groups: {groups_command(location)}")
