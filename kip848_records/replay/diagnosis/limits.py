"""Limits that users may change, each with its reason, and the values of a group.

Numbers that only say how to read a log are constants of their pattern: users do not change them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from kip848_records.text import matches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kip848_records.replay.inputs import ChangedLimit

SECOND: Final = 1000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

ENABLED: Final = "enabled"
ALL_PATTERNS: Final = "all_patterns"
"""The name for the limits that all patterns have."""

SECONDS: Final = "seconds"
SHARE: Final = "share"

_N = TypeVar("_N", int, float)


@dataclass(eq=False)
class Limit(Generic[_N]):
    """A limit that users may change.

    `value`: the default, as patterns read it: times in ms. `unit`: `SECONDS`, `SHARE` (from 0 to 1), or what a whole
    number counts. `read`: makes a value of one in this unit. `least`: the smallest value in it. `key`: its pattern and
    its name, with a dot between.
    """

    value: _N
    unit: str
    reason: str
    read: Callable[[float], _N]
    least: int = 0
    key: str = ""

    @property
    def default(self) -> float:
        """The default, in the unit."""
        return self.value // SECOND if self.unit == SECONDS else self.value


def seconds(value: int, reason: str) -> Limit[int]:
    """Return a limit of a time; `value` is in ms."""
    return Limit(value, SECONDS, reason, lambda given: round(given * SECOND))


def counted(value: int, unit: str, reason: str, least: int = 2) -> Limit[int]:
    """Return a limit of a count; what is to come again and again comes twice at least."""
    return Limit(value, unit, reason, int, least)


def share(value: float, reason: str) -> Limit[float]:
    """Return a limit of a share."""
    return Limit(value, SHARE, reason, float)


class PatternSettings:
    """The limits of a pattern that users may change, by the names that they have there."""

    by_name: ClassVar[Mapping[str, Limit[Any]]] = {}

    def __init_subclass__(cls, pattern: str) -> None:
        cls.by_name = {name: each for name, each in vars(cls).items() if isinstance(each, Limit)}
        for name, each in cls.by_name.items():
            each.key = f"{pattern}.{name}"


class AllSettings(PatternSettings, pattern=ALL_PATTERNS):
    """The limits that all patterns have."""

    calm_seconds = seconds(
        10 * MINUTE,
        "A trouble goes on for at least so long without an event, so that two of them are one. Two restarts of a "
        "Kubernetes pod are up to 5 min apart.",
    )
    error_share = share(
        0.10,
        "A present `restart_loop`, `leaves_and_returns`, `static_member_flaps` or `storm` is an error from this "
        "share of the group's work on (`cost_share`). An operator is called if a tenth is lost.",
    )


class Limits(dict["Limit[Any]", Any]):
    """The values of the limits in one group, each worked out when it is first asked for.

    `changed`: those that are not the default, in the unit of their limits, by key. `off`: the patterns of which the
    group gets no rows.
    """

    def __init__(self, changed: Mapping[str, float], off: frozenset[str]) -> None:
        super().__init__()
        self._changed, self.off = changed, off

    if TYPE_CHECKING:

        def __getitem__(self, limit: Limit[_N]) -> _N: ...

    def __missing__(self, limit: Limit[_N]) -> _N:
        given = self._changed.get(limit.key)
        value = self[limit] = limit.value if given is None else limit.read(given)
        return value


DEFAULTS: Final = Limits({}, frozenset())


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
