"""The groups that became overdue, or recovered, since the run before: stuck for longer than an expectation allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kip848_records.expectations.results import OFF
from kip848_records.report.sql import query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from kip848_records.expectations.files import Setting
    from kip848_records.queries.tables import Row, Tables


class Changed(NamedTuple):
    """A group that changed; `limited_ms`: for how long, at least, it has been in its state; None: not known."""

    group_id: str
    limited_ms: int | None


@dataclass(frozen=True)
class Changes:
    """The changes of a cluster's groups between the captures of two runs.

    `is_first`: no run came before, so that nothing could change. `newly_overdue`: the group was not overdue then.
    `unknown`: it is overdue now, but its state at that time is not in the log. `recovered`: it was overdue then, has
    left that state, and is not overdue now.
    """

    is_first: bool
    newly_overdue: Sequence[Changed]
    unknown: Sequence[Changed]
    recovered: Sequence[Changed]


def changes_of_clusters(
    tables: Tables, clusters: Iterable[str], settings: Mapping[str, Setting]
) -> Mapping[str, Changes]:
    """Return the changes of each cluster by its name, as `changes_since_last_run` does; none without a capture time."""
    runs = [run for run in tables.runs() if run.cluster in set(clusters)]
    return {
        run.cluster: changes_since_last_run(tables, run.cluster, run.run, run.captured_at, settings)
        for run in runs
        if run.captured_at is not None
    }


def changes_since_last_run(
    tables: Tables, cluster: str, run: int, captured_at: datetime, settings: Mapping[str, Setting]
) -> Changes:
    """Return what changed in a cluster between the run before `run` and `run`, which read the log at `captured_at`.

    A group is overdue if it violates `group_stable` or `streams_ready` by these settings: it has been in its state for
    longer than the limit, and the expectation is not off for it. The groups that are overdue for longest come first.
    """
    rows = tables.rows(query("since_last_run"), cluster, run=run, captured=captured_at)
    found: dict[str, list[Changed]] = {"newly_overdue": [], "unknown": [], "recovered": []}
    for row in rows:
        if row.group_id is not None and (change := _change(row, settings)) is not None:
            found[change].append(Changed(row.group_id, None if change == "recovered" else _limited_ms(row)))
    return Changes(is_first=rows[0].is_first, **found)


def _change(row: Row, settings: Mapping[str, Setting]) -> str | None:
    """Return what changed about a group, a row of `since_last_run.sql`: the name of a field of `Changes`.

    The two captures are those of the group's partition: `earlier_ms` and `captured_ms`, in ms since 1970.
    """
    was_overdue = _is_overdue(row.limited_by_before, row, row.limited_since_before_ms, row.earlier_ms, settings)
    if not _is_overdue(row.limited_by, row, row.limited_since_ms, row.captured_ms, settings):
        # If no expectation limits the state, the log may not show whether the group left the one before.
        is_in_other_state = row.limited_by not in {None, row.limited_by_before}
        return "recovered" if was_overdue and (row.is_released or is_in_other_state) else None
    if row.earlier_ms is None or not row.is_known_before:
        return "unknown"
    return None if was_overdue and not row.is_released else "newly_overdue"


def _limited_ms(row: Row) -> int | None:
    is_known = row.limited_since_ms is not None and row.captured_ms is not None
    return row.captured_ms - row.limited_since_ms if is_known else None


def _is_overdue(
    expectation: str | None, row: Row, since_ms: int | None, at_ms: int | None, settings: Mapping[str, Setting]
) -> bool:
    """Return whether a group that is in a state since a time violated the expectation at another time.

    `settings` limit how long a group may be in a state.
    """
    if expectation is None or at_ms is None or since_ms is None:
        return False
    setting = settings[expectation].of_group(row.group_id)
    return setting.severity != OFF and at_ms - since_ms > setting.limits["max_seconds"] * 1000
