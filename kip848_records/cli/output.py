"""How commands print answers to stdout and notes to stderr."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from traceback import print_exception
from typing import TYPE_CHECKING

from rich.console import Console

from kip848_records.disk_errors import AnswerError
from kip848_records.paths import with_page_paths
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def print_error(error: Kip848Error, *, is_traced: bool = False) -> None:
    """Print an error and its hint to stderr; if `is_traced`, after the stack trace of the exception that it wraps."""
    if is_traced and error.__cause__ is not None:
        print_exception(error.__cause__)
    print(f"error: {error.message}\nhint: {with_page_paths(error.hint)}", file=sys.stderr)


def lost_answer(error: Exception) -> AnswerError | None:
    """Return the error if what was printed cannot be written, and drop the rest of it; None for other errors."""
    lost = AnswerError.of(error)
    if lost is not None:
        _drop_answer()
    return lost


@contextmanager
def until_nobody_reads() -> Iterator[None]:
    """End the block without an error when the reader of stdout closes it, as `head` does."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_answer()


def _drop_answer() -> None:
    """Send what is still to be written to nowhere: Python tries again when it ends, and would report the failure."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
