"""What is expected of groups: a severity and numbers for each expectation, read from TOML files.

`conf/audit.toml` has every setting, its default, its unit and why it is so. A user's file says only what is different.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kip848_records.errors import InputError
from kip848_records.quality import EXPECTATIONS
from kip848_records.quality.expectations import ERROR, WARN
from kip848_records.session import conf_dir

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kip848_records.quality import Expectation

OFF: Final = "off"
_SEVERITIES: Final = (ERROR, WARN, OFF)
_TABLE: Final = "expectations"
_GROUPS: Final = "groups"

_MOST: Final = 1e12
"""More seconds than there will be, and few enough for their ms to be exact in a double."""


@dataclass(frozen=True)
class Setting:
    """How one expectation is judged.

    `severity`: what a violation is, ``error`` or ``warn``; ``off``: nothing is judged. `limits`: the numbers that the
    expectation takes, by name. `groups`: what is different for the groups whose ids match a pattern, in which ``*``
    stands for any text and ``?`` for one character; the first that matches counts.
    """

    severity: str = ERROR
    limits: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, Setting] = field(default_factory=dict)


def default_config() -> Path:
    """Return the file of the defaults."""
    return conf_dir() / "audit.toml"


def load_settings(path: str | None = None, expectations: Iterable[Expectation] = EXPECTATIONS) -> dict[str, Setting]:
    """Return the settings of the built-in expectations, and of what else is in `expectations`, by name.

    They are those of `conf/audit.toml`, less what the file at `path` says otherwise; of an expectation that is in
    neither, a `Setting` without limits. Raises InputError where the file cannot be read, is no TOML, names what does
    not exist or cannot be, or lacks a number.
    """
    known = {each.name: each for each in (*EXPECTATIONS, *expectations)}
    defaults = str(default_config())
    settings = _merged({name: Setting() for name in known}, defaults, known)
    if path is not None:
        settings = _merged(settings, path, known)
    for name, setting in settings.items():
        _check_limits(path or defaults, f"{_TABLE}.{name}", setting, known[name])
    return settings


def _merged(settings: Mapping[str, Setting], path: str, known: Mapping[str, Expectation]) -> dict[str, Setting]:
    try:
        text = Path(path).read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise InputError.bad_config(path, error.strerror or str(error)) from None
    except (ValueError, RecursionError) as error:
        raise InputError.bad_config(path, str(error)) from None
    _check_names(path, "the file", document, (_TABLE,))
    tables = _table(path, _TABLE, document.get(_TABLE, {}))
    _check_names(path, _TABLE, tables, known)
    changed = {
        name: _setting(path, f"{_TABLE}.{name}", table, known[name], settings[name]) for name, table in tables.items()
    }
    return {**settings, **changed}


def _setting(path: str, where: str, table: object, expectation: Expectation, base: Setting) -> Setting:
    values = _table(path, where, table)
    _check_names(path, where, values, ("severity", *expectation.limits, _GROUPS))
    severity = values.get("severity", base.severity)
    if severity not in _SEVERITIES:
        raise InputError.bad_config(path, f"{where}.severity is {severity!r}, not one of {', '.join(_SEVERITIES)}")
    limits = {name: _number(path, f"{where}.{name}", values[name]) for name in expectation.limits if name in values}
    changed = replace(base, severity=severity, limits={**base.limits, **limits})
    groups = {}
    for pattern, of_group in _table(path, f"{where}.{_GROUPS}", values.get(_GROUPS, {})).items():
        place = f"{where}.{_GROUPS}.{pattern!r}"
        _check_names(path, place, _table(path, place, of_group), ("severity", *expectation.limits))
        groups[pattern] = _setting(path, place, of_group, expectation, replace(changed, groups={}))
    # The user's patterns come before those of the defaults.
    return replace(changed, groups={**groups, **{p: s for p, s in base.groups.items() if p not in groups}})


def _check_limits(path: str, where: str, setting: Setting, expectation: Expectation) -> None:
    for each in (setting, *setting.groups.values()):
        missing = [name for name in expectation.limits if name not in each.limits]
        if missing and each.severity != OFF:
            raise InputError.bad_config(path, f"{where} needs {', '.join(missing)}")


def _check_names(path: str, where: str, found: Iterable[str], known: Iterable[str]) -> None:
    names = list(known)
    for name in found:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            meant = f"did you mean {near[0]}?" if near else f"it may have {', '.join(names)}"
            meant += "; an id with dots wants quotes" if f".{_GROUPS}." in where else ""
            raise InputError.bad_config(path, f"{where} has no {name!r}: {meant}")


def _table(path: str, where: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError.bad_config(path, f"{where} is not a table")
    return value


def _number(path: str, where: str, value: object) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _MOST:  # type: ignore[operator]
        raise InputError.bad_config(path, f"{where} is {value!r}, not a number from 0 to {_MOST:.0e}")
    return value  # type: ignore[return-value]
