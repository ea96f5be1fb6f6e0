"""How many groups have which health, and what changed since the run before, for the summary, a check and the page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.report.sql import query
from kip848_records.text import count_text
from kip848_records.wording import HEALTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kip848_records.queries.tables import Tables
    from kip848_records.report.changes import Changes


SINCE: Final = "Since the run before"


class Headline(NamedTuple):
    """What a check says of a cluster before its expectations: groups by health, and changes since the run before.

    `changes`: None if they were not looked for.
    """

    counts: Counter[str]
    changes: Changes | None = None

    @property
    def lines(self) -> Sequence[str]:
        """The headline for people."""
        return [" · ".join([stuck_text(self.counts), *others_text(self.counts)]), *self.news]

    @property
    def news(self) -> Sequence[str]:
        """The lines about the changes; none if no run came before."""
        return [] if self.changes is None else list(since_text(SINCE, self.changes))

    def for_json(self) -> dict[str, object]:
        """Return the headline for programs: numbers of groups and of troubles; null if no run came before."""
        is_known = self.changes is not None and not self.changes.is_first
        counted = {what: len(of) for what, of in vars(self.changes).items() if what != "is_first"} if is_known else None
        return {"groups": {health: self.counts[health] for health in HEALTH}, "since_last_run": counted}


def headlines(tables: Tables, clusters: Iterable[str], changes: Mapping[str, Changes]) -> Mapping[str, Headline]:
    """Return the headline of each cluster, by its name. `changes`: since the run before, of clusters that have one."""
    return {cluster: Headline(group_counts(tables, cluster), changes.get(cluster)) for cluster in clusters}


def group_counts(tables: Tables, cluster: str) -> Counter[str]:
    """Return how many groups of a cluster have a health, each counted once: those of `health_now`."""
    return Counter({row.health: row.groups for row in tables.rows(query("summary_counts"), cluster)})


def stuck_text(counts: Counter[str]) -> str:
    """Return how many groups are stuck; where there is no group, that there is none."""
    return f"{counts['stuck']:,} of {count_text(counts.total(), 'group')} stuck" if counts.total() else "no groups"


def others_text(counts: Counter[str]) -> list[str]:
    """Return how many groups are not stuck, by their health in words; always how many are healthy, if there is any."""
    if not counts.total():
        return []
    shown = [health for health in HEALTH if health == "healthy" or (health != "stuck" and counts[health])]
    return [f"{counts[health]:,} {HEALTH[health]}" for health in shown]


def since_text(since: str, changes: Changes) -> Iterator[str]:
    """Yield a line about groups, and one about troubles over time if any began or ended; nothing at the first run.

    `since`: the beginning of the first line.
    """
    if changes.is_first:
        return
    groups = {
        "newly overdue": changes.newly_overdue,
        "recovered": changes.recovered,
        "no longer stuck": changes.settled,
        "unknown": changes.unknown,
        "stuck for an unknown time": changes.undated,
    }
    yield f"{since}: {_counted(groups) or 'no group became overdue or recovered'}"
    troubles = {"began": changes.began, "ended": changes.ended, "came and went": changes.passed}
    if counted := _counted(troubles):
        yield f"Troubles over time since then: {counted}"


def _counted(items: Mapping[str, Sequence[object]]) -> str:
    return ", ".join(f"{len(of):,} {what}" for what, of in items.items() if of)
