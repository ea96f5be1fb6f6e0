"""The partitions of a share group: which are wanted, and which members have them, several at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.modern.handover import Gap
from kip848_records.replay.modern.member import NOTHING
from kip848_records.replay.modern.ownership import Ownership
from kip848_records.replay.modern.targets import Targets
from kip848_records.replay.share.partitions import SharePartitionStates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.modern.state import ModernState
    from kip848_records.replay.modern.targets import Assignment
    from kip848_records.replay.modern.timelines.rebalances import Rebalances
    from kip848_records.replay.modern.waits import Waits
    from kip848_records.replay.numbers import Units
    from kip848_records.replay.records import Record
    from kip848_records.replay.share.values import ShareTopic


class ShareTargets(Targets):
    """The targets of members, and the wanted partitions: the initialized ones of topics to which a member subscribes.

    `retargeted`: partitions that became wanted, or are wanted no more, since the operation began.
    """

    def __init__(self, units: Units) -> None:
        super().__init__(units)
        self.wanted: set[int] = set()
        self._initialized: dict[str, frozenset[int]] = {}
        self._subscribers: dict[str, int] = {}

    def retarget(self, member: Member, target: frozenset[int]) -> None:
        """Replace a member's target; a partition may be in several."""
        before, member.target = member.target, target
        for partition in before - target:
            self.claims.remove(partition, member)
        for partition in target - before:
            self.claims.add(partition, member)

    def assign(self, record: Record, epoch: int) -> Assignment:
        """Return the assignment that a type 12 closes. A partition has no target owner, so none has moved."""
        return super().assign(record, epoch)._replace(moved=None)

    def initialize(self, topics: Iterable[ShareTopic]) -> None:
        """Replace the initialized partitions."""
        before, self._initialized = self._initialized, {topic.name: topic.partitions for topic in topics}
        for topic in before.keys() | self._initialized.keys():
            if before.get(topic) != self._initialized.get(topic):
                self._want(topic, before.get(topic, NOTHING))

    def subscribe(self, before: Collection[str], now: Collection[str]) -> None:
        """Replace the topics of a member."""
        subscribers = self._subscribers
        for topic in now:
            subscribers[topic] = subscribers.get(topic, 0) + 1
        for topic in before:
            subscribers[topic] -= 1
            if not subscribers[topic]:
                del subscribers[topic]
        for topic in {*before, *now}:
            self._want(topic, self._initialized.get(topic, NOTHING))

    def differ_from_initialized(self) -> bool:
        """Return whether the partitions in the targets are not the initialized ones."""
        return NOTHING.union(*self._initialized.values()) != self.claims.keys()

    def _want(self, topic: str, before: frozenset[int]) -> None:
        now = self._initialized.get(topic, NOTHING)
        wanted = now if topic in self._subscribers else NOTHING
        for partition in (before | now) & self.wanted ^ wanted:
            self.retargeted.add(partition)
            self.wanted ^= {partition}


class ShareOwnership(Ownership):
    """The members that have an incarnation's partitions, and the wanted partitions that no member has.

    A partition has no owner to hand it over. `states`: those of the group's topics.
    """

    has_intervals = True

    def __init__(self, group: ModernState, waits: Waits, rebalances: Rebalances) -> None:
        super().__init__(group, waits, rebalances)
        self.states = SharePartitionStates(group.context)

    def end_unseen(self) -> None:
        """End the states of the group's partitions, too."""
        super().end_unseen()
        self.states.end_all()

    def finish(self, elapsed: int | None) -> None:
        """Write what is open at the end of the log."""
        super().finish(elapsed)
        self.states.finish()

    def _move_holder(self, member: Member, held: frozenset[int], *, is_seen: bool = True) -> None:
        self._targets.retargeted |= member.held ^ held
        super()._move_holder(member, held, is_seen=is_seen)

    def _retarget(self) -> None:
        """Begin and end the time in which no member has a wanted partition."""
        elapsed, targets, gaps = self._context.operation.elapsed, self._targets, self._gaps
        for partition in targets.retargeted:
            if partition in targets.wanted and partition not in self.holders:
                gaps.setdefault(partition, Gap(None, None, None, elapsed, was_wanted=True))
            elif partition in gaps:
                self._end_gap(partition)
