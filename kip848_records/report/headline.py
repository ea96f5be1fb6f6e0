"""How many groups have which health, and what changed since the run before: lines of the summary and of a check."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kip848_records.queries.wording import HEALTH
from kip848_records.report.sql import query
from kip848_records.report.terminal import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kip848_records.queries.tables import Tables
    from kip848_records.report.changes import Changes


def headlines(tables: Tables, clusters: Iterable[str], changes: Mapping[str, Changes]) -> Mapping[str, Sequence[str]]:
    """Return the lines about each cluster, by its name. `changes`: since the run before, of clusters that have one."""
    found = {}
    for cluster in clusters:
        counts = group_counts(tables, cluster)
        stuck = f"{counts['stuck']:,} of {count_text(counts.total(), 'group')} stuck"
        news = since_text("Since the run before", changes[cluster]) if cluster in changes else ()
        found[cluster] = [" · ".join([stuck, *others_text(counts)]), *news]
    return found


def group_counts(tables: Tables, cluster: str) -> Counter[str]:
    """Return how many groups of a cluster have a health, each counted once: those of `health_now`."""
    return Counter({row.health: row.groups for row in tables.rows(query("summary_counts"), cluster)})


def others_text(counts: Counter[str]) -> list[str]:
    """Return how many groups are not stuck, by their health in words; always how many are healthy."""
    shown = [health for health in HEALTH if health == "healthy" or (health != "stuck" and counts[health])]
    return [f"{counts[health]:,} {HEALTH[health]}" for health in shown]


def since_text(since: str, changes: Changes) -> Iterator[str]:
    """Yield a line about groups, and one about troubles over time if any began or ended; nothing at the first run.

    `since`: the beginning of the first line.
    """
    if changes.is_first:
        return
    groups = {"newly overdue": changes.newly_overdue, "recovered": changes.recovered}
    groups |= {"unknown": changes.unknown} if changes.unknown else {}
    yield f"{since}: {_counted(groups)}"
    troubles = {"began": changes.began, "ended": changes.ended, "came and went": changes.passed}
    if any(troubles.values()):
        yield f"Troubles over time since then: {_counted({what: of for what, of in troubles.items() if of})}"


def _counted(items: Mapping[str, Sequence[object]]) -> str:
    return ", ".join(f"{len(of):,} {what}" for what, of in items.items())
