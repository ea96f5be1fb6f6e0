"""`kip848 explain`: the history of one group, from the tables of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_debug, add_schema, given_path, int32, place
from kip848_records.cli.output import print_note, print_parts
from kip848_records.queries.engines import ENGINES, open_tables

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
    command.add_argument("--group", required=True, metavar="G", help="group id")
    command.add_argument(
        "--epoch",
        type=int32("a group epoch"),
        metavar="E",
        help="only this group epoch, or this generation of a classic group",
    )
    command.add_argument("--cluster", metavar="NAME", help="the cluster, if several have such a group")
    command.add_argument("--engine", choices=ENGINES, help="engine that reads the tables (default: duckdb if it can)")
    add_debug(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    location = place(arguments, arguments.out, "DIR")

    def session() -> SparkSession:
        from kip848_records.cli import before_spark
        from kip848_records.session import get_session

        before_spark.check_tables(location)
        return get_session(reads=[location])

    from kip848_records.report.explain import explain
    from kip848_records.report.group_history import GroupHistory

    tables = open_tables(location, arguments.engine, session=session, note=print_note)
    print_parts(explain(GroupHistory(tables, arguments.group, arguments.cluster), arguments.epoch))
    return 0
