"""Share groups, streams groups and Connect clusters whose clients follow a script: walks without chance."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kip848_records.kinds import CONNECT, SHARE, STREAMS
from kip848_records.simulate.walks.connect_leader import Worker
from kip848_records.simulate.walks.share import ShareWalk
from kip848_records.simulate.walks.share_group import ShareGroup, ShareMember
from kip848_records.simulate.walks.streams import StreamsWalk
from kip848_records.simulate.walks.streams_group import Held, Thread
from tests.simulator.scripted.script import Script
from tests.simulator.walks.connect import ObservedConnectWalk

if TYPE_CHECKING:
    from tests.simulator.scripted.process import Process


_HEARTBEAT_MS = 5_000


class _Walked(Script):
    """A walk that sends heartbeats until nothing is left to do. Members send them in turn, each one all 5 s."""

    _turn = 0

    def until_heartbeat(self, members: int) -> int:
        """Return the time up to the next heartbeat, in ms."""
        return max(1, _HEARTBEAT_MS // members)

    def next_id(self) -> str:
        """Return the member whose turn it is."""
        self._turn += 1
        return list(self._there)[self._turn % len(self._there)]

    def let_pass(self, time: int) -> None:
        """Let members send heartbeats up to a time (ms)."""
        while self._there and not self.is_at_rest():
            pause = self.until_heartbeat(len(self._there))
            if self.now + pause > time:
                return
            self.now += pause
            self.step_on()

    def is_at_rest(self) -> bool:
        """Return whether heartbeats change nothing."""
        raise NotImplementedError

    def step_on(self) -> None:
        """Let a member send a heartbeat."""


class ShareScript(_Walked, ShareWalk):
    """A share group."""

    KIND = SHARE

    def __init__(self, seed: object, group_id: str = "g") -> None:
        super().__init__(seed, group_id)
        self.topics = frozenset(self._all_topics)

    def is_at_rest(self) -> bool:
        """Return whether heartbeats change nothing."""
        return self._group is None or self._is_at_rest(self._group)

    def step_on(self) -> None:
        """Let a member send a heartbeat, or the share coordinator initialize a topic."""
        ShareWalk.step(self)

    def _any_member(self, group: ShareGroup) -> ShareMember:
        return group.members[self.next_id()]

    def enter(self, process: Process) -> None:
        """Let the coordinator add a member."""
        group = self._present_group()
        topics = process.topics or self.topics
        member = ShareMember(process.member_id, topics, group.assignment_epoch, process.client_id, process.host)
        self._add(group, member)

    def exit(self, member_id: str) -> None:
        """Let the coordinator remove a member."""
        group = self._present_group()
        self._remove_member(group, group.members[member_id])


class StreamsScript(_Walked, StreamsWalk):
    """A streams group, each process with one thread."""

    KIND = STREAMS

    def __init__(self, seed: object, group_id: str = "g") -> None:
        super().__init__(seed, group_id)
        self._closing: dict[Process, tuple[Held, int]] = {}
        self._revocations: Counter[Process] = Counter()

    def is_at_rest(self) -> bool:
        """Return whether heartbeats change nothing."""
        return self._group.state in {"Stable", "Empty"}

    def step_on(self) -> None:
        """Let a thread send a heartbeat."""
        StreamsWalk.step(self)

    def _any_thread(self) -> Thread:
        return self._group.threads[self.next_id()]

    def _closes(self, thread: Thread) -> bool:
        """Return whether a thread still closes tasks, which it has known of since its last heartbeat."""
        process = self._there[thread.member_id]
        pending, since = self._closing.get(process, (None, 0))
        if pending is not thread.pending:
            since = self.now - _HEARTBEAT_MS
            self._closing[process] = thread.pending, since
            self._revocations[process] += 1
        return self.now < since + process.revoke_ms

    def revocations(self, process: Process) -> int:
        """Return how often a process has closed tasks for others."""
        return self._revocations[process]

    def enter(self, process: Process) -> None:
        """Let the coordinator add a thread."""
        name = f"{process.client_id}@{process.host}"
        group = self._group
        self._add(Thread(process.member_id, name, group.assignment_epoch, process.client_id, process.host))

    def exit(self, member_id: str) -> None:
        """Let the coordinator remove a thread."""
        self._remove_thread(member_id)

    def behind(self) -> int:
        """Return how many threads have not reached the assigned epoch."""
        return sum(each.epoch < self._group.assignment_epoch for each in self._group.threads.values())


class ConnectScript(Script, ObservedConnectWalk):
    """A Connect cluster: a round follows each change, and the end of each delay."""

    KIND = CONNECT
    LONGEST_STEP_MS = ObservedConnectWalk.LONGEST_STEP_MS
    TABLES = (*ObservedConnectWalk.TABLES, "diagnosis")
    SESSION_MS = 10_000

    def __init__(self, seed: object, group_id: str = "g") -> None:
        super().__init__(seed, group_id)
        self._version = 2
        self._tasks = {"orders-sink": 5, "audit-source": 3}
        self._config_offset = 3
        self._gone_urls: dict[str, str] = {}

    def chance(self, share: float) -> bool:  # noqa: ARG002
        """Return False: nothing happens by chance."""
        return False

    def let_pass(self, time: int) -> None:
        """Let workers join again when a delay has passed."""
        until = self._leader.delay_until
        while self._workers and until is not None and max(until, self.now) < time:
            self.now = max(until, self.now) + 1
            self._rebalance("unknown")
            until = self._leader.delay_until

    def enter(self, process: Process) -> None:
        """Let a worker join."""
        if self._generation is None:
            self._create()
        url = f"http://{process.host.strip('/')}:8083/"
        self._workers.append(
            Worker(process.member_id, url, self._config_offset, client_id=process.client_id, host=process.host)
        )
        self.pass_time()
        self._rebalance("unknown")

    def exit(self, member_id: str) -> None:
        """Let a worker leave."""
        worker = next(each for each in self._workers if each.member_id == member_id)
        if len(self._workers) == 1:
            self._kill_all()
            return
        self._stop_worker(worker)
        self._rebalance("unknown")

    def configure(self, connector: str, tasks: int) -> None:
        """Let a connector have so many tasks; 0: it is deleted."""
        if tasks:
            self._tasks[connector] = tasks
        else:
            self._tasks.pop(connector, None)
        self._config_offset += 1
        if self._workers:
            for worker in self._workers:
                worker.config_offset = self._config_offset
            self._rebalance("config_changed")

    def moves(self) -> list[tuple[int, tuple[str, int]]]:
        """Return the moves of connectors and tasks so far: time (ms) and unit."""
        return [
            (row["acquired_at"], (row["connector"], row["task"]))
            for row in self.rows["task_handover"]
            if row["from_member"] is not None and row["acquired_at"] is not None
        ]
