"""Time spans and counts in the message of an expectation: SQL marks the number, Python writes it for people.

So SQL has no forms of numbers of its own. The texts would be a fifth longer, and each is planned for every check.
"""

from __future__ import annotations

import re
from math import floor
from typing import TYPE_CHECKING, Final

from kip848_records.text import count_text, duration_text, span_text, unknown_time_text

if TYPE_CHECKING:
    from collections.abc import Callable

MARK: Final = "\x01"
"""Stands before and behind a number and its form, in what `_said` of `functions.sql` returns."""

_MARKED: Final = re.compile(
    rf"{MARK}(duration|span|at_least|thousands|counted ([^{MARK}]+)) (-?[0-9][0-9.eE+-]*|null){MARK}"
)


def with_numbers(message: str) -> str:
    """Return a message of an expectation with its numbers in words, as all reports write them.

    A name of the log that has this form itself, marks and all, is taken for a number.
    """
    return _MARKED.sub(_said, message)


def _said(found: re.Match[str]) -> str:
    form, what, text = found.groups()
    number = None if text == "null" else _whole(text)
    if what is not None:
        return f"? {what}s" if number is None else count_text(number, what)
    return _FORMS[form](number)


def _whole(text: str) -> int:
    try:
        return int(text)  # a float has no room for all digits of a large one
    except ValueError:
        return floor(float(text))


def _span(millis: int | None, *, is_minimum: bool = False) -> str:
    return unknown_time_text(millis) or span_text(millis, is_minimum=is_minimum)


_FORMS: Final[dict[str, Callable[[int | None], str]]] = {
    "duration": duration_text,
    "span": _span,
    "at_least": lambda millis: _span(millis, is_minimum=True),
    "thousands": lambda count: "?" if count is None else f"{count:,}",
}
