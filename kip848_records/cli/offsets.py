"""`kip848 offsets`: the offsets that were committed at a time, as the file that Kafka's own tool sets offsets from."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING

from kip848_records.cli import before_spark
from kip848_records.cli.arguments import add_quiet, given_path, zoned_time
from kip848_records.cli.audited import add_tables, answer_about, are_tables, check_tables, opened_tables
from kip848_records.cli.output import print_note
from kip848_records.cli.progress import shown_progress
from kip848_records.cli.replaced_file import check_file, write_file
from kip848_records.times import utc

if TYPE_CHECKING:
    from argparse import Namespace
    from datetime import datetime

    from kip848_records.cli.arguments import Commands
    from kip848_records.queries.tables import Tables
    from kip848_records.report.offsets.answer import Answer

_EXIT_CODES = """\
exit codes:
  0    the file has every offset of that time; those of deleted topics, which no
       tool can set, and those in open transactions are named on stderr
  1    the log does not show some offsets: they are named on stderr, and left out;
       or the file is empty
  2    bad arguments or input, or nothing was committed at that time
"""


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "offsets",
        help="print the offsets that were committed at a time, for kafka-consumer-groups --reset-offsets --from-file",
        description="Prints the offsets that a group had committed at a time, from a log or from the tables of an "
        "audit with --offset-commits: topic, partition and offset, as kafka-consumer-groups --reset-offsets "
        "--from-file reads them. What the file cannot have is named on stderr.",
        epilog=_EXIT_CODES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    add_tables(command, needs_commits=True)
    which = command.add_mutually_exclusive_group(required=True)
    which.add_argument("--group", metavar="G", help="group id")
    which.add_argument(
        "--all-groups", action="store_true", help="all groups of a cluster; the file then begins with the group"
    )
    command.add_argument(
        "--at",
        type=_time,
        metavar="TIME",
        help="time, ISO 8601, UTC if it has no zone, or ms since 1970 (default: the end of the log)",
    )
    command.add_argument("--out", type=given_path, metavar="FILE", help="write the file instead of printing it")
    add_quiet(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    out = None if arguments.out is None else Path(arguments.out)
    if out is not None:
        check_file(out)
    check_tables(arguments)
    before_spark.check_outputs({"--out": arguments.out}, () if are_tables(arguments) else arguments.sources)
    from kip848_records.report.offsets.answer import offsets_at
    from kip848_records.report.offsets.words import file
    from kip848_records.report.partly_read import others_not_read

    at_ms = None if arguments.at is None else arguments.at.timestamp() * 1000 // 1
    group, until_ms = arguments.group, None if at_ms is None else int(at_ms)

    def answered(tables: Tables, cluster: str | None) -> Answer:
        progress.done()
        found = offsets_at(tables, cluster, group, until_ms)
        if (note := others_not_read(tables, cluster)) is not None:
            found.notes.append(f"not looked at: {note}; a group may have committed elsewhere before the topic grew")
        return found

    with shown_progress(arguments) as progress:
        if group is None:
            with opened_tables(arguments, progress) as found:
                answer = answered(*found)
        else:
            answer = answer_about(arguments, progress, group, answered, knows_all=True)
    text = file(answer.offsets, with_groups=arguments.all_groups)
    if out is None:
        print(text, end="")
    else:
        write_file(out, text)
    for note in answer.notes:
        print_note(note)
    return 0 if answer.is_complete and answer.offsets else 1


def _time(text: str) -> datetime:
    """Return a time with its zone, of ISO 8601 or a number of ms since 1970."""
    if re.fullmatch(r"[0-9]{12,14}", text):
        return utc(int(text))
    try:
        return zoned_time(text)
    except ArgumentTypeError:
        message = f"{text!r} is not a time such as 2026-11-21T08:00:00Z, and no number of ms since 1970"
        raise ArgumentTypeError(message) from None
