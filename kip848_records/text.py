"""Text for people: values from a log, a path or an option may contain any character; times have two units.

And the patterns by which people name several groups.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

WIDTH: Final = 80
"""The columns of an answer where no terminal says how many it has."""

_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000


def printable(text: str) -> str:
    """Escape what a reader would not see as it is: control characters, line breaks, unusual spaces.

    A terminal interprets some of them; others change the direction of text, so that an id looks like another one.
    `printable` in `report/page/templates/text.js` is this rule for the texts that the page makes by itself.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def ranges_text(numbers: Iterable[int | None] | None) -> str:
    """Return numbers such as partitions, with consecutive ones as ranges: 0-3, 7."""
    ranges: list[list[int]] = []
    for number in sorted({number for number in numbers or () if number is not None}):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)


def duration_text(millis: int | None) -> str:
    """Return a time span for people: `172 ms`, `4.1 s`, `1 min 28 s`, `2 d 3 h`; empty for None.

    From a minute on these are its two largest units, below it seconds with a tenth, rounded down. Negative ones are
    empty too, because then two clocks differ. This rule is also `duration` of `queries/functions.sql` for SQL, and
    `spanText` of `report/page/templates/text.js` for the page.
    """
    if millis is None or millis < 0:
        return ""
    if 0 < millis < _SECOND:
        return f"{millis} ms"
    if millis < _MINUTE:
        tenth = millis % _SECOND // 100
        return f"{millis // _SECOND}{f'.{tenth}' if tenth else ''} s"
    units = ((millis // _DAY, "d"), (millis // _HOUR % 24, "h"), (millis // _MINUTE % 60, "min"))
    return " ".join([f"{count} {unit}" for count, unit in (*units, (millis // _SECOND % 60, "s")) if count][:2])


def matches(pattern: str, group_id: str) -> bool:
    """Return whether a group id matches a pattern, in which ``*`` stands for any text and ``?`` for one character."""
    return _expression(pattern).fullmatch(group_id) is not None


@lru_cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = (".*" if character == "*" else "." if character == "?" else re.escape(character) for character in pattern)
    return re.compile("".join(parts), re.DOTALL)
