"""Which members hold partitions that other members await."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kip848_records.simulate.broker.group import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.broker.group import ConsumerGroup


class Holders:
    """Links each waiting member to the holders of the partitions that it awaits, partition by partition."""

    def __init__(self) -> None:
        self.holding: Counter[str] = Counter()
        """How many partitions of a member are awaited by others."""
        self.blocking: Counter[str] = Counter()
        """How many partitions that a member awaits are held by others."""
        self.held_up: dict[str, set[str]] = {}
        """The members that a member has blocked, since the last restart."""
        self._awaited: dict[str, frozenset[TopicPartition]] = {}
        self._waiters: dict[TopicPartition, set[str]] = {}
        self._links: dict[TopicPartition, tuple[str, frozenset[str]]] = {}

    def waiting_for(self, member_id: str) -> int:
        """Return how many members wait for a member now."""
        return len(set().union(*(waiters for holder, waiters in self._links.values() if holder == member_id)))

    def restart(self) -> None:
        """Forget the members that were blocked, but not those that still are."""
        self.held_up = {}
        for holder, waiters in self._links.values():
            self.held_up.setdefault(holder, set()).update(waiters)

    def update(
        self,
        group: ConsumerGroup,
        awaited: dict[str, frozenset[TopicPartition]],
        changed_owners: Iterable[TopicPartition],
    ) -> set[str]:
        """Set the awaited partitions of some members, none if they do not wait; return the affected members."""
        partitions = set(changed_owners)
        for member_id, awaits in awaited.items():
            partitions |= self._awaited.get(member_id, NOTHING) | awaits
        concerned: set[str] = set()
        for tp in partitions & self._links.keys():
            concerned |= self._unlink(tp)
        for member_id, awaits in awaited.items():
            for tp in self._awaited.pop(member_id, NOTHING):
                self._waiters[tp].discard(member_id)
            for tp in awaits:
                self._waiters.setdefault(tp, set()).add(member_id)
            if awaits:
                self._awaited[member_id] = awaits
        for tp in partitions & group.owners.keys():
            concerned |= self._link(tp, group.owners[tp])
        return concerned

    def _link(self, tp: TopicPartition, holder: str) -> set[str]:
        waiters = frozenset(self._waiters.get(tp, ())) - {holder}
        if not waiters:
            return set()
        self._links[tp] = holder, waiters
        self.holding[holder] += 1
        self.blocking.update(waiters)
        self.held_up.setdefault(holder, set()).update(waiters)
        return {holder, *waiters}

    def _unlink(self, tp: TopicPartition) -> set[str]:
        holder, waiters = self._links.pop(tp)
        self.holding[holder] -= 1
        self.blocking.subtract(waiters)
        return {holder, *waiters}
