"""The stays of partitions: the times in which one member owns one without a break.

The pass over offset commits takes them as marks. The replay emits them only if the log has offset commits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.group.lasting import Lasting
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import OWNED_PARTITION

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.records import AnyMemberValue, ClassicMemberValue

    Names = Callable[[int], Iterable[tuple[str | None, str | None, int]]]
    """Returns the topic partitions of a unit: topic id or name, the other one None, and the partition's number."""

_write: Final = row_writer(OWNED_PARTITION)


class Acquisition(NamedTuple):
    """How a member acquired units; `depends_on`: the first offset on which that depends, -1 if it is unknown."""

    member_id: str
    value: AnyMemberValue | ClassicMemberValue | None
    at: int | None
    offset: int
    depends_on: int


class OwnedPartitions(Lasting[int, Acquisition]):
    """The open stays of a group. A unit is a partition, or the active task of a streams group."""

    def __init__(self, context: Context, group_type: str, names: Names) -> None:
        super().__init__(context)
        self._group_type = group_type
        self._names = names

    def own(self, unit: int, acquired: Acquisition) -> None:
        """Let a member own a unit: its stay goes on, or that of another ends where this one begins."""
        before = self._open.get(unit)
        if before is not None:
            if before.member_id == acquired.member_id:
                return
            self._emit(unit, before, acquired.at, acquired.offset)
        self._open[unit] = acquired

    def keep(self, units: Collection[int], offset: int) -> None:
        """End the stays of all other units with the record at this offset."""
        for unit in [unit for unit in self._open if unit not in units]:
            self.end(unit, offset)

    def begin_again(self) -> None:
        """End all stays with the operation, and begin them again: units have other partitions from here on."""
        operation = self._context.operation
        at, last = operation.at, operation.last
        for unit, acquired in self._open.items():
            self._emit(unit, acquired, at, last)
            self._open[unit] = acquired._replace(at=at, offset=last, depends_on=last)

    def lose_members(self, member_ids: Collection[str], but: Collection[int]) -> None:
        """End the stays of members, for all that is known, whose records could not be read; not those of some units."""
        operation = self._context.operation
        for unit, acquired in list(self._open.items()):
            if acquired.member_id in member_ids and unit not in but:
                del self._open[unit]
                self._emit(unit, acquired, operation.at, operation.last, has_end=False)

    def _emit(self, key: int, begin: Acquisition, at: int | None, offset: int | None, *, has_end: bool = True) -> None:
        context, acquired, value = self._context, begin, begin.value
        for topic_id, topic, partition in self._names(key):
            _write(
                context,
                acquired.depends_on,
                group_type=self._group_type,
                topic_id=topic_id,
                topic=topic,
                partition=partition,
                member_id=acquired.member_id,
                instance_id=None if value is None else value.instance_id,
                client_id=None if value is None else value.client_id,
                rebalance_timeout_ms=None if value is None else value.rebalance_timeout_ms,
                acquired_at=acquired.at,
                acquired_offset=acquired.offset,
                released_at=at,
                released_offset=offset,
                has_end=has_end,
            )
