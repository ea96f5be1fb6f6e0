"""Queries the limits of the ages of open groups: `results.CaptureLimits`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.expectations.results import CaptureLimits
from kip848_records.queries.texts import completed

if TYPE_CHECKING:
    from kip848_records.queries.tables import Tables

_CUT: Final = "SELECT partition, captured_at FROM partition_history WHERE NOT is_read_to_end ORDER BY partition"
_OPEN: Final = "SELECT count(*) AS groups FROM stuck_now WHERE is_stuck OR is_away"


def capture_limits(tables: Tables, cluster: str) -> CaptureLimits:
    """Return what limits the ages of a cluster's open groups."""
    run = next(run for run in tables.runs() if run.cluster == cluster)
    if not run.is_copy:
        return CaptureLimits(known_to={row.partition: row.captured_at for row in tables.rows(_CUT, cluster)})
    is_open = not run.has_capture_time and tables.rows(completed(_OPEN), cluster)[0].groups > 0
    return CaptureLimits(is_newest_record=is_open)
