"""`kip848 audit`: a copy of the log becomes Delta tables and a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.audit import AuditOptions, run_audit
from kip848_records.cli.arguments import add_source, zoned_time
from kip848_records.cli.output import print_parts, progress_lines
from kip848_records.session import get_session
from kip848_records.summary import summary
from kip848_records.topics import read_topics_file

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
        "--cluster", default="default", metavar="NAME", help="cluster column of every row (%(default)s)"
    )
    command.add_argument("--topics", metavar="FILE", help='topic names, as JSON: {"<topic id>": "<name>", ...}')
    command.add_argument(
        "--captured-at",
        type=zoned_time,
        metavar="TIME",
        help="when the log was copied, ISO 8601, UTC unless it says otherwise (default: the newest time in the log)",
    )
    command.add_argument("--offset-commits", action="store_true", help="decode offset commits too, most of any log")
    command.add_argument("--allow-empty", action="store_true", help="accept a source without a single record")
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    topics = read_topics_file(arguments.topics) if arguments.topics else None
    options = AuditOptions(
        sources=tuple(arguments.sources),
        out=arguments.out,
        source_format=arguments.format,
        dialect=arguments.dialect,
        cluster=arguments.cluster,
        topics=topics,
        captured_at=arguments.captured_at,
        offset_commits=arguments.offset_commits,
        allow_empty=arguments.allow_empty,
    )
    progress = progress_lines()
    progress("starting Spark")
    spark = get_session()
    audit = run_audit(spark, options, progress)
    print_parts(summary(spark, audit))
    return 0
