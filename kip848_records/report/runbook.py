"""Entries of the runbook: the page includes them, since a mailed page has no ``docs/`` beside it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from kip848_records.machine.paths import with_package

if TYPE_CHECKING:
    from pathlib import Path

_ENTRY: Final = re.compile(r"^### `(\w+)`\n\n((?:- .*\n?)+)", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)#:]+\.md)[^)]*\)")
_POINT: Final = re.compile(r"^- \*\*(.+?)\*\*: (.*)$", re.MULTILINE)


@cache
def entries() -> dict[str, list[tuple[str, str]]]:
    """Return the points of each entry by its name: pairs of title and sentences, with code between backticks."""
    text = _file().read_text(encoding="utf-8")
    text = _LINK.sub(r"\1 (docs/\2)", text)
    return {name: _POINT.findall(points) for name, points in _ENTRY.findall(text)}


def _file() -> Path:
    """Return the path of the runbook: in the wheel, or beside a source checkout."""
    return with_package("docs/runbook.md", "docs/runbook.md")
