"""The handovers of a consumer group's partitions, and those that a rebalance stopped.

The latter are what `consumption_stop` compares with offset commits. The replay emits them only if the log has commits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kip848_records.kinds import CONSUMER
from kip848_records.replay.group.coverage import NEVER
from kip848_records.replay.group.vocabulary import MOVED, REVOKED
from kip848_records.replay.modern.ownership import Ownership

if TYPE_CHECKING:
    from kip848_records.replay.modern.timelines.open_rebalance import OpenRebalance


class ConsumerOwnership(Ownership):
    """The owners of an incarnation's partitions."""

    def _emit(self, partition: int, begin: int, head: tuple[Any, ...], *, has_end: bool = True) -> None:
        context = self._context
        topic_id, number = context.numbers.name(partition)
        row = (context.incarnation, topic_id, number, *head)
        tail = (self._is_skewed(begin, head), CONSUMER, None, None, None)
        context.emit("PartitionHandover", begin, row, has_end=has_end, tail=tail)
        acquired_offset, from_member, _, released_offset, to_member, *_, epoch = head
        # A gap that is open at the end may yet end with a new owner.
        is_decided = has_end or to_member is not None
        if context.reads_commits and from_member is not None and is_decided and not self._is_ending:
            moved = None if to_member is None else (epoch, acquired_offset)
            self._emit_stopped(partition, self._rebalances.open, begin, moved, released_offset)

    def _emit_stopped(
        self,
        unit: int,
        rebalance: OpenRebalance | None,
        begin: int,
        moved: tuple[int, int] | None,
        released_offset: int | None,
    ) -> None:
        """Note a handover in a consumer group. `moved`: the new owner's epoch and record; None: it has none."""
        topic_id, number = self._context.numbers.name(unit)
        began_offset, round_before, last_epoch, is_one_round = NEVER, NEVER, None, False
        if rebalance is not None:
            began_offset, round_before, last_epoch = (
                rebalance.began_offset,
                rebalance.round_before,
                rebalance.last_epoch,
            )
            is_one_round = rebalance.epochs == 1
        kind = REVOKED if moved is None else MOVED
        epoch, offset = (last_epoch, released_offset) if moved is None else moved
        names = (CONSUMER, epoch, topic_id, None, number, kind)
        self._context.emit(
            "StoppedPartition",
            begin,
            (self._context.incarnation, *names, offset, began_offset, round_before, is_one_round),
        )
