"""How commands show progress on stderr: one changing line on a terminal, otherwise one line per phase."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from kip848_records.pipeline.progress import Progress
from kip848_records.text import printable

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

_TIMES_A_SECOND = 4


@contextmanager
def shown_progress(arguments: Namespace) -> Iterator[Progress]:
    """Yield the progress display of the block; it shows nothing with `--quiet`."""
    console = Console(stderr=True, highlight=False, markup=False)
    if arguments.quiet:
        progress = Progress()
    elif console.is_terminal and not console.is_dumb_terminal:
        progress = LiveProgress(console)
    else:
        progress = ProgressLines()
    try:
        yield progress
    finally:
        progress.done()


class _Phases(Progress):
    """Keeps the phase, its detail and rows, and the times since the start and since the phase began."""

    def __init__(self) -> None:
        self._start = self._phase_start = monotonic()
        self._name, self._detail, self._rows = "", "", 0
        self._lock = Lock()

    def phase(self, name: str, detail: str = "") -> None:
        self._detail = detail
        if name != self._name:
            self._name, self._rows, self._phase_start = name, 0, monotonic()

    def advance(self, rows: int) -> None:
        with self._lock:  # threads may call it
            self._rows += rows

    def _line(self, text: str) -> str:
        return f"[{monotonic() - self._start:5.1f} s] {printable(text)}"

    def _rows_text(self) -> str:
        seconds = monotonic() - self._phase_start
        speed = f", {self._rows / seconds:,.0f} rows/s" if seconds >= 1 else ""
        return f"{self._rows:,} rows{speed}"


class ProgressLines(_Phases):
    """Prints a line when a phase begins, and another with its rows, if any, when it ends."""

    def phase(self, name: str, detail: str = "") -> None:
        """Print the phase, if it differs from the current one."""
        if name != self._name:
            self.done()
            super().phase(name, detail)
            self._print(f"{name} {detail}".rstrip())

    def note(self, text: str) -> None:
        """Print the note."""
        self._print(text)

    def done(self) -> None:
        """Print the rows of the last phase."""
        if self._rows:
            self._print(f"{self._name}: {self._rows_text()}")
        self._name, self._rows = "", 0

    def _print(self, text: str) -> None:
        print(self._line(text), file=sys.stderr, flush=True)


class LiveProgress(_Phases):
    """Shows one changing line on a terminal and removes it at the end; notes stay above it."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        # Output on stdout does not go through this console, because stdout may be a file.
        self._live = Live(
            console=console,
            get_renderable=self._text,
            refresh_per_second=_TIMES_A_SECOND,
            transient=True,
            redirect_stdout=False,
        )

    def phase(self, name: str, detail: str = "") -> None:
        """Show the phase."""
        super().phase(name, detail)
        self._live.start(refresh=True)

    def note(self, text: str) -> None:
        """Print the note above the line."""
        self._live.console.print(Text(self._line(text)), soft_wrap=True)

    def done(self) -> None:
        """Remove the line."""
        self._live.stop()

    def _text(self) -> Text:
        rows = f": {self._rows_text()}" if self._rows else ""
        detail = f" ({self._detail})" if self._detail else ""
        return Text(self._line(f"{self._name}{rows}{detail}"), no_wrap=True, overflow="ellipsis")
