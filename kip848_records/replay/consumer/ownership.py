"""The handovers of a consumer group's partitions, and those that a rebalance stopped.

The latter are what `consumption_stop` compares with offset commits. The replay emits them only if the log has commits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONSUMER
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.vocabulary import MOVED, REVOKED
from kip848_records.replay.modern.handover import Handover
from kip848_records.replay.modern.ownership import Ownership
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import PARTITION_HANDOVER, STOPPED_PARTITION

if TYPE_CHECKING:
    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.timelines.open_rebalance import OpenRebalance

_write: Final = row_writer(PARTITION_HANDOVER, "topic", "unowned_max_ms", "generation", handover=Handover._fields)
_write_stopped: Final = row_writer(STOPPED_PARTITION, "topic")


class ConsumerOwnership(Ownership):
    """The owners of an incarnation's partitions."""

    def _emit(
        self, partition: int, begin: int, handover: Handover, member: Member | None, *, has_end: bool = True
    ) -> None:
        context = self._context
        topic_id, number = context.numbers.name(partition)
        _write(
            context,
            begin,
            group_type=CONSUMER,
            topic_id=topic_id,
            partition=number,
            group_epoch=None if member is None else member.epoch,
            handover=handover,
            has_end=has_end,
        )
        # A gap that is open at the end may yet end with a new owner.
        is_decided = has_end or member is not None
        if context.reads_commits and handover.from_member is not None and is_decided and not self._is_ending:
            self._emit_stopped(partition, self._rebalances.open, begin, handover.released_offset, member)

    def _emit_stopped(
        self, partition: int, rebalance: OpenRebalance | None, begin: int, released: int | None, member: Member | None
    ) -> None:
        """Write the partition of a handover, which a rebalance stopped until its new owner's record, if it has one."""
        topic_id, number = self._context.numbers.name(partition)
        began_offset, last_epoch, is_one_round = NEVER, None, False
        if rebalance is not None:
            began_offset, last_epoch = rebalance.began_offset, rebalance.last_epoch
            is_one_round = rebalance.epochs == 1
        kind, epoch, offset = REVOKED, last_epoch, released
        if member is not None:
            kind, epoch, offset = MOVED, member.epoch, member.current_offset
        _write_stopped(
            self._context,
            begin,
            group_type=CONSUMER,
            epoch=epoch,
            topic_id=topic_id,
            partition=number,
            kind=kind,
            offset=offset,
            rebalance_offset=began_offset,
            is_one_round=is_one_round,
        )
