"""The partitions of a share group: which are wanted, and which members have them, several at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.kinds import SHARE
from kip848_records.replay.modern.anomalies import Anomalies
from kip848_records.replay.modern.member import NOTHING
from kip848_records.replay.modern.ownership_intervals import OwnershipWithIntervals
from kip848_records.replay.modern.targets import Targets
from kip848_records.replay.share.partitions import SharePartitionStates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.modern.member import Claims, Member
    from kip848_records.replay.modern.targets import Assignment
    from kip848_records.replay.modern.timelines.rebalances import Rebalances
    from kip848_records.replay.modern.waits import Waits
    from kip848_records.replay.records import Record
    from kip848_records.replay.share.values import ShareTopic


class ShareTargets(Targets):
    """The targets of members, and the wanted partitions: the initialized ones of topics to which a member subscribes.

    `retargeted`: partitions that became wanted, or are wanted no more, since the operation began.
    """

    def __init__(self) -> None:
        super().__init__()
        self._wanted: set[int] = set()
        self._initialized: dict[str, frozenset[int]] = {}
        self._subscribers: dict[str, int] = {}

    def __contains__(self, partition: int) -> bool:
        return partition in self._wanted

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
        for partition in (before | now) & self._wanted ^ wanted:
            self.retargeted.add(partition)
            self._wanted ^= {partition}


class ShareOwnership(OwnershipWithIntervals):
    """The members that have an incarnation's partitions, and the wanted partitions that no member has.

    A partition has no owner to hand it over. `states`: those of the group's topics.
    """

    group_type = SHARE

    def __init__(self, context: Context, targets: Targets, waits: Waits, rebalances: Rebalances) -> None:
        super().__init__(context, targets, waits, rebalances)
        self.states = SharePartitionStates(context)

    def baseline(self, changed: Iterable[tuple[Member, frozenset[int]]]) -> None:
        """Set the owners: since when they have their partitions is unknown."""
        changed = list(changed)
        for member, held in changed:
            self._targets.retargeted |= member.held ^ held
        super().baseline(changed)

    def end_operation(self, changed: list[tuple[Member, frozenset[int]]]) -> None:
        """Apply the changed members' partitions at the end of an operation."""
        for member, held in changed:
            self._targets.retargeted |= member.held ^ held
        super().end_operation(changed)

    def finish(self, elapsed: int | None) -> None:
        """Write what is open at the end of the log."""
        super().finish(elapsed)
        self.states.finish()

    def _release(self, member: Member, partition: int) -> None:
        """Let `_retarget` see that no member has the partition."""

    def _acquire(self, member: Member, partition: int) -> None:
        """Let `_retarget` see that a member has the partition."""

    def _retarget(self) -> None:
        """Begin and end the time in which no member has a wanted partition."""
        elapsed, targets, unmet = self._context.operation.elapsed, self._targets, self._unmet
        for partition in targets.retargeted:
            if partition in targets and partition not in self.holders:
                unmet.setdefault(partition, elapsed)
            elif partition in unmet:
                self._rebalances.add_unowned(unmet.pop(partition))


class ShareAnomalies(Anomalies):
    """The anomalies of an operation of a share group, whose partitions may have several owners."""

    def _shared(self, member: Member, holders: Claims) -> Collection[int]:  # noqa: ARG002 - none has to have one owner
        return ()

    def _doubled(self, targets: Targets) -> Collection[int]:  # noqa: ARG002 - as above
        return ()
