"""Up to when the log of a cluster is known, where that is not the time of its capture for all of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kip848_records.expectations.sql import relation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from kip848_records.queries.tables import Tables

_CUT: Final = "SELECT partition, captured_at FROM partition_history WHERE NOT is_read_to_end ORDER BY partition"
_OPEN: Final = f"SELECT count(*) AS groups FROM ({relation('stuck_now')}) AS stuck WHERE is_stuck OR is_away"  # noqa: S608


@dataclass(frozen=True)
class CaptureLimits:
    """What limits the ages of open groups.

    `is_newest_record`: the time of the copy is not known, so ages count to the newest record. It matters only if some
    group is open, so it is false if there is none. `known_to`: the partitions of a live topic that an open transaction
    kept from being read to their end, and up to when each is known; None if nothing of it is.
    """

    is_newest_record: bool = False
    known_to: Mapping[int, datetime | None] = field(default_factory=dict)


def capture_limits(tables: Tables, cluster: str) -> CaptureLimits:
    """Return what limits the ages of a cluster's open groups."""
    run = next(run for run in tables.runs() if run.cluster == cluster)
    if not run.is_copy:
        return CaptureLimits(known_to={row.partition: row.captured_at for row in tables.rows(_CUT, cluster)})
    is_open = not run.has_capture_time and tables.rows(_OPEN, cluster)[0].groups > 0
    return CaptureLimits(is_newest_record=is_open)
