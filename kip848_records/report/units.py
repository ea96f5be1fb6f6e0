"""What members have of a topic, a connector or a subtopology, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONNECT, STREAMS
from kip848_records.text import ranges_text

if TYPE_CHECKING:
    from collections.abc import Collection

CONNECTOR: Final = -1
"""The number by which Connect's assignments name the connector itself, among its tasks."""


def units_text(kind: str, place: str, numbers: Collection[int | None] | None) -> str:
    """Return what a member has of one topic, connector or subtopology.

    Partitions: ``orders 0-3``. A connector and its tasks: ``sink: connector, tasks 0-1``. Tasks of a subtopology:
    ``0: 2-3``.
    """
    if kind != CONNECT:
        return f"{place}{':' if kind == STREAMS else ''} {ranges_text(numbers)}"
    tasks = [number for number in numbers or () if number not in {CONNECTOR, None}]
    named = ["connector"] if CONNECTOR in (numbers or ()) else []
    named += [f"{'task' if len(tasks) == 1 else 'tasks'} {ranges_text(tasks)}"] if tasks else []
    return f"{place}: {', '.join(named)}"
