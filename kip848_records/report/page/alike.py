"""Clusters of stuck groups that share a client, a host, a topic or a start minute: often they have one cause."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kip848_records.report.terminal import time_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kip848_records.report.page.contents import Fields

CLIENT: Final = "client"
HOST: Final = "host"
TOPIC: Final = "topic"
MINUTE: Final = "minute"
_KINDS: Final = ((CLIENT, HOST), (TOPIC, MINUTE))
"""Kinds of traits that groups share. The blocker comes first: it explains more than a topic or a start minute."""
_CLUSTERS: Final = 50


@dataclass(frozen=True)
class Alike:
    """Stuck groups, the oldest first, and the traits that all of them share: pairs of kind and name."""

    groups: Sequence[Fields]
    common: Sequence[tuple[str, str]]

    def named(self, kind: str) -> str | None:
        """Return the first shared name of a kind; None if the groups share none."""
        return next((name for each, name in self.common if each == kind), None)

    def different(self, kind: str) -> int:
        """Return how many different names of a kind these groups have."""
        return len({name for group in self.groups for each, name in _traits(group) if each == kind})


def alike(stuck: Sequence[Fields]) -> list[Alike]:
    """Return clusters of stuck groups; each group is in exactly one of them, and single groups come last.

    Each step takes the trait that most of the remaining groups share, and makes their cluster of it. Traits of the
    first `_KINDS` are used up first. At most `_CLUSTERS` clusters have several groups.
    """
    traits = {id(group): _traits(group) for group in stuck}
    left, found = list(stuck), list[Alike]()
    for kinds in _KINDS:
        while len(found) < _CLUSTERS:
            best = _most_common(trait for group in left for trait in traits[id(group)] if trait[0] in kinds)
            if best is None:
                break
            groups = [group for group in left if best in traits[id(group)]]
            left = [group for group in left if best not in traits[id(group)]]
            common = [trait for trait in traits[id(groups[0])] if all(trait in traits[id(group)] for group in groups)]
            found.append(Alike(groups, common))
    return [*found, *(Alike([group], traits[id(group)]) for group in left)]


def _most_common(traits: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the most common trait, the first by name among equals; None if no two groups share one."""
    counted = Counter(traits)
    best = min(counted, key=lambda trait: (-counted[trait], trait), default=None)
    return None if best is None or counted[best] == 1 else best


def _traits(group: Fields) -> list[tuple[str, str]]:
    blocker: dict[str, Any] = group["blocker"]
    traits = [(CLIENT, blocker["client_id"]), (HOST, (blocker["client_host"] or "").removeprefix("/"))]
    traits += [(TOPIC, topic) for topic in blocker["topics"]]
    traits.append((MINUTE, time_text(group["since_ms"])[:16]))
    return [(kind, name) for kind, name in traits if name]
