"""The partitions of a share group's topics by state: `share_partition_state`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.group.context import ms_between
from kip848_records.replay.rows import new_row
from kip848_records.specs.share_partition_state import SHARE_PARTITION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.share.values import ShareStateValue

_new_row: Final = new_row(SHARE_PARTITION_STATE)

INITIALIZING: Final = "initializing"
INITIALIZED: Final = "initialized"
DELETING: Final = "deleting"


class _Interval(NamedTuple):
    """Partitions of a topic that are in one state. `partitions` is None for a topic that is deleted."""

    topic: str | None
    partitions: tuple[int, ...] | None
    at: int | None
    offset: int


class SharePartitionStates:
    """The open intervals of an incarnation, by topic id and state. One topic may be in two states at once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._open: dict[tuple[str, str], _Interval] = {}

    def change(self, value: ShareStateValue | None, offset: int) -> None:
        """End and begin intervals with a type 15 at this offset; None for a tombstone."""
        at = self._context.operation.at
        now = {} if value is None else {key: _Interval(*each, at, offset) for key, each in _topics(value)}
        for key, interval in list(self._open.items()):
            if key not in now or now[key].partitions != interval.partitions:
                del self._open[key]
                self._emit(key, interval, at, has_end=True)
        for key, interval in now.items():
            self._open.setdefault(key, interval)

    def finish(self) -> None:
        """Write the intervals that are open at the end of the log."""
        for key, interval in self._open.items():
            self._emit(key, interval, None, has_end=False)

    def _emit(self, key: tuple[str, str], interval: _Interval, to_at: int | None, *, has_end: bool) -> None:
        context = self._context
        topic_id, state = key
        duration_ms = ms_between(interval.at, to_at if has_end else context.captured_at)
        row = _new_row(
            context,
            topic_id=topic_id,
            topic=interval.topic,
            state=state,
            partitions=interval.partitions,
            from_at=interval.at,
            from_offset=interval.offset,
            to_at=to_at,
            duration_ms=duration_ms,
            clock_skew=context.operation.is_skewed(interval.offset, duration_ms),
        )
        context.emit(row, interval.offset, has_end=has_end)


def _topics(
    value: ShareStateValue,
) -> Iterable[tuple[tuple[str, str], tuple[str | None, tuple[int, ...] | None]]]:
    for state, topics in ((INITIALIZING, value.initializing), (INITIALIZED, value.initialized)):
        for topic in topics:
            partitions = tuple(sorted(number & 0xFFFFFFFF for number in topic.partitions))
            yield (topic.topic_id, state), (topic.name, partitions)
    for topic in value.deleting:
        yield (topic.topic_id, DELETING), (topic.name, None)
