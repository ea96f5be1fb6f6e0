"""The groups that became stuck, or recovered, since the run before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.states import ASSIGNING, RECONCILING, UNKNOWN
from kip848_records.report.sql import query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kip848_records.queries.tables import Tables

STATES: Final = {"assigning": ASSIGNING, "reconciling": RECONCILING}
"""The parameters of texts that name the states of a stuck group."""


class Changed(NamedTuple):
    """A group that changed; `stuck_ms`: for how long it has been stuck, at least; None if the log does not show it."""

    group_id: str
    stuck_ms: int | None


@dataclass(frozen=True)
class Changes:
    """The changes of a cluster's groups between the captures of two runs.

    `is_first`: no run came before, so that nothing could change. `newly_stuck`: the group was not stuck then.
    `unknown`: it is stuck now, but its state at that time is not in the log. `recovered`: it was stuck then, and is not
    now.
    """

    is_first: bool
    newly_stuck: Sequence[Changed]
    unknown: Sequence[Changed]
    recovered: Sequence[Changed]


def changes_since_last_run(tables: Tables, cluster: str, run: int, captured_at: datetime) -> Changes:
    """Return what changed in a cluster between the run before `run` and `run`, which read the log at `captured_at`.

    The groups that have been stuck for longest come first.
    """
    rows = tables.rows(query("since_last_run"), cluster, run=run, captured=captured_at, unknown=UNKNOWN, **STATES)
    captured_ms = round(captured_at.timestamp() * 1000)
    found: dict[str, list[Changed]] = {"newly_stuck": [], "unknown": [], "recovered": []}
    for row in rows:
        if row.change is not None:
            stuck_ms = None if row.since_ms is None else max(0, captured_ms - row.since_ms)
            found[row.change].append(Changed(row.group_id, None if row.change == "recovered" else stuck_ms))
    return Changes(is_first=rows[0].earlier_ms is None, **found)
