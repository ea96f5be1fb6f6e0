"""A random walk of a streams group (KIP-1071): threads, tasks, and a topology that may lack topics."""

from __future__ import annotations

from typing import Any, Final

from kip848_records.protocol.key_types import KeyType
from kip848_records.simulate.walks.streams_group import (
    ACTIVE,
    NOTHING,
    STANDBY,
    SUBTOPOLOGY,
    UNREVOKED,
    Held,
    StreamsGroup,
    Thread,
)
from kip848_records.simulate.walks.walk import Walk

_TASKS: Final = 4
_THREADS: Final = 4
"""The usual number of threads."""
_PROCESSES: Final = "pqr"
_FIELDS: Final = {ACTIVE: "activeTasks", STANDBY: "standbyTasks"}


class StreamsWalk(Walk):
    """One streams group. Each step is one operation: a heartbeat, or an event."""

    LONGEST_STEP_MS = 0

    def __init__(self, seed: object, group_id: str = "g", event_ms: int = 30_000) -> None:
        super().__init__(seed, group_id, event_ms)
        self._group = StreamsGroup(_TASKS)

    def pause(self) -> int:
        """Return the time up to the next heartbeat, or up to the next event if the group is at rest."""
        is_at_rest = self._group.state in {"Stable", "Empty"}
        return self.until_event() if is_at_rest else self.until_heartbeat(len(self._group.threads))

    def step(self) -> None:
        """Write one operation, if there is anything to write."""
        group, is_event = self._group, self.is_event_due()
        if not group.threads:
            self._join()
        elif is_event:
            steps = {self._join: _THREADS, self._leave: len(group.threads), self._invalidate: 1}
            self.rng.choices(list(steps), list(steps.values()))[0]()
        elif group.validated < 0 and group.epoch == group.assignment_epoch and self.chance(0.4):
            self._bump("topology_validated", validated=0)
        elif group.epoch > group.assignment_epoch and self.chance(0.6):
            self._assign()
        else:
            self._heartbeat()

    def _join(self) -> None:
        self._add(Thread(self.new_id(), self.rng.choice(_PROCESSES), self._group.assignment_epoch))

    def _add(self, thread: Thread) -> None:
        group = self._group
        is_first = group.topology is None
        group.threads[thread.member_id] = thread
        client: dict[str, Any] = {"clientId": thread.client_id, "clientHost": thread.host, "processId": thread.process}
        client |= {"rebalanceTimeoutMs": 300_000}
        unused: dict[str, Any] = {"instanceId": None, "rackId": None, "userEndpoint": None, "clientTags": []}
        self._write(KeyType.STREAMS_GROUP_MEMBER_METADATA, {**client, **unused, "topologyEpoch": 0}, thread)
        if is_first:
            self._write(KeyType.STREAMS_GROUP_TOPOLOGY, {"epoch": 0, "subtopologies": [self._subtopology()]})
            group.topology = 0
        self._bump("topology_initialized" if is_first else "member_joined")
        if self.chance(0.5):
            self._assign()
        self._reconcile(thread, is_new=True)

    def _leave(self) -> None:
        self._remove_thread(self.rng.choice(list(self._group.threads)))

    def _remove_thread(self, member_id: str) -> None:
        thread = self._group.threads.pop(member_id)
        for key_type in (
            KeyType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
            KeyType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER,
            KeyType.STREAMS_GROUP_MEMBER_METADATA,
        ):
            self._write(key_type, None, thread)
        self._bump("member_left")

    def _invalidate(self) -> None:
        """A source topic is missing, until the topology is validated again."""
        if self._group.validated >= 0 and self._group.epoch == self._group.assignment_epoch:
            self._bump("topology_invalidated", validated=-1)

    def _heartbeat(self) -> None:
        thread = self._any_thread()
        if thread.state == UNREVOKED:
            if self._closes(thread):
                return
            thread.pending = dict(NOTHING)
        self._reconcile(thread)

    def _closes(self, thread: Thread) -> bool:  # noqa: ARG002 - of a scripted group
        """Return whether a thread still closes tasks."""
        return self.chance(0.3)

    def _any_thread(self) -> Thread:
        return self.rng.choice(list(self._group.threads.values()))

    def _bump(self, cause: str, validated: int | None = None) -> None:
        group = self._group
        group.epoch += 1
        group.validated = group.validated if validated is None else validated
        value = {"epoch": group.epoch, "lastAssignmentConfigs": [{"key": "num.standby.replicas", "value": "1"}]}
        self._write(
            KeyType.STREAMS_GROUP_METADATA, {**value, "metadataHash": 0, "validatedTopologyEpoch": group.validated}
        )
        self.tell("bump", group, cause)

    def _assign(self) -> None:
        group = self._group
        for member_id, target in group.assign(self.rng).items():
            thread = group.threads[member_id]
            if target != thread.target or self.chance(0.1):
                self._write(KeyType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, _tasks(target), thread)
            thread.target = target
        self._write(KeyType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, {"assignmentEpoch": group.epoch})
        group.assignment_epoch = group.epoch
        self.tell("assign", group)

    def _reconcile(self, thread: Thread, *, is_new: bool = False) -> None:
        before = 0 if is_new else thread.epoch
        if self._group.reconcile(thread) or is_new:
            value = {"memberEpoch": thread.epoch, "previousMemberEpoch": before, "state": thread.state}
            self._write(
                KeyType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
                {**value, **_tasks(thread.assigned), **_tasks(thread.pending, "PendingRevocation")},
                thread,
            )

    def _subtopology(self) -> dict[str, Any]:
        changelog = {"name": "changelog", "partitions": 0, "replicationFactor": 0, "topicConfigs": []}
        part: dict[str, Any] = {"subtopologyId": SUBTOPOLOGY, "sourceTopics": [f"{self.group_id}-topic"]}
        unused = ("sourceTopicRegex", "repartitionSinkTopics", "repartitionSourceTopics", "copartitionGroups")
        return part | {"stateChangelogTopics": [changelog]} | {name: [] for name in unused}

    def _write(self, key_type: int, value: dict[str, Any] | None, thread: Thread | None = None) -> None:
        key = {"groupId": self.group_id} if thread is None else {"groupId": self.group_id, "memberId": thread.member_id}
        self.write(key_type, key, value)


def _tasks(held: Held, suffix: str = "") -> dict[str, Any]:
    tasks = {
        f"{name}{suffix}": [{"subtopologyId": SUBTOPOLOGY, "partitions": sorted(held[role])}] if held[role] else []
        for role, name in _FIELDS.items()
    }
    return {**tasks, f"warmupTasks{suffix}": []}
