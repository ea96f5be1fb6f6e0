"""The outline of a group: what a comparison with other groups needs of it, in one row."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.intervals import bridged
from kip848_records.replay.diagnosis.limits import HOUR, MINUTE
from kip848_records.replay.group.vocabulary import EMPTIED
from kip848_records.replay.rows import GroupOutline

if TYPE_CHECKING:
    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.observed import Rebalance
    from kip848_records.replay.rows import Row

_BY_TOPICS: Final = frozenset({"topic_metadata_changed", "subscription_changed", "unknown"})
_MOST: Final = 1_000
"""Hosts, topics and runs of a group: more make no difference between it and others."""

_ACROSS_RUN: Final = 10 * MINUTE
"""A group that has just begun to have members rebalances for that."""
_ACROSS_EMPTY: Final = 5 * MINUTE
"""Members that are back so soon had not ended."""
_ACROSS_CALM: Final = HOUR
_ACROSS_OTHERS: Final = 6
"""A group that rebalances so often in an hour has a trouble of its own."""


def outline(history: GroupHistory, group_id: str) -> Row:
    """Return the runs of a group, its hosts and topics, and the rebalances that may be due to a cause outside of it."""
    runs = history.runs[-_MOST:]
    hosts = {stay.host for stay in history.stays if stay.host is not None}
    topics = {topic for stay in history.stays for topic in stay.topics}
    for resolution in history.rows.resolutions.values():
        topics |= resolution.topics
    row: Row = GroupOutline(
        group_id=group_id,
        partition=history.partition,
        hosts=tuple(sorted(hosts)[:_MOST]),
        topics=tuple(sorted(topics)[:_MOST]),
        run_begins=tuple(run.begin for run in runs),
        run_ends=tuple(run.end for run in runs),
        begins=tuple((row.began_at, row.began_offset, *_triggers(row, history)) for row in _counted(history)),
    )
    return row


def _counted(history: GroupHistory) -> list[Rebalance]:
    """Return the rebalances that count: the group had members for some time, and seldom rebalances.

    One that emptied the group counts if members are back soon, as after a network that was cut. Else its work was done.
    """
    runs = bridged(history.runs, _ACROSS_EMPTY)
    begins = [run.begin for run in runs]
    recent: deque[int] = deque()
    found = []
    for row in history.rebalances:
        while recent and recent[0] < row.began_at - _ACROSS_CALM:
            recent.popleft()
        place = bisect_right(begins, row.began_at) - 1
        if place >= 0 and row.began_at - begins[place] >= _ACROSS_RUN and len(recent) < _ACROSS_OTHERS:
            end = runs[place].end
            is_over = row.outcome == EMPTIED and end is not None and end <= (row.ended_at or row.began_at)
            if not is_over:
                found.append(row)
        recent.append(row.began_at)
    return found


def _triggers(row: Rebalance, history: GroupHistory) -> tuple[tuple[str, ...], bool]:
    """Return the hosts of the members that began a rebalance, and whether a topic may have."""
    ids = set(row.trigger_member_ids or ())
    hosts = {history.host_of[member_id] for member_id in ids if member_id in history.host_of}
    return tuple(sorted(hosts)), not _BY_TOPICS.isdisjoint(row.causes or ())
