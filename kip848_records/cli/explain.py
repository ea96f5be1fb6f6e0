"""`kip848 explain`: one group's story, from the tables of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_debug, add_schema, given_path, int32, place
from kip848_records.cli.output import print_parts
from kip848_records.explain import Story, explain
from kip848_records.session import get_session

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.cli.arguments import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "explain",
        help="tell one group's story: its epochs, its members, who waits for whom",
        description="Tells one group's story from the tables of an audit.",
    )
    command.add_argument(
        "out", nargs="?", type=given_path, metavar="DIR", help="folder of the Delta tables, as given to audit --out"
    )
    add_schema(command)
    command.add_argument("--group", required=True, metavar="G", help="group id")
    command.add_argument("--epoch", type=int32("a group epoch"), metavar="E", help="only this group epoch")
    command.add_argument("--cluster", metavar="NAME", help="if several clusters have such a group")
    add_debug(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    tables = place(arguments, arguments.out, "DIR")
    story = Story(get_session(reads=[tables]), tables, arguments.group, arguments.cluster)
    print_parts(explain(story, arguments.epoch))
    return 0
