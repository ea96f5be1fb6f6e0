"""The move of a fleet as text for a terminal, as `kip848 migration` prints it: for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.report.fleet import sections
from kip848_records.report.sections import captured_text, sections_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from kip848_records.report.fleet import Fleet


def fleet_terminal(found: Fleet) -> Iterator[Text]:
    """Yield the lines, with the first rows of each section."""
    return sections_terminal(captured_text(found.run), sections(found))
