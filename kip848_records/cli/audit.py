"""`kip848 audit`: a copy of the log becomes Delta tables and a summary."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from kip848_records.audit import DEFAULT_CLUSTER, run_audit
from kip848_records.cli.arguments import (
    add_capture,
    add_schema,
    add_scratch,
    add_source,
    audit_options,
    given_path,
    place,
)
from kip848_records.cli.output import print_parts, progress_lines
from kip848_records.errors import FailedError
from kip848_records.session import get_session
from kip848_records.summary import summary

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.audit import Audit
    from kip848_records.cli.arguments import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "audit",
        help="decode a copy of the log into Delta tables and sum up what they say",
        description="Decodes a copy of __consumer_offsets into Delta tables and sums up what they say.",
    )
    add_source(command)
    command.add_argument("--out", type=given_path, metavar="DIR", help="folder of the Delta tables, one folder each")
    add_schema(command)
    add_scratch(command)
    command.add_argument(
        "--cluster", default=DEFAULT_CLUSTER, metavar="NAME", help="cluster column of every row (%(default)s)"
    )
    add_capture(command)
    command.add_argument("--offset-commits", action="store_true", help="decode offset commits too, most of any log")
    command.add_argument("--allow-empty", action="store_true", help="accept a source without a single record")
    command.add_argument(
        "--checkpoint",
        type=given_path,
        metavar="DIR",
        help="read the live topic as a stream that keeps in DIR how far it came, and stops when it has read all",
    )
    command.add_argument(
        "--max-quarantined",
        type=_limit,
        metavar="N|P%",
        help="exit with 1, with all tables written, if more rows than that did not decode: a number, or a share of "
        "what was read",
    )
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    named = audit_options(arguments, place(arguments, arguments.out, "--out"), arguments.cluster)
    options = replace(named, offset_commits=arguments.offset_commits, allow_empty=arguments.allow_empty)
    options = replace(options, checkpoint=arguments.checkpoint, scratch=arguments.scratch)
    progress = progress_lines()
    progress("starting Spark")
    spark = get_session(reads=arguments.sources)
    audit = run_audit(spark, options, progress)
    print_parts(summary(spark, audit))
    if (limit := arguments.max_quarantined) is not None:
        _check_quarantine(audit, limit)
    return 0


def _limit(text: str) -> tuple[str, float, bool]:
    """Return a limit as it was given, its number, and whether it is a percentage."""
    if re.fullmatch(r"[0-9]{1,12}|[0-9]{1,3}(\.[0-9]{1,6})?%", text) and float(text.rstrip("%")) <= (
        100 if text.endswith("%") else inf
    ):
        return text, float(text.rstrip("%")), text.endswith("%")
    message = f"{text!r} is neither a number of rows nor a share such as 0.5%"
    raise argparse.ArgumentTypeError(message)


def _check_quarantine(audit: Audit, limit: tuple[str, float, bool]) -> None:
    text, number, is_share = limit
    records = sum(audit.records.values())
    if audit.quarantined > (number / 100 * records if is_share else number):
        raise FailedError.too_many_quarantined(audit.quarantined, records, text)
