"""Text for people: values from a log, a path or an option may contain any character; times have two units.

And the patterns by which people name several groups.
"""

from __future__ import annotations

import re
import shlex
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH: Final = 80
"""The columns of an answer where no terminal says how many it has."""

CLOCK_WENT_BACK: Final = "unknown: clock went back"
"""The text of a time span that is negative: the broker's clock went back. No report shows the number."""

_MINIMUM = "≥ "
_MOST_SIMILAR = 3
_LEAST_RATIO = 0.6
_SHORTEST_PART = 3

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
    empty too, because then two clocks differ. `spanText` of `report/page/templates/text.js` is this rule for the page.
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


def lasting_text(millis: int | None, *, is_minimum: bool = False) -> str:
    """Return for how long something lasts, to be appended to a sentence: `` for 5 s``; empty if that is unknown."""
    return "" if millis is None else f" for {unknown_time_text(millis) or span_text(millis, is_minimum=is_minimum)}"


def unknown_time_text(millis: int | None) -> str:
    """Return what stands for a time span that is not known, or negative, in a sentence; empty for any other."""
    if millis is None:
        return "an unknown time"
    return "an unknown time (the broker's clock went back)" if millis < 0 else ""


def span_text(millis: int | None, *, is_minimum: bool = False) -> str:
    """Return a time span for a cell: as `duration_text`, but a negative one is named."""
    if millis is not None and millis < 0:
        return CLOCK_WENT_BACK
    lasted = duration_text(millis)
    return f"{_MINIMUM if is_minimum and lasted else ''}{lasted}"


def count_text(count: int, what: str) -> str:
    """Return a count with its noun: 1 group, 2 groups."""
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"


def names_text(names: Sequence[str], shown: int) -> str:
    """Return the first names, and the number of the others."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more:,} more" if more > 0 else "")


def client_text(client_id: str | None, client_host: str | None, instance_id: str | None = None) -> str:
    """Return the name of a client for people: its id and host, and the instance id of a static member."""
    host = (client_host or "").removeprefix("/")
    named = " @ ".join(part for part in (client_id, host) if part)
    if instance_id is not None:
        named = f"{named} (instance {instance_id})" if named else f"instance {instance_id}"
    return printable(named)


def similar_names(name: str, names: Iterable[str]) -> list[str]:
    """Return at most three of the names that somebody may have meant, the nearest first, in whatever case.

    A name of which `name` is a part, such as an id without its prefix, comes after names that differ in a few letters.
    """
    wanted = name.casefold()
    matcher = SequenceMatcher(b=wanted)
    ranked = []
    for each in dict.fromkeys(names):
        other = each.casefold()
        matcher.set_seq1(other)
        is_near = matcher.real_quick_ratio() >= _LEAST_RATIO and matcher.quick_ratio() >= _LEAST_RATIO
        ratio = matcher.ratio() if is_near else 0.0
        if ratio >= _LEAST_RATIO:
            ranked.append((-ratio, each))
        elif len(wanted) >= _SHORTEST_PART and wanted in other:
            ranked.append((-len(wanted) / len(other) / 2, each))
    return [each for _, each in sorted(ranked)[:_MOST_SIMILAR]]


def quoted(name: str) -> str:
    """Return a name as a shell takes it."""
    return shlex.quote(printable(name))


def similar_hint(name: str, names: Iterable[str]) -> str | None:
    """Return the similar names as a hint, `similar: a, 'b c'`, as a shell takes them; None if there is none."""
    found = similar_names(name, names)
    return f"similar: {', '.join(quoted(each) for each in found)}" if found else None


def matches(pattern: str, group_id: str) -> bool:
    """Return whether a group id matches a pattern, in which ``*`` stands for any text and ``?`` for one character."""
    return _expression(pattern).fullmatch(group_id) is not None


@lru_cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = (".*" if character == "*" else "." if character == "?" else re.escape(character) for character in pattern)
    return re.compile("".join(parts), re.DOTALL)
