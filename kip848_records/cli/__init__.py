"""The command line: a module for each command, such as `kip848 audit`.

A command's `add` adds its parser, whose default `run` is what runs the command and returns its exit code.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import TYPE_CHECKING

from kip848_records import __version__
from kip848_records.cli import audit, check, explain, inspect, maintain, report, simulate
from kip848_records.cli.arguments import Parser
from kip848_records.cli.output import until_nobody_reads
from kip848_records.errors import Kip848Error, UnexpectedError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130
# For the root logger, which prints what it has no handler for: Py4J tells it of what it raises as well.
_SILENT = logging.NullHandler()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 failed, 2 bad arguments or input, 130 interrupted.

    Raises SystemExit where the arguments are wrong, and for `--help` and `--version`.
    """
    arguments = _parser().parse_args(argv)
    logging.getLogger().addHandler(_SILENT)
    code: int = 0
    try:
        with until_nobody_reads():
            code = arguments.run(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place to turn it into a line
        if arguments.debug:
            traceback.print_exc()
        failure = error if isinstance(error, Kip848Error) else UnexpectedError.of(error)
        print(f"error: {failure.message}\nhint: {failure.hint}", file=sys.stderr)
        return failure.exit_code
    return code


def _parser() -> Parser:
    parser = Parser(prog="kip848", description="Tells the story of consumer group rebalances from __consumer_offsets.")
    parser.add_argument("--version", action="version", version=f"kip848-records {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (audit, check, inspect, explain, report, maintain, simulate):
        command.add(commands)
    return parser
