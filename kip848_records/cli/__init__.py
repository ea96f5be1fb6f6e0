"""The command line: one module per command, such as `kip848 audit`.

A command's `add` adds its parser. The parser's default `run` runs the command and returns its exit code.
"""

from __future__ import annotations

import logging
import sys
import traceback
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from kip848_records import __version__
from kip848_records.cli.arguments import Parser
from kip848_records.cli.output import print_error, until_nobody_reads
from kip848_records.errors import Kip848Error, UnexpectedError
from kip848_records.machine.disks import FULL, DiskError
from kip848_records.spark.interrupts import raise_interrupts
from kip848_records.spark.setup_errors import SetupError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

__all__ = ["INTERRUPTED", "main"]

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells use it."""

_ON_LOGS = ("audit", "check", "inspect", "explain", "report", "query", "offsets", "migration", "topic")
_COMMANDS = (*_ON_LOGS, "maintain", "cache", "simulate", "demo", "doctor")
_ON_ANY_SYSTEM = ("doctor",)
# The root logger prints records without a handler. Py4J logs each exception that it also raises.
_SILENT = logging.NullHandler()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 failed, 2 bad arguments or input, 70 broken, 130 interrupted.

    70 is a fault of this package, or of what it runs on. Raises SystemExit for invalid arguments, and for `--help` and
    `--version`.
    """
    arguments = _parser(sys.argv[1:] if argv is None else argv).parse_args(argv)
    if sys.platform == "win32" and arguments.command not in _ON_ANY_SYSTEM:
        print_error(error := SetupError.other_system("Windows"))
        return error.exit_code
    logging.getLogger().addHandler(_SILENT)
    code: int = 0
    try:
        with raise_interrupts(), until_nobody_reads(), _closed_brokers(arguments):
            code = arguments.run(arguments)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place to turn it into a line
        if arguments.debug:
            traceback.print_exc()
        failure = _failure(error)
        print_error(failure)
        return failure.exit_code
    return code


@contextmanager
def _closed_brokers(arguments: Namespace) -> Iterator[None]:
    """Close the client of a live topic that a command has opened (`before_spark.check_topics`)."""
    try:
        yield
    finally:
        if (brokers := getattr(arguments, "brokers", None)) is not None:
            brokers.close()


def _failure(error: Exception) -> Kip848Error:
    if isinstance(error, Kip848Error):
        return error
    if FULL in str(error):
        from kip848_records.spark.scratch import scratch_places

        return DiskError.full(scratch_places())
    if isinstance(error, FileNotFoundError) and "No usable temporary directory" in str(error):  # of `tempfile`
        return DiskError(
            "no folder for temporary files can be written to",
            "set TMPDIR to a folder that you can write to; in a container, mount /tmp: docker run --tmpfs /tmp ...",
        )
    return SetupError.of_missing_module(error) or UnexpectedError.of(error)


def _parser(argv: Sequence[str]) -> Parser:
    """Return the parser of all commands, or of the named one only: importing the others' modules takes a second."""
    parser = Parser(prog="kip848", description="Explains consumer group rebalances from __consumer_offsets.")
    parser.add_argument("--version", action="version", version=f"kip848-records {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in argv[:1] if argv and argv[0] in _COMMANDS else _COMMANDS:
        import_module(f"kip848_records.cli.{command}").add(commands)
    return parser
