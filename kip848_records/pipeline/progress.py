"""The interface by which long work reports its progress."""

from __future__ import annotations


class Progress:
    """Receives the progress of long work. This class ignores it; the subclasses of the commands print it.

    Work has one phase after another: `starting Spark`, `reading`, `replaying`, `writing tables`.
    """

    def phase(self, name: str, detail: str = "") -> None:
        """Begin a phase; a repeated name only changes the detail, such as the current table."""

    def advance(self, rows: int) -> None:
        """Add to the number of rows that the phase has processed."""

    def note(self, text: str) -> None:
        """Report something worth keeping, such as a choice that was made."""

    def done(self) -> None:
        """End the last phase; may be called more than once."""
