"""A consumer group of KIP-848 as its coordinator holds it; every method writes what Kafka's would into an operation."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kip848_records.simulate.broker.assignors import ASSIGNORS
from kip848_records.simulate.broker.cluster import metadata_hash
from kip848_records.simulate.broker.member import AWAY_EPOCH, Member, topic_partitions
from kip848_records.simulate.broker.operation import Assignment

if TYPE_CHECKING:
    from collections.abc import Collection

    from kip848_records.simulate.broker.cluster import Cluster, TopicPartition
    from kip848_records.simulate.broker.operation import Operation
    from kip848_records.simulate.broker.releases import Release

NOTHING: Final[frozenset[TopicPartition]] = frozenset()


class ConsumerGroup:
    """Members, their targets and their partitions, with both epochs of the group."""

    def __init__(self, group_id: str, cluster: Cluster, release: Release) -> None:
        self.group_id = group_id
        self.cluster = cluster
        self.release = release
        self.members: dict[str, Member] = {}
        self._in_turn: deque[str] = deque()  # members, and some that were
        self._converged: bool | None = None  # not looked at since the last change
        self.targets: dict[str, frozenset[TopicPartition]] = {}
        self.target_owners: dict[TopicPartition, str] = {}
        self.owners: dict[TopicPartition, str] = {}
        self._held: dict[str, frozenset[TopicPartition]] = {}
        self.regexes: dict[str, tuple[str, ...]] = {}
        self.group_epoch = self.assignment_epoch = release.start_epoch
        self._assigned_at: int | None = None
        self._topics: dict[str, int] = {}
        self._cluster_version = cluster.version
        self._logged_hash: int | None = None
        self._assigned_owners: dict[TopicPartition, str] = {}

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
        # Who had not converged the last time is looked at first: mostly that settles it, with thousands of members too.
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
        """Whether a topic changed since the group has looked."""
        return self._cluster_version != self.cluster.version

    def join(self, operation: Operation, member: Member) -> None:
        """Take in a new member, which owns nothing."""
        self.members[member.member_id] = member
        self._in_turn.append(member.member_id)
        self._write_member(operation, member, "member_joined")
        resolved = bool(member.topics) or member.regex in self.regexes
        self._refresh(operation, bump=resolved or self.release.bumps_for_unresolved_regex)
        self._continue(operation, member, owned=())

    def heartbeat(self, operation: Operation, member: Member, owned: Collection[TopicPartition] | None = None) -> None:
        """Hear from a member, which may say what it owns."""
        if self.is_outdated:
            self._refresh(operation, bump=False)
        self._continue(operation, member, owned)

    def subscribe(self, operation: Operation, member: Member, topics: frozenset[str]) -> None:
        """Hear from a member that it wants other topics."""
        member.topics = topics
        self._write_member(operation, member, "subscription_changed")
        self._refresh(operation, bump=True)
        self._continue(operation, member, None)

    def rejoin_classic(self, operation: Operation, member: Member) -> None:
        """Hear from a member of the classic protocol, which rejoins to learn of a change."""
        self._write_member(operation, member, "subscription_changed")
        self.heartbeat(operation, member, member.assigned)

    def leave(self, operation: Operation, member: Member) -> None:
        """Remove a member that left, whose session expired or that is fenced."""
        self._remove(operation, member)
        for regex in [regex for regex in self.regexes if all(m.regex != regex for m in self.members.values())]:
            del self.regexes[regex]
            operation.write(16, {"groupId": self.group_id, "regularExpression": regex}, None)
        operation.causes.add("member_left")
        self._refresh(operation, bump=True)

    def go_away(self, operation: Operation, member: Member) -> None:
        """Keep the partitions of a static member that says it will be back."""
        member.epoch, member.pending = AWAY_EPOCH, {}
        member.assigned = dict.fromkeys(member.assigned, 0)
        self._write_current(operation, member)

    def replace(self, operation: Operation, member: Member, new_id: str, topics: frozenset[str] | None = None) -> None:
        """Let a static member come back under a new member id."""
        target = self.targets.get(member.member_id, NOTHING)
        back = replace(member, member_id=new_id, epoch=0, previous_epoch=0)
        self._remove(operation, member)
        self.members[new_id] = back
        self._in_turn.append(new_id)
        self._write_member(operation, back, "static_member_replaced")
        self.targets[new_id] = target
        self._index_targets()
        self._write_target(operation, new_id)
        self._write_current(operation, back)
        changed = topics is not None and topics != back.topics
        if topics is not None and changed:
            back.topics = topics
            self._write_member(operation, back, "subscription_changed")
        if changed or self.is_outdated:
            self._refresh(operation, bump=changed)
        self._continue(operation, back, owned=())

    def resolve(self, operation: Operation, regex: str, topics: tuple[str, ...]) -> None:
        """Take over what a regular expression matches now; brokers look that up apart from heartbeats."""
        changed = self.regexes.get(regex) != topics
        self.regexes[regex] = topics
        value = {"topics": list(topics), "version": self.cluster.version, "timestamp": operation.timestamp}
        operation.write(16, {"groupId": self.group_id, "regularExpression": regex}, value)
        operation.causes.add("regex_resolved")
        if changed:
            self._refresh(operation, bump=True)

    def write_upgraded(self, operation: Operation, members: list[Member], generation: int) -> None:
        """Take over the members of a classic group, at its generation and with the partitions that they have."""
        self.members = {member.member_id: member for member in members}
        self._in_turn = deque(self.members)
        for member in members:
            operation.write(5, self._key(member), member.metadata())
        self.group_epoch = generation
        if not self.release.writes_partition_metadata:
            self._topics = self._subscribed_topics()
        self._write_epoch(operation)
        for member in members:
            self.targets[member.member_id] = frozenset(member.assigned)
            self._write_target(operation, member.member_id)
        self._write_assignment_epoch(operation, computed=False)
        for member in members:
            member.epoch = member.previous_epoch = generation
            self._write_current(operation, member)

    def write_tombstones(self, operation: Operation) -> None:
        """Write what deletes the group and all its members; the group is of no use then."""
        for key_type in (8, 7):
            for member_id in self.members:
                operation.write(key_type, self._key(self.members[member_id]), None)
        operation.write(6, {"groupId": self.group_id}, None)
        for member in list(self.members.values()):
            operation.write(5, self._key(member), None)
            operation.left.append(member.member_id)
        for regex in self.regexes:
            operation.write(16, {"groupId": self.group_id, "regularExpression": regex}, None)
        operation.write(4, {"groupId": self.group_id}, None)
        operation.write(3, {"groupId": self.group_id}, None)

    def _continue(self, operation: Operation, member: Member, owned: Collection[TopicPartition] | None) -> None:
        """Do the second half of every heartbeat: assign if that is due, and lead the member on."""
        waits = self._assigned_at is not None and (
            operation.time - self._assigned_at < self.release.assignment_interval_ms
        )
        if self.group_epoch > self.assignment_epoch and not waits:
            self._assign(operation)
        target = self.targets.get(member.member_id, NOTHING)
        if member.next_assignment(self.assignment_epoch, target, self.owners, owned):
            self._write_current(operation, member)

    def _refresh(self, operation: Operation, *, bump: bool) -> None:
        """Look at the topics anew and bump the group epoch for that, or because the caller says so."""
        self._cluster_version = self.cluster.version
        topics = self._subscribed_topics()
        if topics != self._topics:
            self._topics, bump = topics, True
            if self.release.writes_partition_metadata:
                operation.write(4, {"groupId": self.group_id}, {"topics": [self._topic(name) for name in topics]})
                operation.causes.add("topic_metadata_changed")
        if bump:
            self.group_epoch += 1
            self._write_epoch(operation)

    def _topic(self, name: str) -> dict[str, object]:
        topic = self.cluster.topics[name]
        size = {"numPartitions": topic.partitions, "partitionMetadata": []}
        return {"topicId": topic.topic_id, "topicName": name, **size}

    def _write_epoch(self, operation: Operation) -> None:
        hashed = 0 if self.release.writes_partition_metadata else metadata_hash(self._topics)
        # 0 is no hash: a group without members has none.
        if self._logged_hash and hashed and hashed != self._logged_hash:
            operation.causes.add("topic_metadata_changed")
        # Of the first topic that comes, or the last that goes, nothing but the hash tells.
        otherwise = "unknown" if self._logged_hash in {None, hashed} else "topic_metadata_changed"
        self._logged_hash = hashed
        operation.bump(self.group_epoch, len(self.members), otherwise)
        tagged = {"metadataHash": hashed} if hashed else {}
        operation.write(3, {"groupId": self.group_id}, {"epoch": self.group_epoch, **tagged})

    def _assign(self, operation: Operation) -> None:
        """Compute the target assignment anew and write what changed of it."""
        # Kafka serves static members by their instance ids, so that who comes back finds its place.
        ordered = sorted(self.members.values(), key=lambda m: m.instance_id or m.member_id)
        subscriptions = {m.member_id: self._subscription(m) for m in ordered}
        preferred = [m.assignor for m in ordered if m.assignor]
        assignor = ASSIGNORS[max(preferred, key=preferred.count) if preferred else "uniform"]
        for member_id, target in assignor(subscriptions, self.cluster.topics, self.targets).items():
            if self.targets.get(member_id) != target:
                self.targets[member_id] = target
                self._write_target(operation, member_id)
        self._assigned_at = operation.time
        self._write_assignment_epoch(operation, computed=True)

    def _index_targets(self) -> None:
        self.target_owners = {tp: member for member, target in self.targets.items() for tp in target}

    def _write_assignment_epoch(self, operation: Operation, *, computed: bool) -> None:
        self._index_targets()
        owners = {tp: self.members[m].instance_id or m for tp, m in self.target_owners.items()}
        before = self._assigned_owners
        moved = sum(tp in before and before[tp] != owner for tp, owner in owners.items())
        self._assigned_owners = owners
        self.assignment_epoch = self.group_epoch
        self._converged = None
        operation.epochs.append(Assignment(self.assignment_epoch, moved))
        tagged = {"assignmentTimestamp": operation.timestamp}
        stamped = tagged if computed and self.release.has_assignment_epochs else {}
        operation.write(6, {"groupId": self.group_id}, {"assignmentEpoch": self.assignment_epoch, **stamped})

    def _subscription(self, member: Member) -> frozenset[str]:
        return member.topics.union(self.regexes.get(member.regex, ()))

    def _subscribed_topics(self) -> dict[str, int]:
        wanted = {(member.topics, member.regex) for member in self.members.values()}
        names = frozenset().union(*(topics.union(self.regexes.get(regex, ())) for topics, regex in wanted))
        return {name: self.cluster.topics[name].partitions for name in sorted(names & self.cluster.topics.keys())}

    def _write_member(self, operation: Operation, member: Member, cause: str) -> None:
        operation.write(5, self._key(member), member.metadata())
        operation.causes.add(cause)
        self._converged = None

    def _write_target(self, operation: Operation, member_id: str) -> None:
        value = {"topicPartitions": topic_partitions(self.targets[member_id])}
        operation.write(7, self._key(self.members[member_id]), value)

    def _write_current(self, operation: Operation, member: Member) -> None:
        operation.write(8, self._key(member), member.current_assignment(with_epochs=self.release.has_assignment_epochs))
        operation.current.append(member.member_id)
        self._converged = None
        self._own(operation, member, member.owned)

    def _own(self, operation: Operation, member: Member, owned: Collection[TopicPartition]) -> None:
        """Let `owned` be all that `member` owns, and note what that changes."""
        had = self._held.get(member.member_id, NOTHING)
        self._held[member.member_id] = now = frozenset(owned)
        for tp in sorted(had - now):
            operation.owners_before.setdefault(tp, self.owners.pop(tp))
        for tp in sorted(now - had):
            operation.owners_before.setdefault(tp, self.owners.get(tp))
            self.owners[tp] = member.member_id

    def _remove(self, operation: Operation, member: Member) -> None:
        for key_type in (8, 7, 5):
            operation.write(key_type, self._key(member), None)
        operation.left.append(member.member_id)
        self._converged = None
        self._own(operation, member, ())
        del self.members[member.member_id], self._held[member.member_id]
        if self.targets.pop(member.member_id, NOTHING):
            self._index_targets()

    def _key(self, member: Member) -> dict[str, str]:
        return {"groupId": self.group_id, "memberId": member.member_id}
