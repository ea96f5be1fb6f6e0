"""The file of an expectation: a TOML header in comments, then one SELECT."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kip848_records.errors import InputError
from kip848_records.expectations.results import ERROR, OFF, WARN
from kip848_records.queries.headers import ABOUT, NEEDED, OF_ALL, WITHOUT, split_header
from kip848_records.tables.registry import DEFAULT
from kip848_records.text import matches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

SEVERITIES: Final = (ERROR, WARN, OFF)
LARGEST: Final = 1e12
"""An upper limit for seconds: longer than any log, and small enough to be exact in ms as a double."""

ROWS_OF: Final = "rows_of"
_SHARED: Final = "shared"
_KEYS: Final = {"name", "sentence", "severity", "limits", ROWS_OF, _SHARED, *OF_ALL}
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
    one cluster, with one row per item that it checks. The columns: ``verdict`` (pass, violation or unknown); the
    location (``group_id``, ``group_epoch``, ``member_id``, ``partition`` and ``offset`` in `__consumer_offsets`, each
    null if it does not apply); and ``message``, with the expected and the actual value. It may have others, those of
    `expectations.sql`. `about`: the noun of such an item. `needs`: names
    in `queries.needs` without which nothing is evaluated; `without`: what is not looked for without others. `rows_of`:
    a table of which each row of the answer needs one: if it has none, the text is not run, because planning it takes a
    while. `is_shared`: others of this package have the same text, and its column ``expectation`` says which of them a
    row is about. A result without items is not applicable.
    """

    name: str
    description: str
    text: str
    severity: str = ERROR
    limits: Mapping[str, Limit] = field(default_factory=dict)
    path: str = ""
    about: str = "item to check"
    needs: Sequence[str] = ()
    without: Mapping[str, str] = field(default_factory=dict)
    rows_of: str | None = None
    is_shared: bool = False


@dataclass(frozen=True)
class Setting:
    """How one expectation is evaluated.

    `severity`: of a violation, ``error`` or ``warn``; ``off``: the expectation is not evaluated. `limits`: the
    parameters of the expectation, by name. `groups`: other settings for the groups whose ids match a pattern, in which
    ``*`` stands for any text and ``?`` for one character; the first match applies. `is_named`: the user asked for this
    expectation, by its name in a configuration or by its file.
    """

    severity: str = ERROR
    limits: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, Setting] = field(default_factory=dict)
    is_named: bool = False

    @property
    def is_on(self) -> bool:
        """Whether it is evaluated, be it for some groups only."""
        return any(each.severity != OFF for each in (self, *self.groups.values()))

    def of_group(self, group_id: str) -> Setting:
        """Return the setting for a group: that of the first pattern which matches its id, else this one."""
        return next((each for pattern, each in self.groups.items() if matches(pattern, group_id)), self)


def read_expectation(path: Path | Traversable) -> Expectation:
    """Read a file. Raises InputError with its path if it cannot be read or its header is wrong."""
    try:
        header, text = split_header(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError.bad_expectation(str(path), str(error)) from None
    _check(path, header)
    if not text:
        raise InputError.bad_expectation(str(path), "there is no SELECT after its header")
    return Expectation(
        header["name"],
        header["sentence"],
        text,
        header.get("severity", ERROR),
        {name: Limit(**limit) for name, limit in header.get("limits", {}).items()},
        str(path),
        is_shared=header.get(_SHARED, False),
        **{name: header[name] for name in (ABOUT, NEEDED, WITHOUT, ROWS_OF) if name in header},
    )


def _check(path: Path | Traversable, header: dict[str, Any]) -> None:
    reason, name = None, path.name.removesuffix(".sql")
    if unknown := header.keys() - _KEYS:
        reason = f"{min(unknown)!r} in its header is none of {', '.join(sorted(_KEYS))}"
    elif header.get("name") != name:
        reason = f"name in its header is {header.get('name')!r}, not the name of the file"
    elif not name.isidentifier():
        reason = "its name is not a word of letters, digits and underscores"
    elif not isinstance(header.get("sentence"), str):
        reason = "its header has no sentence with the expected condition"
    elif header.get("severity", ERROR) not in SEVERITIES:
        reason = f"severity is {header['severity']!r}, not one of {', '.join(SEVERITIES)}"
    elif ROWS_OF in header and header[ROWS_OF] not in [*DEFAULT]:
        reason = f"{ROWS_OF} is {header[ROWS_OF]!r}, not a table of an audit"
    elif not isinstance(header.get(_SHARED, False), bool):
        reason = f"{_SHARED} is {header[_SHARED]!r}, not true or false"
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
