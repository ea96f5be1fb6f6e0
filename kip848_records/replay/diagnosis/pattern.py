"""A pattern: what is found, what it says to an operator, its limits, its severity, and what explains it, in one value.

A module makes those of its patterns, and `patterns.py` lists them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kip848_records.replay.diagnosis.severity import WARNING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kip848_records.replay.diagnosis.limits import Limit

    # An `Episode` has its pattern, and a `GroupHistory` episodes: their modules import this one.
    Episode = Any
    GroupHistory = Any

    Words = tuple[str, str]
    """A sentence, and the next step."""


def _always(_: Episode, __: Episode) -> bool:
    return True


@dataclass(frozen=True, eq=False)
class Pattern:
    """A pattern over time. Its name is that in the table `diagnosis`.

    `words`: the sentence and the next step of an episode: plain words for a reader who does not know the group. `rule`:
    what makes it, by the names of its limits. `find`: its episodes in a group, for patterns of one group; None: another
    pattern's `find` has them, or rows of other tables show them. `severity`: of episodes that have none of their own;
    `error`: when a present one is an error, `BY_COST` or `WHILE_PRESENT`. `explained_by`: patterns whose episodes may
    explain one of this; the first counts. `is_explained`: whether one of them (the first argument) does so.

    `expected`: of a pattern that is a fault, what the check of its name expects; None: it is none. `about`: who can
    have it, in a noun of `expectations.patterns`, or `log` for all groups together.
    """

    name: str
    words: Callable[[Episode], Words]
    rule: str
    find: Callable[[GroupHistory], Iterable[Episode]] | None = None
    limits: Mapping[str, Limit[Any]] = field(default_factory=dict)
    severity: str = WARNING
    error: str | None = None
    explained_by: tuple[str, ...] = ()
    is_explained: Callable[[Episode, Episode], bool] = _always
    expected: str | None = None
    about: str = "group"
