"""Stays of partitions: how they relate, and as lines of text."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from kip848_records.replay.rows import OwnedPartition
from tests.replay.logs import Rows
from tests.replay.stories import dash, since_start


def overlapping(rows: Iterable[OwnedPartition]) -> list[tuple[Any, Any]]:
    """Stays of one partition that are not one behind the other, and those that end before they begin."""
    stays: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for row in rows:
        stays[row.offsets_partition, row.group_id, row.topic_id, row.topic, row.partition].append(row)
    wrong = []
    for of_partition in stays.values():
        in_order = sorted(of_partition, key=lambda row: (row.acquired_offset, row.incarnation))
        wrong += [(row, row) for row in in_order if row.acquired_offset > _end(row)]
        wrong += [(row, behind) for row, behind in pairwise(in_order) if _end(row) > behind.acquired_offset]
    return wrong


def lines(rows: Rows) -> tuple[str, ...]:
    """The stays of a story by partition and offset, each with both offsets and times."""
    of_partition = sorted(rows["OwnedPartition"], key=lambda row: (row.partition, row.acquired_offset))
    return tuple(map(_line, of_partition))


def _line(row: OwnedPartition) -> str:
    since = f"{row.acquired_offset} at {since_start(row.acquired_at)}"
    until = "-" if row.released_offset is None else f"{row.released_offset} at {since_start(row.released_at)}"
    history = "" if row.history == "observed" else f", {row.history}"
    topic = dash(row.topic_id or row.topic)
    return f"{row.incarnation} {row.group_type} {topic}-{row.partition} {row.member_id} {since} to {until}{history}"


def _end(row: OwnedPartition) -> float:
    return float("inf") if row.released_offset is None else row.released_offset
