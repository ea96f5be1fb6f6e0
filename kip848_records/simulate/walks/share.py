"""A random walk of a share group (KIP-932): members, epochs, and topics that are initialized, grow and are deleted."""

from __future__ import annotations

from typing import Any, Final

from kip848_records.protocol.key_types import KeyType
from kip848_records.simulate.broker.member import topic_partitions
from kip848_records.simulate.walks.share_group import NOTHING, ShareGroup, ShareMember, share_topics
from kip848_records.simulate.walks.walk import Walk

_MEMBERS: Final = 4
"""The usual number of members."""
_LEAST_TOPICS: Final = 3
"""So many topics are never deleted."""


class ShareWalk(Walk):
    """One share group id. Each step is one operation: a heartbeat, or an event."""

    LONGEST_STEP_MS = 0

    def __init__(self, seed: object, group_id: str = "g", event_ms: int = 30_000) -> None:
        super().__init__(seed, group_id, event_ms)
        self._topics = share_topics(group_id)
        self._all_topics = sorted(self._topics)
        self._group: ShareGroup | None = None
        self._is_stopping = False
        self._hash = 0

    def pause(self) -> int:
        """Return the time up to the next heartbeat, or up to the next event if the group is at rest."""
        group = self._group
        if group is None or not group.members or (self._is_at_rest(group) and not self._is_stopping):
            return self.until_event()
        return self.until_heartbeat(len(group.members))

    def step(self) -> None:
        """Write one operation, if there is anything to write."""
        group, is_event = self._group, self.is_event_due()
        if group is None:
            group = self._present_group()
            self._join(group)
        elif group.deleting:
            self._delete(group)
            return
        elif not group.members:
            if self.chance(0.3):
                self._begin_deletion(group)
            else:
                self._join(group)
        elif is_event:
            steps = {self._join: _MEMBERS, self._leave: len(group.members), self._stop: 1}
            steps |= {self._subscribe: 2, self._grow: 1, self._delete_topic: 1}
            self.rng.choices(list(steps), list(steps.values()))[0](group)
        elif self._is_stopping:
            self._leave(group)
        elif group.initializing and self.chance(0.3):
            self._initialize(group)
        else:
            self._heartbeat(group)

    def _is_at_rest(self, group: ShareGroup) -> bool:
        is_assigned = group.has_converged and NOTHING.union(*group.targets.values()) == group.wanted()
        return is_assigned and not group.initializing and group.metadata_hash == self._hash

    def _present_group(self) -> ShareGroup:
        """Return the group, a new one if there is none."""
        if self._group is None:
            self._group = ShareGroup(self._topics)
            self._hash = 0
        return self._group

    def _join(self, group: ShareGroup) -> None:
        self._add(group, ShareMember(self.new_id(), self._some_topics(), group.assignment_epoch))

    def _add(self, group: ShareGroup, member: ShareMember) -> None:
        group.members[member.member_id] = member
        self._write_member(member)
        self.tell("join", member)
        self._bump(group, "member_joined", [member.member_id])
        self._go_on(group, member, is_new=True)

    def _leave(self, group: ShareGroup) -> None:
        self._remove_member(group, self._any_member(group))

    def _remove_member(self, group: ShareGroup, member: ShareMember) -> None:
        self._write(KeyType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT, None, member)
        self._write(KeyType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER, None, member)
        self._write(KeyType.SHARE_GROUP_MEMBER_METADATA, None, member)
        self.tell("leave", member)
        del group.members[member.member_id]
        group.targets.pop(member.member_id, None)
        self._is_stopping = self._is_stopping and bool(group.members)
        self._bump(group, "member_left", [member.member_id])

    def _stop(self, group: ShareGroup) -> None:
        """Stop the application: all members leave, one after the other."""
        self._is_stopping = True
        self._leave(group)

    def _subscribe(self, group: ShareGroup) -> None:
        member = self._any_member(group)
        topics = self._some_topics()
        if topics == member.topics:
            return
        member.topics = topics
        self._write_member(member)
        self._bump(group, "subscription_changed", [member.member_id])
        self._go_on(group, member)

    def _grow(self, group: ShareGroup) -> None:
        """Let a topic have more partitions. The group sees it at a heartbeat."""
        topic = group.topics[self.rng.choice(sorted(group.topics))]
        topic.partitions += self.rng.randint(1, 2)

    def _delete_topic(self, group: ShareGroup) -> None:
        """Delete a topic: its partitions have no state any more. The group sees another hash at a heartbeat."""
        if len(group.topics) <= _LEAST_TOPICS:
            return
        name = self.rng.choice(sorted(group.topics))
        had_state = [topics.pop(name, None) for topics in (group.initializing, group.initialized)]
        del group.topics[name]
        if any(had_state):
            self._write_share_state(group)

    def _initialize(self, group: ShareGroup) -> None:
        """The share coordinator has initialized the partitions of a topic."""
        name = self.rng.choice(sorted(group.initializing))
        partitions = group.initializing.pop(name)
        group.initialized[name] = sorted({*group.initialized.get(name, ()), *partitions})
        self._write_share_state(group)

    def _heartbeat(self, group: ShareGroup) -> None:
        if self.chance(0.8):
            self._notice_topics(group)
        self._go_on(group, self._any_member(group))

    def _notice_topics(self, group: ShareGroup) -> None:
        """Bump the epoch if topics are other ones, or if other partitions are initialized than those assigned."""
        is_assigned = group.epoch == group.assignment_epoch
        if group.metadata_hash != self._hash:
            self._bump(group, "topic_metadata_changed", [])
        elif is_assigned and NOTHING.union(*group.targets.values()) != group.wanted():
            self._bump(group, "partitions_initialized", [])

    def _go_on(self, group: ShareGroup, member: ShareMember, *, is_new: bool = False) -> None:
        """Do what the rest of a heartbeat does: assign, perhaps later; answer the member; initialize partitions."""
        if group.epoch > group.assignment_epoch and self.chance(0.6):
            self._assign(group)
        by_id = {group.topics[name].topic_id for name in member.topics & group.topics.keys()}
        target = group.targets.get(member.member_id, NOTHING)
        assigned = frozenset(partition for partition in target if partition[0] in by_id)
        if is_new or (member.epoch, member.assigned) != (group.assignment_epoch, assigned):
            before = 0 if is_new else member.epoch
            member.previous_epoch, member.epoch, member.assigned = before, group.assignment_epoch, assigned
            value = {"memberEpoch": member.epoch, "previousMemberEpoch": before, "state": 0}
            self._write(
                KeyType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
                {**value, "assignedPartitions": topic_partitions(assigned)},
                member,
            )
        missing = group.uninitialized()
        for name, partitions in missing.items():
            group.initializing[name] = sorted({*group.initializing.get(name, ()), *partitions})
        if missing:
            self._write_share_state(group)

    def _bump(self, group: ShareGroup, cause: str, triggers: list[str]) -> None:
        group.epoch += 1
        self._hash = group.metadata_hash
        self._write(KeyType.SHARE_GROUP_METADATA, {"epoch": group.epoch, "metadataHash": self._hash})
        self.tell("bump", group, cause, triggers)

    def _assign(self, group: ShareGroup) -> None:
        targets = group.assign(self.rng)
        for member_id, target in targets.items():
            if target != group.targets.get(member_id):
                self._write(
                    KeyType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER,
                    {"topicPartitions": topic_partitions(target)},
                    group.members[member_id],
                )
        group.targets = targets
        group.assignment_epoch = group.epoch
        self._write(KeyType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA, {"assignmentEpoch": group.epoch})
        self.tell("assign", group)

    def _begin_deletion(self, group: ShareGroup) -> None:
        """Delete the share state of all topics; the group follows in an operation of its own."""
        names = group.initializing.keys() | group.initialized.keys()
        if not names:
            self._delete(group)
            return
        group.deleting = {name: group.topics[name].topic_id for name in sorted(names)}
        group.initializing, group.initialized = {}, {}
        self._write_share_state(group)

    def _delete(self, group: ShareGroup) -> None:
        for key_type in (
            KeyType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA,
            KeyType.SHARE_GROUP_STATE_PARTITION_METADATA,
            KeyType.SHARE_GROUP_METADATA,
        ):
            self._write(key_type, None)
        group.deleting = {}
        group.initializing, group.initialized = {}, {}
        self.tell("delete", group)
        self._group = None

    def _any_member(self, group: ShareGroup) -> ShareMember:
        return self.rng.choice(list(group.members.values()))

    def _some_topics(self) -> frozenset[str]:
        return frozenset(self.rng.sample(self._all_topics, self.rng.randint(1, 3)))

    def _write_member(self, member: ShareMember) -> None:
        client = {"rackId": None, "clientId": member.client_id, "clientHost": member.host}
        value = {**client, "subscribedTopicNames": sorted(member.topics)}
        self._write(KeyType.SHARE_GROUP_MEMBER_METADATA, value, member)

    def _write_share_state(self, group: ShareGroup) -> None:
        value = {
            "initializingTopics": _named(group, group.initializing),
            "initializedTopics": _named(group, group.initialized),
            "deletingTopics": [{"topicId": topic_id, "topicName": name} for name, topic_id in group.deleting.items()],
        }
        self._write(KeyType.SHARE_GROUP_STATE_PARTITION_METADATA, value)
        self.tell("write_share_state")

    def _write(self, key_type: int, value: dict[str, Any] | None, member: ShareMember | None = None) -> None:
        key = {"groupId": self.group_id} if member is None else {"groupId": self.group_id, "memberId": member.member_id}
        self.write(key_type, key, value)


def _named(group: ShareGroup, topics: dict[str, list[int]]) -> list[dict[str, Any]]:
    return [
        {"topicId": group.topics[name].topic_id, "topicName": name, "partitions": partitions}
        for name, partitions in topics.items()
    ]
