"""The partitions of a share group's topics by state: `share_partition_state`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.lasting import Lasting
from kip848_records.replay.group.vocabulary import INITIALIZED, INITIALIZING
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import SHARE_PARTITION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.share.values import ShareStateValue

_write: Final = row_writer(SHARE_PARTITION_STATE)

DELETING: Final = "deleting"


class _Interval(NamedTuple):
    """Partitions of a topic that are in one state. `partitions` is None for a topic that is deleted."""

    topic: str | None
    partitions: tuple[int, ...] | None
    at: int | None
    offset: int


class SharePartitionStates(Lasting[tuple[str, str], _Interval]):
    """The open intervals of an incarnation, by topic id and state. One topic may be in two states at once."""

    def change(self, value: ShareStateValue | None, offset: int) -> None:
        """End and begin intervals with a type 15 at this offset; None for a tombstone."""
        at = self._context.operation.at
        now = {} if value is None else {key: _Interval(*each, at, offset) for key, each in _topics(value)}
        for key, interval in list(self._open.items()):
            if key not in now or now[key].partitions != interval.partitions:
                self.end(key)
        for key, interval in now.items():
            self._open.setdefault(key, interval)

    def _emit(
        self, key: tuple[str, str], begin: _Interval, at: int | None, _: int | None, *, has_end: bool = True
    ) -> None:
        context, interval = self._context, begin
        topic_id, state = key
        duration_ms = ms_between(interval.at, at if has_end else context.captured_at)
        _write(
            context,
            interval.offset,
            topic_id=topic_id,
            topic=interval.topic,
            state=state,
            partitions=interval.partitions,
            from_at=interval.at,
            from_offset=interval.offset,
            to_at=at,
            duration_ms=duration_ms,
            clock_skew=context.operation.is_skewed(interval.offset, duration_ms),
            has_end=has_end,
        )


def _topics(
    value: ShareStateValue,
) -> Iterable[tuple[tuple[str, str], tuple[str | None, tuple[int, ...] | None]]]:
    for state, topics in ((INITIALIZING, value.initializing), (INITIALIZED, value.initialized)):
        for topic in topics:
            partitions = tuple(sorted(number & 0xFFFFFFFF for number in topic.partitions))
            yield (topic.topic_id, state), (topic.name, partitions)
    for topic in value.deleting:
        yield (topic.topic_id, DELETING), (topic.name, None)
