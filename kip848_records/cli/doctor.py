"""`kip848 doctor`: what this machine lacks for an audit, and how to get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_debug, given_path

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.cli.arguments import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "doctor",
        help="say what this machine lacks for an audit, and how to get it",
        description="Examines this machine: installed versions, memory, disk; if Spark is installed, also Java and "
        "Spark's jars. Spark is not started. Exit code 0: an audit can run; 1: something is lacking. Notes do not "
        "change the exit code.",
    )
    command.add_argument("--out", type=given_path, metavar="DIR", help="examine this folder of tables, too")
    add_debug(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    from kip848_records.spark.doctor import LACKING, examine
    from kip848_records.text import printable

    lacking = 0
    for found in examine(arguments.out):
        lacking += found.status == LACKING
        print(f"{found.status:8} {found.subject:16} {printable(found.text)}")
        if found.hint is not None:
            print(f"{'':25} {printable(found.hint)}")
    print(f"{lacking} lacking: an audit cannot run yet" if lacking else "An audit can run")
    return 1 if lacking else 0
