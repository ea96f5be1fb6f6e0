"""The configuration: a severity and limits for each expectation, and limits for each pattern of the diagnosis.

The headers of the expectations' SQL files, and the patterns in `replay/diagnosis/`, hold the defaults. A user's TOML
file contains only the differences.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kip848_records.errors import InputError
from kip848_records.expectations import EXPECTATIONS, load_expectations
from kip848_records.expectations.files import LARGEST, SEVERITIES, Setting
from kip848_records.expectations.results import ERROR, OFF
from kip848_records.replay.diagnosis.limits import ALL_PATTERNS, ENABLED, SECONDS, SHARE
from kip848_records.replay.diagnosis.patterns import ACROSS_GROUPS, SETTINGS
from kip848_records.replay.inputs import ChangedLimit
from kip848_records.text import similar_hint, similar_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kip848_records.expectations import Expectation
    from kip848_records.replay.diagnosis.limits import Limit

_TABLE: Final = "expectations"
_GROUPS: Final = "groups"
_FOLDER: Final = "expectation_files"
_DIAGNOSIS: Final = "diagnosis"
_MOST: Final = 1_000_000
_TABLES: Final = (_TABLE, _FOLDER, _DIAGNOSIS)


def load_config(path: str | None = None, folder: str | None = None) -> tuple[Sequence[Expectation], dict[str, Setting]]:
    """Return all expectations, and their settings by name.

    `path`: a TOML file with the user's settings. `folder`: a folder with the user's own expectations, SQL files; by
    default `expectation_files` in the file at `path` names it, relative to that file.

    Raises InputError if a file cannot be read, or if its content is wrong, also where it is about the diagnosis.
    """
    if path is not None:
        load_limits(path)
    if folder is None and path is not None:
        named = _document(path).get(_FOLDER)
        if named is not None and not isinstance(named, str):
            raise InputError.bad_config(path, f"{_FOLDER} is {named!r}, not the name of a folder")
        folder = None if named is None else str(Path(path).parent / named)
    expectations = load_expectations(folder)
    return expectations, load_settings(path, expectations)


def selected(
    names: Sequence[str], expectations: Sequence[Expectation], settings: Mapping[str, Setting]
) -> tuple[Sequence[Expectation], dict[str, Setting]]:
    """Return some expectations by name, and all settings, in which those are on.

    Raises InputError if there is none of a name.
    """
    known = {each.name: each for each in expectations}
    for name in names:
        if name not in known:
            hint = similar_hint(name, known) or "docs/reference/expectations.md lists them"
            raise InputError(f"there is no expectation {name!r}", hint)
    chosen = {name: asked_for(known[name], settings[name]) for name in dict.fromkeys(names)}
    return [known[name] for name in chosen], {**settings, **chosen}


def asked_for(expectation: Expectation, setting: Setting) -> Setting:
    """Return the setting of an expectation that the user asks for: one that is off for all groups is on for all."""
    if setting.is_on:
        return replace(setting, is_named=True)
    severity = ERROR if expectation.severity == OFF else expectation.severity
    return replace(setting, severity=severity, groups={}, is_named=True)


def load_settings(path: str | None = None, expectations: Iterable[Expectation] = EXPECTATIONS) -> dict[str, Setting]:
    """Return the settings of the built-in expectations and of the others in `expectations`, by name.

    The file at `path` overrides the defaults. Raises InputError if the file cannot be read, is not TOML, names
    something unknown, or has an invalid value.
    """
    known = {each.name: each for each in (*EXPECTATIONS, *expectations)}
    settings = {
        name: Setting(
            each.severity,
            {limit: each.limits[limit].default for limit in each.limits},
            is_named=each not in EXPECTATIONS,
        )
        for name, each in known.items()
    }
    return settings if path is None else _merged(settings, path, known)


def load_limits(path: str) -> tuple[ChangedLimit, ...]:
    """Return the limits of the diagnosis that are not the defaults, from the file at `path`, in its order.

    Raises InputError as `load_settings`; expectations in the file are not looked at.
    """
    document = _document(path)
    _check_names(path, "the file", document, _TABLES)
    tables = _table(path, _DIAGNOSIS, document.get(_DIAGNOSIS, {}))
    _check_names(path, _DIAGNOSIS, tables, SETTINGS)
    return tuple(chain.from_iterable(_changed_limits(path, pattern, tables[pattern]) for pattern in tables))


def _changed_limits(path: str, pattern: str, table: object) -> Iterator[ChangedLimit]:
    """Yield the changed limits of a pattern: those of all groups, then those of its patterns of group ids."""
    where = f"{_DIAGNOSIS}.{pattern}"
    known = [*SETTINGS[pattern], *([] if pattern == ALL_PATTERNS else [ENABLED])]
    values = _table(path, where, table)
    if pattern == ACROSS_GROUPS and _GROUPS in values:
        raise InputError.bad_config(path, f"{where} has no {_GROUPS!r}: it is about many groups together")
    of_groups = _table(path, f"{where}.{_GROUPS}", values.pop(_GROUPS, {}))
    tables = [
        (None, where, values),
        *((groups, f"{where}.{_GROUPS}.{groups!r}", of_groups[groups]) for groups in of_groups),
    ]
    for groups, place, limits in tables:
        names = known if groups is not None or pattern == ACROSS_GROUPS else (*known, _GROUPS)
        _check_names(path, place, _table(path, place, limits), names)
        if groups is not None and not limits:
            raise InputError.bad_config(path, f"{place} is empty: name a limit, perhaps with its default")
        for name, value in limits.items():
            yield ChangedLimit(
                pattern, groups, name, _limit(path, f"{place}.{name}", SETTINGS[pattern].get(name), value)
            )


def _limit(path: str, where: str, setting: Limit[Any] | None, value: object) -> float:
    """Return the value of a limit of the diagnosis; `setting`: None if it switches the pattern on or off.

    Raises InputError if the value does not fit its unit.
    """
    if setting is None:
        if not isinstance(value, bool):
            raise InputError.bad_config(path, f"{where} is {value!r}, not true or false")
        return float(value)
    if setting.unit == SECONDS:
        return _number(path, where, value)
    if setting.unit == SHARE:
        return _number(path, where, value, 1)
    if isinstance(value, bool) or not isinstance(value, int) or not setting.least <= value <= _MOST:
        wanted = f"a whole number from {setting.least} to {_MOST:,}"
        raise InputError.bad_config(path, f"{where} is {value!r}, not {wanted}")
    return value


def _document(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError.bad_config(path, error.strerror or str(error)) from None
    except (ValueError, RecursionError) as error:
        raise InputError.bad_config(path, str(error)) from None


def _merged(settings: Mapping[str, Setting], path: str, known: Mapping[str, Expectation]) -> dict[str, Setting]:
    document = _document(path)
    _check_names(path, "the file", document, _TABLES)
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
    if severity not in SEVERITIES:
        raise InputError.bad_config(path, f"{where}.severity is {severity!r}, not one of {', '.join(SEVERITIES)}")
    limits = {name: _number(path, f"{where}.{name}", values[name]) for name in expectation.limits if name in values}
    changed = replace(base, severity=severity, limits={**base.limits, **limits})
    groups = {}
    for pattern, group_table in _table(path, f"{where}.{_GROUPS}", values.get(_GROUPS, {})).items():
        place = f"{where}.{_GROUPS}.{pattern!r}"
        _check_names(path, place, _table(path, place, group_table), ("severity", *expectation.limits))
        groups[pattern] = _setting(path, place, group_table, expectation, replace(changed, groups={}))
    return replace(changed, groups=groups, is_named=True)


def _check_names(path: str, where: str, found: Iterable[str], known: Iterable[str]) -> None:
    names = list(known)
    for name in found:
        if name not in names:
            near = similar_names(name, names)
            meant = f"did you mean {near[0]}?" if near else f"it may have {', '.join(names)}"
            meant += "; an id with dots needs quotes" if f".{_GROUPS}." in where else ""
            raise InputError.bad_config(path, f"{where} has no {name!r}: {meant}")


def _table(path: str, where: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError.bad_config(path, f"{where} is not a table")
    return value


def _number(path: str, where: str, value: object, largest: float = LARGEST) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= largest:  # type: ignore[operator]
        to = f"{largest:.0e}" if largest == LARGEST else largest
        raise InputError.bad_config(path, f"{where} is {value!r}, not a number from 0 to {to}")
    return value  # type: ignore[return-value]
