"""Text that is safe to print: values from a log, a path or an option may contain any character."""

from __future__ import annotations


def printable(text: str) -> str:
    """Escape what a reader would not see as it is: control characters, line breaks, unusual spaces.

    A terminal interprets some of them; others change the direction of text, so that an id looks like another one.
    `printable` in `report/page/templates/text.js` is this rule for the texts that the page makes by itself.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
