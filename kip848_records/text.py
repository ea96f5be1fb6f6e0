"""Text that is safe to print: what comes from a log, a path or an option may hold anything."""

from __future__ import annotations


def printable(text: str) -> str:
    """Escape what a terminal would obey or cannot show: control characters, line breaks, spaces but the plain one."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
