"""Limits that differ from the defaults, for all groups or by patterns of group ids: which ones a group has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kip848_records.replay.diagnosis.limits import DEFAULTS, ENABLED, Limits
from kip848_records.text import matches

if TYPE_CHECKING:
    from collections.abc import Sequence


class ChangedLimit(NamedTuple):
    """A limit that is not the default.

    `groups`: for the groups whose ids match this pattern; None: for all others. `name`: of `SETTINGS[pattern]`, or
    `ENABLED` with 0 or 1. `value`: in the unit of the setting.
    """

    pattern: str
    groups: str | None
    name: str
    value: float


def limits_of(changes: Sequence[ChangedLimit], group_id: str | None) -> Limits:
    """Return the limits of a group: for each pattern those of all groups, and of the first of `groups` that matches.

    `group_id`: None for what concerns many groups.
    """
    if not changes:
        return DEFAULTS
    first: dict[str, str] = {}
    for each in changes:
        if each.groups is not None and group_id is not None and matches(each.groups, group_id):
            first.setdefault(each.pattern, each.groups)
    values: dict[str, float] = {}
    enabled: dict[str, float] = {}
    for each in sorted(changes, key=lambda each: each.groups is not None):  # those of single groups prevail
        if each.groups not in {None, first.get(each.pattern)}:
            continue
        if each.name == ENABLED:
            enabled[each.pattern] = each.value
        else:
            values[f"{each.pattern}.{each.name}"] = each.value
    return Limits(values, frozenset(pattern for pattern, value in enabled.items() if not value))
