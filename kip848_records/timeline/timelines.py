"""Every timeline of a log, each step computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.timeline.epochs import epoch_timeline
from kip848_records.timeline.handovers import partition_handover
from kip848_records.timeline.intervals import group_state_timeline
from kip848_records.timeline.lags import rebalance_lag
from kip848_records.timeline.operations import EVENT_TYPES
from kip848_records.timeline.present import judged_groups, last_states

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pyspark.sql import DataFrame


def timelines(
    events: DataFrame,
    topics: DataFrame,
    captured_at: datetime | None,
    keep: Callable[[DataFrame, str], DataFrame],
) -> dict[str, DataFrame]:
    """Return the rows of each timeline, by the name of its table.

    Args:
        events: the rows of `group_events`.
        topics: ``topic_id, topic``, each id once.
        captured_at: when the log was copied: how old what is still open is counts to it.
        keep: is given rows that all timelines are made of, and a name for them. It returns the same rows, stored so
            that they need not be computed again.
    """
    events = keep(events, "events")
    judged = judged_groups(events)
    return {
        "epoch_timeline": epoch_timeline(judged),
        "rebalance_lag": rebalance_lag(events, topics, captured_at),
        "partition_handover": partition_handover(events, topics),
        "group_state_timeline": group_state_timeline(judged, captured_at),
        "group_state": last_states(judged),
        "group_event": events.where(F.col("key_type").isin(*EVENT_TYPES) & ~F.col("of_snapshot")),
    }
