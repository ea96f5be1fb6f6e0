"""How commands print answers to stdout and notes to stderr."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from contextlib import contextmanager, redirect_stdout
from traceback import print_exception
from typing import TYPE_CHECKING, Any, TextIO, cast

from rich.console import Console

from kip848_records.machine.disks import AnswerError
from kip848_records.machine.paths import with_page_paths
from kip848_records.text import WIDTH, printable

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


def width() -> int:
    """Return for how many columns an answer is wrapped: those of the terminal, `WIDTH` in a file or a pipe."""
    return terminal_width() or WIDTH


def terminal_width() -> int | None:
    """Return the columns of the terminal; None in a file or a pipe, where `grep` and `sort` need a row on each line."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_note(text: str) -> None:
    """Print a note about the answer to stderr."""
    print(f"note: {printable(text)}", file=sys.stderr)


def print_error(error: Kip848Error, *, is_traced: bool = False) -> None:
    """Print an error and its hint to stderr; if `is_traced`, after the stack trace of the exception that it wraps."""
    if is_traced and error.__cause__ is not None:
        print_exception(error.__cause__)
    print(f"error: {error.message}\nhint: {with_page_paths(error.hint)}", file=sys.stderr)


@contextmanager
def until_nobody_reads() -> Iterator[None]:
    """End the block without an error when the reader of stdout closes it, as `head` does.

    Raises AnswerError if the disk of stdout is full, whichever function of the block prints.
    """
    try:
        with redirect_stdout(cast("TextIO", _Stdout(sys.stdout))):
            yield
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_answer()
    except AnswerError:
        _drop_answer()
        raise


class _Stdout:
    """Stdout, which says that it is the one on a full disk: the error of the system names no file."""

    def __init__(self, stdout: TextIO) -> None:
        self._stdout = stdout

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - all else is as it was
        return getattr(self._stdout, name)

    def write(self, text: str) -> int:
        with _full_disk_named():
            return self._stdout.write(text)

    def flush(self) -> None:
        with _full_disk_named():
            self._stdout.flush()


@contextmanager
def _full_disk_named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise AnswerError.full_stdout() from None
        raise


def _drop_answer() -> None:
    """Send what is still to be written to nowhere: Python tries again when it ends, and would report the failure."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
