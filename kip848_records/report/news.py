"""The news of an audit as a message: which groups became overdue, and which recovered, since the run before."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.report.terminal import count_text, span_text
from kip848_records.report.words import limits_text
from kip848_records.tables.location import place_arguments
from kip848_records.text import printable
from kip848_records.times import utc_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kip848_records.expectations.results import CaptureLimits
    from kip848_records.queries.tables import Run, Tables
    from kip848_records.report.changes import Changed, Changes

_SHOWN: Final = 10


class News(NamedTuple):
    """A message: a title of one line, and a text of several."""

    title: str
    text: str


def news(tables: Tables, changes: Mapping[str, Changes], limits: Mapping[str, CaptureLimits]) -> News | None:
    """Return the changes of clusters since the run before as a message; None if nothing changed.

    At the first audit of a cluster every overdue group is news. `limits`: what limits the ages of groups, by cluster.
    """
    found = [(run, changes[run.cluster]) for run in tables.runs() if run.cluster in changes]
    changed = [(run, each) for run, each in found if each.newly_overdue or each.unknown or each.recovered]
    if not changed:
        return None
    overdue = sum(len(each.newly_overdue) + len(each.unknown) for _, each in changed)
    recovered = sum(len(each.recovered) for _, each in changed)
    parts = [f"{count_text(overdue, 'group')} overdue"] if overdue else []
    parts += [f"{count_text(recovered, 'group')} recovered"] if recovered else []
    title = f"kip848: {', '.join(parts)} ({', '.join(printable(run.cluster) for run, _ in changed)})"
    return News(title, "\n".join(line for run, each in changed for line in _lines(tables.shown, run, each, limits)))


def _lines(location: str, run: Run, changes: Changes, limits: Mapping[str, CaptureLimits]) -> Iterator[str]:
    assert run.captured_at is not None  # noqa: S101 - else there are no changes
    yield f"Cluster {printable(run.cluster)}, captured at {utc_text(run.captured_at)}"
    if run.cluster in limits:
        yield from limits_text(limits[run.cluster])
    unknown = "Overdue at the first audit" if changes.is_first else "Overdue now, state at the audit before not known"
    for what, groups in (("Newly overdue", changes.newly_overdue), (unknown, changes.unknown)):
        if groups:
            yield f"{what}: {_groups(groups)}"
    if changes.recovered:
        yield f"Recovered: {_groups(changes.recovered)}"
    if overdue := [*changes.newly_overdue, *changes.unknown]:
        group = shlex.quote(overdue[0].group_id)
        named = f"{place_arguments(location)} --cluster {shlex.quote(run.cluster)}"
        yield printable(f"Next: kip848 explain {named} --group={group}")


def _groups(groups: Sequence[Changed]) -> str:
    shown = [
        printable(each.group_id)
        + (f" ({span_text(each.limited_ms, is_minimum=True)})" if each.limited_ms is not None else "")
        for each in groups[:_SHOWN]
    ]
    more = [f"{len(groups) - _SHOWN:,} more"] if len(groups) > _SHOWN else []
    return ", ".join([*shown, *more])
