"""What changed since the run before: groups that became overdue or recovered, troubles over time that began or ended.

An overdue group is stuck for longer than an expectation allows.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.expectations.results import ERROR, OFF, WARN
from kip848_records.report.sql import query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kip848_records.expectations.files import Setting
    from kip848_records.queries.tables import Row, Tables


_OVER: Final = {"recovered", "settled"}


class Changed(NamedTuple):
    """A group that changed; `limited_ms`: for how long, at least, it has been in its state; None: not known."""

    group_id: str
    limited_ms: int | None


class Trouble(NamedTuple):
    """A trouble over time, a row of `diagnosis` that is an alarm.

    `group_id`: None for a trouble of several groups. `severity`: ``error`` or ``warn``, as in a check. `subject`: the
    struct of the row. `lasted_ms`: from its first event to the capture or to its last event; None: not known.
    """

    group_id: str | None
    pattern: str
    severity: str
    subject: dict[str, Any]
    lasted_ms: int | None
    at_least: bool


@dataclass(frozen=True)
class Changes:
    """The changes of a cluster's groups between the captures of two runs.

    `is_first`: no run came before, so that nothing could change. `newly_overdue`: the group was not overdue then.
    `unknown`: it is overdue now, but its state at that time is not in the log. `undated`: it is stuck since an unknown
    time, so that it may be overdue, and this was not so then. `recovered`: it was overdue then, has left that state,
    and is not overdue now. `settled`: it was stuck then, not overdue, and is not stuck now. `began`: troubles over time
    that were not known then, and are present; at the first run all that are present. `ended`: they were known then, and
    have ended. `passed`: they began and ended since then. The worst trouble comes first.
    """

    is_first: bool
    newly_overdue: Sequence[Changed]
    unknown: Sequence[Changed]
    undated: Sequence[Changed]
    recovered: Sequence[Changed]
    settled: Sequence[Changed]
    began: Sequence[Trouble]
    ended: Sequence[Trouble]
    passed: Sequence[Trouble]

    @property
    def is_any(self) -> bool:
        """Whether anything changed that is worth a message: that a short wait ended is not."""
        groups = self.newly_overdue or self.unknown or self.undated or self.recovered
        return bool(groups or self.began or self.ended or self.passed)


def changes_of_clusters(
    tables: Tables, clusters: Iterable[str], settings: Mapping[str, Setting]
) -> Mapping[str, Changes]:
    """Return the changes of each cluster by its name, as `changes_since_last_run` does; none without a capture time."""
    runs = [run for run in tables.runs() if run.cluster in set(clusters)]
    return {
        run.cluster: changes_since_last_run(tables, run.cluster, settings)
        for run in runs
        if run.captured_at is not None
    }


def changes_since_last_run(tables: Tables, cluster: str, settings: Mapping[str, Setting]) -> Changes:
    """Return what changed in a cluster between the run before the last one and the last one.

    A group is overdue if it violates `group_stable` or `streams_ready` by these settings: it has been in its state for
    longer than the limit, and the expectation is not off for it. The groups that are overdue for longest come first. A
    trouble counts if the expectation of its pattern is not off for its group, which also limits its severity.
    """
    rows = tables.rows(query("since_last_run"), cluster)
    groups: dict[str, list[Changed]] = defaultdict(list)
    for row in rows:
        if row.group_id is not None and (change := _change(row, settings)) is not None:
            groups[change].append(Changed(row.group_id, None if change in _OVER else row.limited_ms))
    troubles = _troubles(tables, cluster, settings)
    return Changes(
        is_first=rows[0].is_first,
        newly_overdue=groups["newly_overdue"],
        unknown=groups["unknown"],
        undated=groups["undated"],
        recovered=groups["recovered"],
        settled=groups["settled"],
        began=troubles["began"],
        ended=troubles["ended"],
        passed=troubles["passed"],
    )


def _troubles(tables: Tables, cluster: str, settings: Mapping[str, Setting]) -> dict[str, list[Trouble]]:
    """Return the troubles of `Changes`, by the name of the field; a pattern without an expectation is no alarm."""
    found: dict[str, list[Trouble]] = {"began": [], "ended": [], "passed": []}
    alarms = (row for row in tables.rows(query("trouble_news"), cluster) if row.pattern in settings)
    for row in alarms:
        setting = settings[row.pattern]
        severity = (setting if row.group_id is None else setting.of_group(row.group_id)).severity
        if severity != OFF:
            change = "began" if row.is_present else "ended" if row.was_known else "passed"
            told = severity if row.severity == ERROR else WARN
            found[change].append(Trouble(row.group_id, row.pattern, told, row.subject, row.lasted_ms, row.at_least))
    # A setting may make an error a warning.
    return {change: sorted(troubles, key=lambda each: each.severity != ERROR) for change, troubles in found.items()}


def _change(row: Row, settings: Mapping[str, Setting]) -> str | None:
    """Return what changed about a group, a row of `since_last_run.sql`: the name of a field of `Changes`.

    `earlier_ms`: when its partition was captured before, in ms since 1970.
    """
    before_ms = row.limited_before_ms
    was_overdue = is_overdue(row.group_id, row.limited_by_before, before_ms, settings)
    if row.limited_by is not None and row.limited_ms is None:
        was_undated = row.limited_by_before is not None and before_ms is None and not row.is_released
        is_off = settings[row.limited_by].of_group(row.group_id).severity == OFF
        return None if was_undated or is_off else "undated"
    if not is_overdue(row.group_id, row.limited_by, row.limited_ms, settings):
        # If no expectation limits the state, the log may not show whether the group left the one before.
        is_in_other_state = row.limited_by not in {None, row.limited_by_before}
        if was_overdue:
            return "recovered" if row.is_released or is_in_other_state else None
        return "settled" if row.limited_by is None and row.limited_by_before is not None and row.is_released else None
    if row.earlier_ms is None or not row.is_known_before:
        return "unknown"
    return None if was_overdue and not row.is_released else "newly_overdue"


def is_overdue(group_id: str, expectation: str | None, limited_ms: int | None, settings: Mapping[str, Setting]) -> bool:
    """Return whether a group has been in its state for longer than the expectation allows that limits this state.

    `expectation`, `limited_ms`: ``limited_by`` of `stuck_now`, and its ``limited_ms``. False if one is
    None: the expectation finds no violation then, either.
    """
    if expectation is None or limited_ms is None:
        return False
    setting = settings[expectation].of_group(group_id)
    return setting.severity != OFF and limited_ms > setting.limits["max_seconds"] * 1000
