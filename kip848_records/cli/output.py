"""How commands print answers to stdout and notes to stderr, and how they write files."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from kip848_records.errors import InputError
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rich.console import RenderableType

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


@contextmanager
def until_nobody_reads() -> Iterator[None]:
    """End the block without an error when the reader of stdout closes it, as `head` does."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_file(path: Path) -> None:
    """Raise InputError if a file cannot be written; commands call this before any work."""
    if path.is_dir() or not path.parent.is_dir():
        raise InputError.no_file(str(path), "it is a folder" if path.is_dir() else f"there is no folder {path.parent}")


def write_file(path: Path, text: str) -> None:
    """Write a file; raise InputError if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError.no_file(str(path), error.strerror) from None
