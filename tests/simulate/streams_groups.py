"""A simulated streams group: its threads, the records that its coordinator writes, and what really happened.

Threads reconcile as `CurrentAssignmentBuilder` of streams groups in Kafka lets them. The truth is noted from the state
of the simulated coordinator at the end of each operation; nothing of it is read from the records.
"""

import random
from dataclasses import dataclass, field
from typing import Any

START = 1_795_249_000_000
CAPTURED_AFTER_MS = 1_000
ACTIVE, STANDBY = "active", "standby"
STABLE, UNREVOKED, UNRELEASED = 1, 2, 3
Task = tuple[str, int]
Held = dict[str, frozenset[int]]
"""Tasks by role."""

NOTHING: Held = {ACTIVE: frozenset(), STANDBY: frozenset()}
_RECORD_NAMES = {ACTIVE: "activeTasks", STANDBY: "standbyTasks"}


@dataclass(eq=False)
class Thread:
    """A member: a thread of a process."""

    member_id: str
    process: str
    epoch: int
    state: int = STABLE
    assigned: Held = field(default_factory=lambda: dict(NOTHING))
    pending: Held = field(default_factory=lambda: dict(NOTHING))
    target: Held = field(default_factory=lambda: dict(NOTHING))

    def holds(self, role: str, task: int) -> bool:
        return task in self.assigned[role] or task in self.pending[role]

    def has(self, task: int) -> bool:
        return any(self.holds(role, task) for role in NOTHING)


