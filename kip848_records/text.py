"""Text that is safe to print: values from a log, a path or an option may contain any character."""

from __future__ import annotations


def printable(text: str) -> str:
    """Escape what a terminal would interpret or cannot show: control characters, line breaks, unusual spaces."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
