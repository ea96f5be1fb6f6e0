"""A consumer group of KIP-848 in its coordinator; every method writes the records of Kafka's coordinator."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kip848_records.simulate.broker.assignors import ASSIGNORS
from kip848_records.simulate.broker.group_records import (
    ASSIGNMENT_EPOCH,
    CURRENT_ASSIGNMENT,
    GROUP_EPOCH,
    MEMBER,
    MEMBER_TARGET,
    PARTITION_METADATA,
    GroupRecords,
)
from kip848_records.simulate.broker.member import AWAY_EPOCH, Member
from kip848_records.simulate.broker.operation import (
    CurrentAssignmentWritten,
    EpochBumped,
    MemberJoined,
    MemberRemoved,
    MemberUpdated,
    RegexResolved,
    TargetAssigned,
)
from kip848_records.simulate.broker.subscriptions import SubscribedTopics

if TYPE_CHECKING:
    from collections.abc import Collection

    from kip848_records.simulate.broker.cluster import Cluster, TopicPartition
    from kip848_records.simulate.broker.operation import Operation
    from kip848_records.simulate.broker.releases import Release

NOTHING: Final[frozenset[TopicPartition]] = frozenset()


class ConsumerGroup:
    """Members, their targets and their partitions, with both epochs of the group."""

    def __init__(self, group_id: str, cluster: Cluster, release: Release) -> None:
        self._records = GroupRecords(group_id)
        self.cluster = cluster
        self.release = release
        self.members: dict[str, Member] = {}
        self._in_turn: deque[str] = deque()  # members, and some former members
        self._converged: bool | None = None  # None: not evaluated since the last change
        self.targets: dict[str, frozenset[TopicPartition]] = {}
        self.target_owners: dict[TopicPartition, str] = {}
        self.owners: dict[TopicPartition, str] = {}
        self._held: dict[str, frozenset[TopicPartition]] = {}
        self.regexes: dict[str, tuple[str, ...]] = {}
        self.group_epoch = self.assignment_epoch = release.start_epoch
        self._assigned_at: int | None = None
        self._topics = SubscribedTopics(cluster)

    @property
    def state(self) -> str:
        """The group's state, by the rules of Kafka's `ConsumerGroup`."""
        if not self.members:
            return "Empty"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        if self._converged is None:
            self._converged = self._has_converged()
        return "Stable" if self._converged else "Reconciling"

    def _has_converged(self) -> bool:
        # Members that had not converged the last time are checked first: usually one is enough, even with thousands.
        for _ in range(len(self._in_turn)):
            member = self.members.get(self._in_turn[0])
            if member is None:
                self._in_turn.popleft()
            elif member.is_converged(self.assignment_epoch):
                self._in_turn.rotate(-1)
            else:
                return False
        return True

    @property
    def is_outdated(self) -> bool:
        """Whether a topic changed since the group last checked."""
        return self._topics.is_outdated

    def join(self, operation: Operation, member: Member) -> None:
        """Add a new member, which owns nothing."""
        self.members[member.member_id] = member
        self._in_turn.append(member.member_id)
        operation.events.append(MemberJoined(operation.size, member.member_id))
        self._write_member(operation, member)
        resolved = bool(member.topics) or member.regex in self.regexes
        self._refresh(operation, bump=resolved or self.release.bumps_for_unresolved_regex)
        self._continue(operation, member, owned=())

    def heartbeat(self, operation: Operation, member: Member, owned: Collection[TopicPartition] | None = None) -> None:
        """Process a heartbeat, which may contain the member's partitions."""
        if self.is_outdated:
            self._refresh(operation, bump=False)
        self._continue(operation, member, owned)

    def subscribe(self, operation: Operation, member: Member, topics: frozenset[str], regex: str | None = None) -> None:
        """Process a member's new topics, and its new regular expression unless that is None."""
        regex = member.regex if regex is None else regex
        changed = (topics, regex) != (member.topics, member.regex)
        if changed:
            self._resubscribe(operation, member, topics, regex)
            self._drop_unused_regexes(operation)
        if changed or self.is_outdated:
            self._refresh(operation, bump=changed)
        self._continue(operation, member, None)

    def rejoin_classic(self, operation: Operation, member: Member) -> None:
        """Process the rejoin of a member of the classic protocol, by which it learns of a change."""
        operation.events.append(MemberUpdated(operation.size, member.member_id, resubscribed=False))
        self._write_member(operation, member)
        self.heartbeat(operation, member, member.assigned)

    def leave(self, operation: Operation, member: Member) -> None:
        """Remove a member that left, was fenced, or whose session expired."""
        self._remove(operation, member)
        self._drop_unused_regexes(operation)
        self._refresh(operation, bump=True)

    def go_away(self, operation: Operation, member: Member) -> None:
        """Keep the partitions of a static member that will come back."""
        member.epoch, member.pending = AWAY_EPOCH, {}
        member.assigned = dict.fromkeys(member.assigned, 0)
        self._write_current(operation, member)

    def replace(self, operation: Operation, member: Member, new_id: str, topics: frozenset[str] | None = None) -> None:
        """Let a static member come back, usually under a new member id."""
        target = self.targets.get(member.member_id, NOTHING)
        back = replace(member, member_id=new_id, epoch=0, previous_epoch=0)
        self._remove(operation, member, successor=new_id)
        self.members[new_id] = back
        if new_id != member.member_id:
            self._in_turn.append(new_id)
        operation.events.append(MemberJoined(operation.size, new_id, predecessor=member.member_id))
        self._write_member(operation, back)
        self.targets[new_id] = target
        self._index_targets()
        self._records.target(operation, new_id, self.targets[new_id])
        self._write_current(operation, back)
        changed = topics is not None and topics != back.topics
        if topics is not None and changed:
            self._resubscribe(operation, back, topics, back.regex)
        if changed or self.is_outdated:
            self._refresh(operation, bump=changed)
        self._continue(operation, back, owned=())

    def resolve(self, operation: Operation, regex: str, topics: tuple[str, ...]) -> None:
        """Store the present matches of a regular expression; brokers resolve it independently of heartbeats."""
        changed = self.regexes.get(regex) != topics
        self.regexes[regex] = topics
        operation.events.append(RegexResolved(operation.size, regex, topics, self.cluster.version))
        self._records.regex(operation, regex, topics, self.cluster.version)
        if changed:
            self._refresh(operation, bump=True)

    def write_upgraded(self, operation: Operation, members: list[Member], generation: int) -> None:
        """Take over the members of a classic group, with its generation and their partitions."""
        self.members = {member.member_id: member for member in members}
        self._in_turn = deque(self.members)
        for member in members:
            operation.events.append(MemberJoined(operation.size, member.member_id, is_upgraded=True))
            self._records.member(operation, member)
        self.group_epoch = generation
        if not self.release.writes_partition_metadata:
            self._topics.refresh(self._subscribed_names())
        self._write_epoch(operation)
        for member in members:
            self.targets[member.member_id] = frozenset(member.assigned)
            self._records.target(operation, member.member_id, self.targets[member.member_id])
        self._write_assignment_epoch(operation, computed=False)
        for member in members:
            member.epoch = member.previous_epoch = generation
            self._write_current(operation, member)

    def write_tombstones(self, operation: Operation) -> None:
        """Write the tombstones of the group and all its members; the group cannot be used afterwards."""
        current_places = {member_id: operation.size + nth for nth, member_id in enumerate(self.members)}
        records = self._records
        for key_type in (CURRENT_ASSIGNMENT, MEMBER_TARGET):
            for member_id in self.members:
                records.delete_of_member(operation, key_type, member_id)
        records.of_group(operation, ASSIGNMENT_EPOCH, None)
        for member_id in self.members:
            target = self.targets.get(member_id, NOTHING)
            operation.events.append(MemberRemoved(operation.size, current_places[member_id], member_id, target))
            records.delete_of_member(operation, MEMBER, member_id)
        for regex in self.regexes:
            records.delete_regex(operation, regex)
        records.of_group(operation, PARTITION_METADATA, None)
        records.of_group(operation, GROUP_EPOCH, None)
        operation.ends_incarnation = True

    def _continue(self, operation: Operation, member: Member, owned: Collection[TopicPartition] | None) -> None:
        """Do the second half of every heartbeat: assign if necessary, and move the member towards its target."""
        waits = self._assigned_at is not None and (
            operation.time - self._assigned_at < self.release.assignment_interval_ms
        )
        if self.group_epoch > self.assignment_epoch and not waits:
            self._assign(operation)
        target = self.targets.get(member.member_id, NOTHING)
        if member.next_assignment(self.assignment_epoch, target, self.owners, owned):
            self._write_current(operation, member)

    def _refresh(self, operation: Operation, *, bump: bool) -> None:
        """Check the topics again; bump the group epoch if they changed, or if `bump` is set."""
        if self._topics.refresh(self._subscribed_names()):
            bump = True
            if self.release.writes_partition_metadata:
                self._records.of_group(operation, PARTITION_METADATA, self._topics.partition_metadata())
        if bump:
            self.group_epoch += 1
            self._write_epoch(operation)

    def _write_epoch(self, operation: Operation) -> None:
        metadata_changed = self._topics.bump(self._subscribed_names())
        operation.events.append(EpochBumped(operation.size, self.group_epoch, len(self.members), metadata_changed))
        hashed = 0 if self.release.writes_partition_metadata else self._topics.hash
        tagged = {"metadataHash": hashed} if hashed else {}
        self._records.of_group(operation, GROUP_EPOCH, {"epoch": self.group_epoch, **tagged})

    def _assign(self, operation: Operation) -> None:
        """Compute the target assignment again and write its changes."""
        # Kafka assigns to static members by their instance ids, so that a returning member gets its old partitions.
        ordered = sorted(self.members.values(), key=lambda m: m.instance_id or m.member_id)
        subscriptions = {m.member_id: self._subscription(m) for m in ordered}
        preferred = [m.assignor for m in ordered if m.assignor]
        assignor = ASSIGNORS[max(preferred, key=preferred.count) if preferred else "uniform"]
        for member_id, target in assignor(subscriptions, self.cluster.topics, self.targets).items():
            if self.targets.get(member_id) != target:
                self.targets[member_id] = target
                self._records.target(operation, member_id, self.targets[member_id])
        self._assigned_at = operation.time
        self._write_assignment_epoch(operation, computed=True)

    def _index_targets(self) -> None:
        self.target_owners = {tp: member for member, target in self.targets.items() for tp in target}

    def _write_assignment_epoch(self, operation: Operation, *, computed: bool) -> None:
        self._index_targets()
        self.assignment_epoch = self.group_epoch
        self._converged = None
        names = {member_id: self.members[member_id].instance_id or member_id for member_id in self.targets}
        operation.events.append(TargetAssigned(operation.size, self.assignment_epoch, dict(self.targets), names))
        tagged = {"assignmentTimestamp": operation.timestamp}
        stamped = tagged if computed and self.release.has_assignment_epochs else {}
        self._records.of_group(operation, ASSIGNMENT_EPOCH, {"assignmentEpoch": self.assignment_epoch, **stamped})

    def _subscription(self, member: Member) -> frozenset[str]:
        return member.topics.union(self.regexes.get(member.regex, ()))

    def _subscribed_names(self) -> frozenset[str]:
        return frozenset().union(*{member.topics for member in self.members.values()}, *self.regexes.values())

    def _resubscribe(self, operation: Operation, member: Member, topics: frozenset[str], regex: str) -> None:
        member.topics, member.regex = topics, regex
        operation.events.append(MemberUpdated(operation.size, member.member_id, resubscribed=True))
        self._write_member(operation, member)

    def _drop_unused_regexes(self, operation: Operation) -> None:
        for regex in [regex for regex in self.regexes if all(m.regex != regex for m in self.members.values())]:
            del self.regexes[regex]
            self._records.delete_regex(operation, regex)

    def _write_member(self, operation: Operation, member: Member) -> None:
        self._records.member(operation, member)
        self._converged = None

    def _write_current(self, operation: Operation, member: Member) -> None:
        operation.events.append(CurrentAssignmentWritten(operation.size, member.member_id))
        self._records.current(operation, member, with_epochs=self.release.has_assignment_epochs)
        self._converged = None
        self._own(operation, member, member.owned)

    def _own(self, operation: Operation, member: Member, owned: Collection[TopicPartition]) -> None:
        """Make `owned` the partitions of `member`, and note the changes."""
        had = self._held.get(member.member_id, NOTHING)
        self._held[member.member_id] = now = frozenset(owned)
        for tp in sorted(had - now):
            operation.owners_before.setdefault(tp, self.owners.pop(tp))
        for tp in sorted(now - had):
            operation.owners_before.setdefault(tp, self.owners.get(tp))
            self.owners[tp] = member.member_id

    def _remove(self, operation: Operation, member: Member, successor: str | None = None) -> None:
        current, target = operation.size, self.targets.get(member.member_id, NOTHING)
        operation.events.append(MemberRemoved(current + 2, current, member.member_id, target, successor))
        self._records.delete_member(operation, member.member_id)
        self._converged = None
        self._own(operation, member, ())
        del self.members[member.member_id], self._held[member.member_id]
        if self.targets.pop(member.member_id, NOTHING):
            self._index_targets()
