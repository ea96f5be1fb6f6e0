"""`kip848 demo`: audit a small log of a real broker, which comes with this package, and show the page."""

from __future__ import annotations

import os
import sys
import webbrowser
from typing import TYPE_CHECKING

from kip848_records.cli import audit, report
from kip848_records.cli.arguments import Parser, add_debug, add_quiet, given_path
from kip848_records.cli.engine import add_engine
from kip848_records.errors import InputError
from kip848_records.machine.paths import path_on_this_machine, with_package
from kip848_records.spark.conf import conf_dir

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.cli.arguments import Commands

_OUT = "kip848-demo"
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "demo",
        help="audit a small log that comes with kip848, and show the page about it",
        description="Audits the log of a Kafka 4.3.1 broker, half a megabyte, which comes with this package. One of "
        "its groups is stuck. Then the command writes a page about it, and opens the page if there is a display.",
    )
    command.add_argument(
        "--out",
        default=_OUT,
        type=given_path,
        metavar="DIR",
        help="folder of the Delta tables and the page (%(default)s)",
    )
    command.add_argument("--no-browser", action="store_true", help="do not open the page")
    add_engine(command)
    add_quiet(command)
    add_debug(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    capture = with_package("capture", "tests/captures/kafka-4.3.1")
    folder = path_on_this_machine(arguments.out)
    if folder is None:  # known now, not after the audit
        raise InputError(
            f"--out {arguments.out} is on another file system",
            "pass a folder of this machine: the page is written there",
        )
    page = folder / "report.html"
    limits = conf_dir() / "audit-demo.toml"  # those for production fit no log of a few minutes
    quiet = ["--quiet"] if arguments.quiet else []
    engine = [] if arguments.engine is None else ["--engine", arguments.engine]
    source = [str(capture / "segments"), "--topics", str(capture / "topics.json")]
    audited = _command("audit", *source, "--cluster", "demo", "--out", arguments.out, *engine, *quiet)
    reported = _command("report", arguments.out, "--config", str(limits), "--out", str(page), *engine, *quiet)
    if arguments.no_browser or not _has_display() or not webbrowser.open(page.absolute().as_uri()):
        print(f"Open   {page.absolute().as_uri()}")
    return audited or reported


def _command(*argv: str) -> int:
    """Run another command as its users type it, and return its exit code; raises as it does."""
    parser = Parser(prog="kip848")
    commands = parser.add_subparsers()
    for each in (audit, report):
        each.add(commands)
    arguments = parser.parse_args(argv)
    code: int = arguments.run(arguments)
    return code


def _has_display() -> bool:
    return sys.platform in {"darwin", "win32"} or any(os.environ.get(name) for name in _DISPLAYS)
