"""The file of an expectation: a TOML header in comments, then one SELECT."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kip848_records.errors import InputError
from kip848_records.expectations.results import ERROR, OFF, WARN
from kip848_records.text import matches

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

SEVERITIES: Final = (ERROR, WARN, OFF)
LARGEST: Final = 1e12
"""An upper limit for seconds: longer than any log, and small enough to be exact in ms as a double."""

_KEYS: Final = {"name", "sentence", "severity", "limits"}
_LIMIT_KEYS: Final = {"default", "unit", "reason"}


@dataclass(frozen=True)
class Limit:
    """A numeric parameter of an expectation: its default, its unit, and the reason for the default."""

    default: float
    unit: str
    reason: str


@dataclass(frozen=True)
class Expectation:
    """A condition that should hold.

    `description`: the expected condition, in a sentence. `severity`: the default. `text`: a SELECT over the tables of
    one cluster, with one row per item that it checks. The columns: ``verdict`` (pass, violation or unknown);
    ``severity`` (``warn`` for a violation that is at most a warning, else null); the location (``group_id``,
    ``group_epoch``, ``member_id``, ``partition`` and ``offset`` in `__consumer_offsets`, each null if it does not
    apply); and ``message``, with the expected and the actual value.
    """

    name: str
    description: str
    text: str
    severity: str = ERROR
    limits: Mapping[str, Limit] = field(default_factory=dict)
    path: str = ""


@dataclass(frozen=True)
class Setting:
    """How one expectation is evaluated.

    `severity`: of a violation, ``error`` or ``warn``; ``off``: the expectation is not evaluated. `limits`: the
    parameters of the expectation, by name. `groups`: other settings for the groups whose ids match a pattern, in which
    ``*`` stands for any text and ``?`` for one character; the first match applies.
    """

    severity: str = ERROR
    limits: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, Setting] = field(default_factory=dict)

    def of_group(self, group_id: str) -> Setting:
        """Return the setting for a group: that of the first pattern which matches its id, else this one."""
        return next((each for pattern, each in self.groups.items() if matches(pattern, group_id)), self)


def read_expectation(path: Path | Traversable) -> Expectation:
    """Read a file. Raises InputError with its path if it cannot be read or its header is wrong."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError.bad_expectation(str(path), str(error)) from None
    # The header ends before the first line that is not a comment: later comments belong to the SQL.
    length = next((nth for nth, line in enumerate(lines) if not line.startswith("--")), len(lines))
    try:
        header = tomllib.loads("\n".join(line[2:] for line in lines[:length]))
    except ValueError as error:
        raise InputError.bad_expectation(str(path), f"its header is not TOML: {error}") from None
    _check(path, header)
    limits = {name: Limit(**limit) for name, limit in header.get("limits", {}).items()}
    text = "\n".join(lines[length:]).strip().rstrip(";")
    if not text:
        raise InputError.bad_expectation(str(path), "there is no SELECT after its header")
    return Expectation(header["name"], header["sentence"], text, header.get("severity", ERROR), limits, str(path))


def _check(path: Path | Traversable, header: dict[str, Any]) -> None:
    reason, name = None, path.name.removesuffix(".sql")
    if unknown := header.keys() - _KEYS:
        reason = f"its header has no {min(unknown)!r}"
    elif header.get("name") != name:
        reason = f"name in its header is {header.get('name')!r}, not the name of the file"
    elif not name.isidentifier():
        reason = "its name is not a word of letters, digits and underscores"
    elif not isinstance(header.get("sentence"), str):
        reason = "its header has no sentence with the expected condition"
    elif header.get("severity", ERROR) not in SEVERITIES:
        reason = f"severity is {header['severity']!r}, not one of {', '.join(SEVERITIES)}"
    elif not isinstance(limits := header.get("limits", {}), dict):
        reason = "limits is not a table"
    else:
        reason = next((found for name, limit in limits.items() if (found := _wrong_limit(name, limit))), None)
    if reason is not None:
        raise InputError.bad_expectation(str(path), reason)


def _wrong_limit(name: str, limit: object) -> str | None:
    if not isinstance(limit, dict) or limit.keys() != _LIMIT_KEYS:
        return f"limits.{name} needs default, unit and reason, and nothing else"
    if not name.isidentifier() or name in ("group_id", "severity", "groups"):
        return f"limits.{name} is not a valid name of a limit"
    default = limit["default"]
    if isinstance(default, bool) or not isinstance(default, (int, float)) or not 0 <= default <= LARGEST:
        return f"the default of limits.{name} is {default!r}, not a number from 0 to {LARGEST:.0e}"
    return None
