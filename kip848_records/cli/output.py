"""How commands print answers to stdout and notes to stderr, and how they write files."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from kip848_records.errors import InputError
from kip848_records.paths import with_page_paths
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rich.console import RenderableType

    from kip848_records.errors import Kip848Error

# Ids are never truncated or folded: a terminal may wrap a line, but a file keeps it whole.
_WIDE = 100_000


def print_parts(parts: Iterable[RenderableType]) -> None:
    """Print the parts of an answer as soon as each is ready, until the reader of stdout closes it."""
    console = Console(width=_WIDE, highlight=False)
    with until_nobody_reads():
        for part in parts:
            with console.capture() as printed:
                console.print(part)
            print("\n".join(line.rstrip() for line in printed.get().splitlines()))


def print_note(text: str) -> None:
    """Print a note about the answer to stderr."""
    print(f"note: {printable(text)}", file=sys.stderr)


def print_error(error: Kip848Error) -> None:
    """Print an error and its hint to stderr."""
    print(f"error: {error.message}\nhint: {with_page_paths(error.hint)}", file=sys.stderr)


@contextmanager
def until_nobody_reads() -> Iterator[None]:
    """End the block without an error when the reader of stdout closes it, as `head` does."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_file(path: Path, *, is_replaced: bool = False) -> None:
    """Raise InputError if a file cannot be written; commands call this before any work.

    A file that `is_replaced` is written beside the old one first, which takes the right to write to the folder.
    """
    reason = None
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises an error below a folder without permission
        reason = "it is a folder"
    elif not os.path.isdir(path.parent):  # noqa: PTH112
        reason = f"there is no folder {path.parent}"
    elif is_replaced or not os.path.exists(path):  # noqa: PTH110
        if not os.access(path.parent, os.W_OK | os.X_OK):
            reason = f"no permission to write to {path.parent}"
    elif not os.access(path, os.W_OK):
        reason = "no permission to write to it"
    if reason is not None:
        raise InputError.no_file(str(path), reason)


def write_file(path: Path, text: str) -> None:
    """Write a file; raise InputError if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError.no_file(str(path), error.strerror) from None
