"""The header of an SQL text: TOML in the comments before its first line that is none."""

from __future__ import annotations

import tomllib
from typing import Any, Final

from kip848_records.queries.needs import NEEDS

NEEDED: Final = "needs"
WITHOUT: Final = "without"
ABOUT: Final = "about"
OF_ALL: Final = frozenset({NEEDED, WITHOUT, ABOUT})
"""What every header may have: its needs, what is not looked for without one, and a noun for what the text looks at."""


def split_header(text: str) -> tuple[dict[str, Any], str]:
    """Return the header of a text, and its SQL without the last semicolon.

    Raises ValueError with the reason, if the header is not TOML, or one of `OF_ALL` is wrong. Later comments belong to
    the SQL.
    """
    lines = text.splitlines()
    length = next((nth for nth, line in enumerate(lines) if not line.startswith("--")), len(lines))
    try:
        header = tomllib.loads("\n".join(line[2:] for line in lines[:length]))
    except ValueError as error:
        message = f"its header is not TOML: {error}"
        raise ValueError(message) from None
    if (reason := _wrong(header)) is not None:
        raise ValueError(reason)
    return header, "\n".join(lines[length:]).strip().rstrip(";")


def _wrong(header: dict[str, Any]) -> str | None:
    needs, without = header.get(NEEDED, []), header.get(WITHOUT, {})
    if not isinstance(needs, list) or not all(isinstance(each, str) for each in needs):
        return f"{NEEDED} is not a list of texts"
    if not isinstance(without, dict) or not all(isinstance(each, str) for each in without.values()):
        return f"{WITHOUT} is not a table of texts"
    if not isinstance(header.get(ABOUT, ""), str):
        return f"{ABOUT} is not a text"
    if unknown := {*needs, *without} - NEEDS.keys():
        return f"{min(unknown)!r} is not one of {', '.join(NEEDS)}"
    return None
