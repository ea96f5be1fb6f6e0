"""What the simulator knows of partitions that change their owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.member import AWAY_EPOCH
from kip848_records.simulate.broker.operation import Bump
from kip848_records.simulate.truth.rows import OBSERVED, Row, minus

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation


@dataclass
class _Released:
    by: str | None
    at: int | None
    wanted: bool


class HandoverTruth:
    """Rows of `partition_handover`, one per acquisition."""

    name = "partition_handover"

    def __init__(self, group_id: str) -> None:
        self.rows: list[Row] = []
        self._group_id = group_id
        self._incarnation = 0
        self._free: dict[TopicPartition, _Released] = {}

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """Note what was released, and write a row for what was taken by another than before."""
        if not isinstance(group, ConsumerGroup):
            return
        self._incarnation = incarnation
        for tp, before in operation.owners_before.items():
            now = group.owners.get(tp)
            if before is not None and now != before and tp not in self._free:
                self._free[tp] = _Released(before, operation.timestamp, wanted=False)
            if now is not None and now != before:
                self._take(tp, now, group.members[now].epoch, operation.timestamp)
        for member_id in operation.current:
            member = group.members.get(member_id)
            if member is not None and member.epoch == AWAY_EPOCH:
                for tp in member.assigned:
                    self._free[tp] = _Released(member_id, operation.timestamp, wanted=False)
        self._see_wanted(operation, group)

    def deletion(self, operation: Operation, incarnation: int) -> None:  # noqa: ARG002
        """Forget what nobody took: no row crosses an incarnation."""
        self._free = {}

    def close(self, captured_at: int) -> None:
        """What nobody took has no row."""

    def _take(self, tp: TopicPartition, owner: str, epoch: int, at: int) -> None:
        released = self._free.pop(tp, _Released(None, None, wanted=False))
        self.rows.append(
            {
                "group_id": self._group_id,
                "incarnation": self._incarnation,
                "topic_id": tp[0],
                "partition": tp[1],
                "from_member": released.by,
                "released_at": released.at,
                "to_member": owner,
                "acquired_at": at,
                "unowned_ms": minus(at, released.at),
                "wanted": released.wanted,
                "group_epoch": epoch,
                "history": OBSERVED,
            }
        )

    def _see_wanted(self, operation: Operation, group: ConsumerGroup) -> None:
        """See which of the free partitions are in somebody's target; those that nobody ever owned are free as well."""
        if any(not isinstance(event, Bump) for event in operation.epochs):
            for tp in sorted(group.target_owners.keys() - group.owners.keys() - self._free.keys()):
                self._free[tp] = _Released(None, None, wanted=False)
        for tp, released in self._free.items():
            released.wanted = released.wanted or tp in group.target_owners