@dataclass
class StreamsWalk:
    """One group's random walk."""

    seed: int
    tasks: int = 4
    now: int = START
    epoch: int = 1
    assignment_epoch: int = 1
    topology: int | None = None
    validated: int = -1
    threads: dict[str, Thread] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    named: int = 0
    states: list[tuple[Any, ...]] = field(default_factory=list)
    handovers: list[tuple[Any, ...]] = field(default_factory=list)
    owned: list[tuple[Any, ...]] = field(default_factory=list)
    epochs: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)  # noqa: S311 - a log, not a secret
        self.state: tuple[str, int] | None = None
        self.since: dict[tuple[str, str, int], int] = {}
        self.owners: dict[int, str] = {}
        self.free: dict[int, tuple[str, int]] = {}
        self.warm: dict[tuple[int, str], bool] = {}
        self.targets: dict[int, str] | None = None

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.now += self.rng.randint(1, 5_000)
            if not self.threads:
                self.join()
            elif self.validated < 0 and self.epoch == self.assignment_epoch and self.rng.random() < 0.4:
                self.bump("topology_validated", validated=0)
            elif self.epoch > self.assignment_epoch and self.rng.random() < 0.6:
                self.assign()
            else:
                steps_weights = [(self.heartbeat, 30), (self.join, 3), (self.leave, 3), (self.invalidate, 1)]
                self.rng.choices(*zip(*steps_weights, strict=True))[0]()
            self.end_operation()
        self.finish()

    def join(self) -> None:
        self.named += 1
        thread = Thread(f"m{self.named}", self.rng.choice("pqr"), 0)
        is_first = self.topology is None
        self.threads[thread.member_id] = thread
        self.put(19, thread, {"clientId": "app", "processId": thread.process, "topologyEpoch": 0})
        if is_first:
            part = {"subtopologyId": "s", "stateChangelogTopics": [{"name": "changelog"}]}
            self.put(23, None, {"epoch": 0, "subtopologies": [part]})
            self.topology = 0
        thread.epoch = self.assignment_epoch
        self.bump("topology_initialized" if is_first else "member_joined")
        if self.rng.random() < 0.5:
            self.assign()
        self.settle(thread)

    def leave(self) -> None:
        thread = self.threads.pop(self.rng.choice(list(self.threads)))
        for kind in (22, 21, 19):
            self.put(kind, thread, None)
        self.bump("member_left")

    def invalidate(self) -> None:
        if self.validated >= 0 and self.epoch == self.assignment_epoch:
            self.bump("topology_invalidated", validated=-1)

    def bump(self, cause: str, validated: int | None = None) -> None:
        self.epoch += 1
        self.validated = self.validated if validated is None else validated
        value = {"epoch": self.epoch, "lastAssignmentConfigs": [{"key": "num.standby.replicas", "value": "1"}]}
        self.put(17, None, {**value, "metadataHash": 0, "validatedTopologyEpoch": self.validated})
        row = {"epoch": self.epoch, "cause": cause, "bumped_at": self.now, "assigned_at": None, "converged_at": None}
        self.epochs.append({**row, "moved": None, "status": None, "superseded_by": None})

    def assign(self) -> None:
        """Give each task to a random thread, often to the one that has it, and a standby to another process."""
        targets: dict[str, dict[str, set[int]]] = {m: {ACTIVE: set(), STANDBY: set()} for m in self.threads}
        owners: dict[int, str] = {}
        for task in range(self.tasks) if self.validated >= 0 else ():
            holder = next((m for m, thread in self.threads.items() if thread.holds(ACTIVE, task)), None)
            owner = holder if holder is not None and self.rng.random() < 0.6 else self.rng.choice(list(targets))
            targets[owner][ACTIVE].add(task)
            owners[task] = owner
            others = [m for m, thread in self.threads.items() if thread.process != self.threads[owner].process]
            if others:
                targets[self.rng.choice(others)][STANDBY].add(task)
        for member_id, thread in self.threads.items():
            target = {role: frozenset(tasks) for role, tasks in targets[member_id].items()}
            if target != thread.target or self.rng.random() < 0.1:
                self.put(21, thread, _tasks(target))
            thread.target = target
        self.put(20, None, {"assignmentEpoch": self.epoch})
        self.assignment_epoch = self.epoch
        moved = None
        if self.targets is not None:
            moved = sum(owners[task] != self.targets[task] for task in owners.keys() & self.targets.keys())
        for row in self.epochs:
            if row["status"] is None and row["assigned_at"] is None:
                row |= {"assigned_at": self.now, "moved": moved}
        self.targets = owners
        self.warm = {
            (task, m): any(other.has(task) for other in self.threads.values() if other.process == thread.process)
            for m, thread in self.threads.items()
            for task in thread.target[ACTIVE]
            if not thread.holds(ACTIVE, task)
        }

    def heartbeat(self) -> None:
        thread = self.rng.choice(list(self.threads.values()))
        if thread.state == UNREVOKED:
            if self.rng.random() < 0.3:
                return  # it still closes tasks
            thread.pending = dict(NOTHING)
        self.settle(thread)

    def settle(self, thread: Thread) -> None:
        """Let a thread go as far towards its target as others allow; write it if that changes anything."""
        before = (thread.epoch, thread.state, thread.assigned, thread.pending)
        kept = {role: thread.assigned[role] & thread.target[role] for role in NOTHING}
        pending = {role: thread.assigned[role] - thread.target[role] for role in NOTHING}
        if any(pending.values()):
            thread.state, thread.assigned, thread.pending = UNREVOKED, kept, pending
        else:
            wanted = {role: thread.target[role] - kept[role] for role in NOTHING}
            free = {role: frozenset(t for t in wanted[role] if self.is_free(thread, role, t)) for role in NOTHING}
            thread.assigned = {role: kept[role] | free[role] for role in NOTHING}
            thread.pending = dict(NOTHING)
            thread.state = STABLE if free == wanted else UNRELEASED
            thread.epoch = self.assignment_epoch
        if before != (thread.epoch, thread.state, thread.assigned, thread.pending) or thread.epoch == 0:
            value = {"memberEpoch": thread.epoch, "previousMemberEpoch": before[0], "state": thread.state}
            self.put(22, thread, {**value, **_tasks(thread.assigned), **_tasks(thread.pending, "PendingRevocation")})

    def is_free(self, thread: Thread, role: str, task: int) -> bool:
        others = self.threads.values()
        if role == ACTIVE and any(other.holds(ACTIVE, task) for other in others):
            return False
        return not any(other.has(task) for other in others if other.process == thread.process)

    def end_operation(self) -> None:
        """Note what is different now from the end of the operation before."""
        if not self.records or self.records[-1]["timestamp"] != self.now:
            return
        self.note_owned()
        self.note_handovers()
        state = self.current_state()
        if self.state is None or state != self.state[0]:
            if self.state is not None:
                self.states.append((*self.state, self.now))
            self.state = state, self.now
        if state == "Empty":
            self.targets = None
        if state in {"Stable", "Empty"}:
            for row in self.epochs:
                if row["status"] is None:
                    last = row["epoch"] == self.epoch
                    ended = {"converged_at": self.now, "status": "converged" if last else "superseded"}
                    ended |= {} if last else {"superseded_by": self.epoch}
                    row.update({"status": "emptied"} if state == "Empty" else ended)

    def current_state(self) -> str:
        if not self.threads:
            return "Empty"
        if self.topology != self.validated:
            return "NotReady"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        late = any(t.state != STABLE or t.epoch != self.assignment_epoch for t in self.threads.values())
        return "Reconciling" if late else "Stable"

    def note_owned(self) -> None:
        held = {
            (m, role, task)
            for m, thread in self.threads.items()
            for role in NOTHING
            for task in thread.assigned[role] | thread.pending[role]
        }
        for key in self.since.keys() - held:
            self.owned.append((*key, self.since.pop(key), self.now))
        for key in held - self.since.keys():
            self.since[key] = self.now

    def note_handovers(self) -> None:
        owners = {t: m for m, thread in self.threads.items() for t in thread.assigned[ACTIVE] | thread.pending[ACTIVE]}
        for task, before in self.owners.items():
            if owners.get(task) != before:
                self.free[task] = before, self.now
        for task, owner in owners.items():
            if self.owners.get(task) != owner:
                before, at = self.free.pop(task, (None, None))
                gap = None if at is None else self.now - at
                self.handovers.append((task, before, owner, "acquired", self.now, gap, self.warm.get((task, owner))))
        self.owners = owners
        wanted = {task for thread in self.threads.values() for task in thread.target[ACTIVE]}
        is_assigned = self.epoch == self.assignment_epoch
        for task in [task for task in self.free if not self.threads or (is_assigned and task not in wanted)]:
            before, at = self.free.pop(task)
            self.handovers.append((task, before, None, "removed", self.now, self.now - at, None))

    def finish(self) -> None:
        captured_at = self.now + CAPTURED_AFTER_MS
        self.owned += [(*key, since, None) for key, since in self.since.items()]
        if self.state is not None:
            self.states.append((*self.state, None))
        for task, (before, at) in self.free.items():
            self.handovers.append((task, before, None, "open", None, captured_at - at, None))
        for row in self.epochs:
            if row["status"] is None and row["epoch"] != self.epoch:
                row |= {"status": "superseded", "superseded_by": self.epoch}
            elif row["status"] is None:
                row["status"] = "open"

    def put(self, kind: int, thread: Thread | None, value: dict[str, Any] | None) -> None:
        key = {"groupId": "g"} if thread is None else {"groupId": "g", "memberId": thread.member_id}
        place = {"partition": 0, "offset": len(self.records), "timestamp": self.now, "size": 10}
        self.records.append({**place, "type": kind, "key": key, "value": value})


def _tasks(held: Held, suffix: str = "") -> dict[str, Any]:
    return {
        f"{name}{suffix}": [{"subtopologyId": "s", "partitions": sorted(held[role])}] if held[role] else []
        for role, name in _RECORD_NAMES.items()
    }
