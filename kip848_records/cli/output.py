"""How commands print: answers to stdout, what is going on to stderr; and how they write files."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console

from kip848_records.errors import InputError
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from rich.console import RenderableType

# Ids are never cut short or folded: a terminal may wrap a line, a file keeps it whole.
_WIDE = 100_000


def print_parts(parts: Iterable[RenderableType]) -> None:
    """Print the parts of an answer, each as soon as it is there, until nobody reads any more."""
    console = Console(width=_WIDE, highlight=False)
    with until_nobody_reads():
        for part in parts:
            with console.capture() as printed:
                console.print(part)
            print("\n".join(line.rstrip() for line in printed.get().splitlines()))


@contextmanager
def until_nobody_reads() -> Iterator[None]:
    """End the block, without an error, when whoever reads stdout has seen enough, as `head` has."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def progress_lines() -> Callable[[str], None]:
    """Return what prints a step to stderr, with the seconds since this call."""
    start = monotonic()

    def progress(what: str) -> None:
        print(f"[{monotonic() - start:5.1f} s] {printable(what)}", file=sys.stderr, flush=True)

    return progress


def check_file(path: Path) -> None:
    """Raise InputError where a file cannot be written: asked before any work is done."""
    if path.is_dir() or not path.parent.is_dir():
        raise InputError.no_file(str(path), "it is a folder" if path.is_dir() else f"there is no folder {path.parent}")


def write_file(path: Path, text: str) -> None:
    """Write a file; raises InputError where that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError.no_file(str(path), error.strerror) from None
