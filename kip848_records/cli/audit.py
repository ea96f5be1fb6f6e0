"""`kip848 audit`: write a log as Delta tables, and print a summary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kip848_records.cli import before_spark
from kip848_records.cli.arguments import (
    add_capture,
    add_quiet,
    add_schema,
    add_scratch,
    add_source,
    add_topic_content,
    check_scratch,
    check_source,
    given_path,
    limit,
    place,
)
from kip848_records.cli.engine import add_engine, engine_for_sources, new_session, session_of
from kip848_records.cli.output import print_note, print_parts
from kip848_records.cli.progress import shown_progress
from kip848_records.errors import FailedError
from kip848_records.machine.paths import known_path
from kip848_records.queries.engines import EMBEDDED, SPARK, open_tables
from kip848_records.tables import DEFAULT_CLUSTER
from kip848_records.tables.location import is_schema

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.cli.arguments import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "audit",
        help="decode a log into Delta tables and print a summary of its groups",
        description="Decodes a copy of __consumer_offsets, or the live topic, into Delta tables and prints a summary.",
    )
    add_source(command)
    command.add_argument("--out", type=given_path, metavar="DIR", help="folder of the Delta tables, one folder each")
    add_schema(command)
    add_scratch(command)
    command.add_argument(
        "--cluster", default=DEFAULT_CLUSTER, metavar="NAME", help="value of the column cluster (%(default)s)"
    )
    add_capture(command)
    command.add_argument("--offset-commits", action="store_true", help="decode offset commits too, most of any log")
    command.add_argument(
        "--record-tables", action="store_true", help="also write a table of decoded records for each record type"
    )
    add_topic_content(command)
    command.add_argument("--allow-empty", action="store_true", help="accept a source without records")
    command.add_argument(
        "--max-quarantined",
        type=limit,
        metavar="N|P%",
        help="exit with 1 if more than N rows, or than P percent of the rows read, fail to decode; all tables are "
        "written anyway",
    )
    add_engine(command)
    add_quiet(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    tables = place(arguments, arguments.out, "--out")
    _check(arguments, tables)
    choice = engine_for_sources(arguments, tables, arguments.cluster)
    with shown_progress(arguments) as progress:
        spark = session_of(choice, progress)
        from kip848_records.pipeline.audit import run_audit
        from kip848_records.report.summary import summary

        options = replace(
            arguments.options,
            out=tables,
            scratch=arguments.scratch,
            offset_commits=arguments.offset_commits,
            record_tables=arguments.record_tables,
            topic_content=arguments.topic_content,
            allow_empty=arguments.allow_empty,
            brokers=arguments.brokers,
        )
        if spark is not None:  # a session knows the location of all paths
            before_spark.check_outputs(_outputs(arguments), arguments.sources)
        audit = run_audit(spark, options, progress)
    # The embedded engine answers sooner than a session that is running, if it can.
    is_local = spark is None or (not is_schema(tables) and known_path(tables) is not None)
    opened = open_tables(tables, EMBEDDED if is_local else SPARK, session=new_session, note=print_note)
    print_parts(summary(opened, audit))
    most, records = arguments.max_quarantined, sum(audit.records.values())
    if most is not None and most.is_exceeded(audit.quarantined, records):
        raise FailedError(
            f"{audit.quarantined:,} of {records:,} rows were quarantined, more than --max-quarantined {most.text}",
            "see the table quarantine for the reason of each row",
        )
    return 0


def _check(arguments: Namespace, tables: str) -> None:
    """Raise InputError for invalid arguments, before any work is done."""
    check_source(arguments)
    check_scratch(arguments, tables)
    before_spark.check_capture(arguments)
    before_spark.check_log(arguments, _outputs(arguments))
    before_spark.check_folders(_outputs(arguments))
    before_spark.check_topics(arguments)


def _outputs(arguments: Namespace) -> dict[str, str | None]:
    return {"--out": arguments.out, "--scratch": arguments.scratch}
