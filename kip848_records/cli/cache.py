"""`kip848 cache`: the tables that commands keep of logs which they audited for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.cli.arguments import add_debug
from kip848_records.machine.disks import bytes_text
from kip848_records.text import printable

if TYPE_CHECKING:
    from argparse import Namespace

    from kip848_records.cli.arguments import Commands
    from kip848_records.machine.cache import Contents


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "cache",
        help="show how much is kept of logs that commands such as explain and check audited, or remove it",
        description="Commands that answer a question about a log keep its tables for the next question, below "
        "XDG_CACHE_HOME or ~/.cache, up to 2 GB. This command shows how much that is.",
    )
    command.add_argument("--clear", action="store_true", help="remove all but what another command reads now")
    add_debug(command)
    command.set_defaults(run=_run)


def _run(arguments: Namespace) -> int:
    from kip848_records.machine.cache import Cache  # --help works on Windows, which has no such locks

    cache = Cache.of_user()
    if cache is None:
        print("There is no cache: neither XDG_CACHE_HOME nor HOME names a folder of your own")
        return 0
    if arguments.clear:
        print(f"removed: {_text(cache.clear())}")
    print(f"cached: {_text(cache.contents())} in {printable(str(cache.folder))}")
    return 0


def _text(contents: Contents) -> str:
    from kip848_records.text import count_text

    return f"{count_text(contents.entries, 'audit')}, {bytes_text(contents.size)}"
