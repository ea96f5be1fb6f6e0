"""The command line: `kip848 audit`, `inspect`, `explain` and `simulate`, a module each.

A command's `add` adds its parser, whose default `run` is what runs the command and returns its exit code.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

from kip848_records import __version__
from kip848_records.cli import audit, explain, inspect, simulate
from kip848_records.cli.arguments import Parser
from kip848_records.errors import Kip848Error, UnexpectedError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 failed, 2 bad arguments or input, 130 interrupted.

    Raises SystemExit where the arguments are wrong, and for `--help` and `--version`.
    """
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
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
    for command in (audit, inspect, explain, simulate):
        command.add(commands)
    return parser
