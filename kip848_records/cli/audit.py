"""`kip848 audit`: a copy of the log becomes Delta tables and a summary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kip848_records.audit import DEFAULT_CLUSTER, run_audit
from kip848_records.cli.arguments import add_capture, add_source, audit_options
from kip848_records.cli.output import print_parts, progress_lines
from kip848_records.session import get_session
from kip848_records.summary import summary

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.cli.arguments import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "audit",
        help="decode a copy of the log into Delta tables and sum up what they say",
        description="Decodes a copy of __consumer_offsets into Delta tables and sums up what they say.",
    )
    add_source(command)
    command.add_argument("--out", required=True, metavar="DIR", help="folder of the Delta tables, one folder each")
    command.add_argument(
        "--cluster", default=DEFAULT_CLUSTER, metavar="NAME", help="cluster column of every row (%(default)s)"
    )
    add_capture(command)
    command.add_argument("--offset-commits", action="store_true", help="decode offset commits too, most of any log")
    command.add_argument("--allow-empty", action="store_true", help="accept a source without a single record")
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    named = audit_options(arguments, arguments.out, arguments.cluster)
    options = replace(named, offset_commits=arguments.offset_commits, allow_empty=arguments.allow_empty)
    progress = progress_lines()
    progress("starting Spark")
    spark = get_session()
    audit = run_audit(spark, options, progress)
    print_parts(summary(spark, audit))
    return 0
