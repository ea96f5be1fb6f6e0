"""How commands print: answers to stdout, what is going on to stderr."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console

from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
