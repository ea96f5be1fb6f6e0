"""Java's properties files, read as `java.util.Properties.load` reads them, before any JVM has started."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE_END = re.compile("\r\n|\r|\n")
_LAST_LINE_END = re.compile(f"(?:{_LINE_END.pattern})\\Z")
_BLANKS = " \t\f"
_LETTERS = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9A-Fa-f]{4})|(?P<bad>u)|(?P<letter>.))", re.DOTALL)
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")


def parse_properties(text: str) -> dict[str, str]:
    r"""Return the keys and values of a properties file's text; the last value of each key counts.

    The rules are those of `java.util.Properties.load`. Raises ValueError if ``\u`` is not followed by four hexadecimal
    digits.
    """
    return dict(map(_pair, _logical_lines(text)))


def _logical_lines(text: str) -> Iterator[str]:
    r"""Yield lines that are neither blank nor comments, each joined with its continuation lines.

    A line continues if it ends in an odd number of backslashes. Blanks at the start of each part are dropped, and a
    comment after a part that is not empty belongs to the line.
    """
    line, is_continued = "", False
    for natural in _LINE_END.split(_LAST_LINE_END.sub("", text)):
        part = natural.lstrip(_BLANKS)
        if not line and (not part or part[0] in "#!"):
            is_continued = False
            continue
        is_continued = (len(part) - len(part.rstrip("\\"))) % 2 == 1
        line += part[:-1] if is_continued else part
        if not is_continued:
            yield line
            line = ""
    if is_continued:
        yield line


def _pair(line: str) -> tuple[str, str]:
    key = _KEY.match(line)
    end = key.end() if key else 0
    separator = _SEPARATOR.match(line, end)
    value_at = separator.end() if separator else end
    return _unescaped(line[:end]), _unescaped(line[value_at:])


def _unescaped(text: str) -> str:
    def replace(escape: re.Match[str]) -> str:
        if escape["bad"]:
            message = r"\u is not followed by four hexadecimal digits"
            raise ValueError(message)
        return chr(int(escape["code"], 16)) if escape["code"] else _LETTERS.get(escape["letter"], escape["letter"])

    # Java's strings are UTF-16: two escapes may be the halves of one character.
    return _ESCAPE.sub(replace, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
