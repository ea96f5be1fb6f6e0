"""The news of an audit as a message: which groups became overdue or recovered, and which troubles began or ended."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.expectations.results import ERROR, WARN
from kip848_records.replay.blocker.advice import NO_EVIDENCE
from kip848_records.report.diagnosis import pattern_text, subject_text
from kip848_records.report.words import limits_text
from kip848_records.tables.location import location_arguments
from kip848_records.text import count_text, printable, span_text
from kip848_records.times import utc_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kip848_records.expectations.results import CaptureLimits
    from kip848_records.queries.tables import Run, Tables
    from kip848_records.report.changes import Changed, Changes, Trouble

_SHOWN: Final = 10
_BLOCKED: Final = """
SELECT group_id, blocker.sentence AS sentence FROM group_state WHERE blocker.pattern <> :unknown ORDER BY group_id
"""
_SEVERITY: Final = {ERROR: "error", WARN: "warning"}


class News(NamedTuple):
    """A message: a title of one line, and a text of several."""

    title: str
    text: str


def news(tables: Tables, changes: Mapping[str, Changes], limits: Mapping[str, CaptureLimits]) -> News | None:
    """Return the changes of clusters since the run before as a message; None if nothing changed.

    At the first audit of a cluster every overdue group is news, and every trouble over time that lasts. `limits`: what
    limits the ages of groups, by cluster.
    """
    found = [(run, changes[run.cluster]) for run in tables.runs() if run.cluster in changes]
    changed = [(run, each) for run, each in found if each.is_any]
    if not changed:
        return None
    counted = _counts([each for _, each in changed])
    parts = [f"{count_text(count, noun)} {verb}" for (noun, verb), count in counted.items() if count]
    title = f"kip848: {', '.join(parts)} ({', '.join(printable(run.cluster) for run, _ in changed)})"
    return News(title, "\n".join(line for run, each in changed for line in _lines(tables, run, each, limits)))


def _counts(changes: Sequence[Changes]) -> dict[tuple[str, str], int]:
    """Return how many things of a kind changed, by their noun and what happened to them."""
    return {
        ("group", "overdue"): sum(len(each.newly_overdue) + len(each.unknown) for each in changes),
        ("group", "stuck for an unknown time"): sum(len(each.undated) for each in changes),
        ("group", "recovered"): sum(len(each.recovered) for each in changes),
        ("trouble", "began"): sum(len(each.began) for each in changes),
        ("trouble", "ended"): sum(len(each.ended) for each in changes),
        ("trouble", "came and went"): sum(len(each.passed) for each in changes),
    }


def _lines(tables: Tables, run: Run, changes: Changes, limits: Mapping[str, CaptureLimits]) -> Iterator[str]:
    assert run.captured_at is not None  # noqa: S101 - else there are no changes
    yield f"Cluster {printable(run.cluster)}, captured at {utc_text(run.captured_at)}"
    if run.cluster in limits:
        yield from limits_text(limits[run.cluster])
    unknown = "Overdue at the first audit" if changes.is_first else "Overdue now, state at the audit before not known"
    for what, groups in (("Newly overdue", changes.newly_overdue), (unknown, changes.unknown)):
        if groups:
            yield f"{what}: {_groups(groups)}"
    if changes.undated:
        yield f"Stuck for an unknown time: {_groups(changes.undated)}"
    if changes.recovered:
        yield f"Recovered: {_groups(changes.recovered)}"
    shown = {
        each.group_id
        for groups in (changes.newly_overdue, changes.unknown, changes.undated)
        for each in groups[:_SHOWN]
    }
    yield from _blockers(tables, run.cluster, shown)
    yield from _troubles(
        "Troubles over time at the first audit" if changes.is_first else "New troubles over time", changes.began
    )
    yield from _troubles("Troubles that ended", changes.ended)
    yield from _troubles("Troubles that came and went since the audit before", changes.passed)
    worst = [each.group_id for each in [*changes.newly_overdue, *changes.unknown, *changes.undated]]
    worst += [each.group_id for each in changes.began if each.group_id is not None]
    if worst:
        place = f"{location_arguments(tables.shown)} --cluster {shlex.quote(run.cluster)}"
        yield printable(f"Next: kip848 explain {place} --group={shlex.quote(worst[0])}")


def _troubles(what: str, troubles: Sequence[Trouble]) -> Iterator[str]:
    """Yield a line for each of the worst troubles, and one with the number of the others."""
    if troubles:
        yield f"{what}:"
    for each in troubles[:_SHOWN]:
        group = "several groups" if each.group_id is None else printable(each.group_id)
        named = ", ".join(part for part in (pattern_text(each.pattern), subject_text(each.subject)) if part)
        lasted = span_text(each.lasted_ms, is_minimum=each.at_least)
        yield f"  {_SEVERITY[each.severity]}: {group}: {named}{f' ({lasted})' if lasted else ''}"
    if len(troubles) > _SHOWN:
        yield f"  and {len(troubles) - _SHOWN:,} more"


def _blockers(tables: Tables, cluster: str, groups: set[str]) -> Iterator[str]:
    """Yield who blocks each of some groups, as all reports say it."""
    for row in tables.rows(_BLOCKED, cluster, unknown=NO_EVIDENCE) if groups else ():
        if row.group_id in groups:
            yield f"  {printable(row.group_id)}: {row.sentence}"


def _groups(groups: Sequence[Changed]) -> str:
    shown = [
        printable(each.group_id)
        + (f" ({span_text(each.limited_ms, is_minimum=True)})" if each.limited_ms is not None else "")
        for each in groups[:_SHOWN]
    ]
    more = [f"{len(groups) - _SHOWN:,} more"] if len(groups) > _SHOWN else []
    return ", ".join([*shown, *more])
