"""A streams group (KIP-1071) as its coordinator has it in memory: threads with tasks in two roles.

Threads reconcile as `CurrentAssignmentBuilder` of streams groups in Kafka lets them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

ACTIVE, STANDBY = "active", "standby"
STABLE, UNREVOKED, UNRELEASED = 1, 2, 3
SUBTOPOLOGY: Final = "s"

Held = dict[str, frozenset[int]]
"""Tasks by role."""

_KEEPS: Final = 0.6
"""The share of tasks that their owner keeps."""

NOTHING: Final[Held] = {ACTIVE: frozenset(), STANDBY: frozenset()}


@dataclass(eq=False)
class Thread:
    """A member: a thread of a process."""

    member_id: str
    process: str
    epoch: int
    client_id: str = "app"
    host: str = "/h"
    state: int = STABLE
    assigned: Held = field(default_factory=lambda: dict(NOTHING))
    pending: Held = field(default_factory=lambda: dict(NOTHING))
    target: Held = field(default_factory=lambda: dict(NOTHING))

    def holds(self, role: str, task: int) -> bool:
        """Return whether it has a task in a role, or is giving it up."""
        return task in self.assigned[role] or task in self.pending[role]

    def has(self, task: int) -> bool:
        """Return whether it has a task in any role."""
        return any(self.holds(role, task) for role in NOTHING)


@dataclass
class StreamsGroup:
    """One streams group. `validated`: the topology epoch whose topics are all there, -1 for none."""

    tasks: int
    epoch: int = 1
    assignment_epoch: int = 1
    topology: int | None = None
    validated: int = -1
    threads: dict[str, Thread] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """The state, as `StreamsGroup` in Kafka computes it."""
        if not self.threads:
            return "Empty"
        if self.topology != self.validated:
            return "NotReady"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        late = any(t.state != STABLE or t.epoch != self.assignment_epoch for t in self.threads.values())
        return "Reconciling" if late else "Stable"

    def assign(self, random: Random) -> dict[str, Held]:
        """Return targets: each task for a random thread, often the one that has it, and a standby elsewhere."""
        targets: dict[str, dict[str, set[int]]] = {m: {ACTIVE: set(), STANDBY: set()} for m in self.threads}
        for task in range(self.tasks) if self.validated >= 0 else ():
            holder = next((m for m, thread in self.threads.items() if thread.holds(ACTIVE, task)), None)
            owner = holder if holder is not None and random.random() < _KEEPS else random.choice(list(targets))
            targets[owner][ACTIVE].add(task)
            others = [m for m, thread in self.threads.items() if thread.process != self.threads[owner].process]
            if others:
                targets[random.choice(others)][STANDBY].add(task)
        return {m: {role: frozenset(tasks) for role, tasks in target.items()} for m, target in targets.items()}

    def reconcile(self, thread: Thread) -> bool:
        """Let a thread go as far towards its target as others allow, and return whether that changed anything."""
        before = (thread.epoch, thread.state, thread.assigned, thread.pending)
        kept = {role: thread.assigned[role] & thread.target[role] for role in NOTHING}
        pending = {role: thread.assigned[role] - thread.target[role] for role in NOTHING}
        if any(pending.values()):
            thread.state, thread.assigned, thread.pending = UNREVOKED, kept, pending
        else:
            wanted = {role: thread.target[role] - kept[role] for role in NOTHING}
            free = {role: frozenset(t for t in wanted[role] if self._is_free(thread, role, t)) for role in NOTHING}
            thread.assigned = {role: kept[role] | free[role] for role in NOTHING}
            thread.pending = dict(NOTHING)
            thread.state = STABLE if free == wanted else UNRELEASED
            thread.epoch = self.assignment_epoch
        return before != (thread.epoch, thread.state, thread.assigned, thread.pending)

    def _is_free(self, thread: Thread, role: str, task: int) -> bool:
        others = self.threads.values()
        if role == ACTIVE and any(other.holds(ACTIVE, task) for other in others):
            return False
        return not any(other.has(task) for other in others if other.process == thread.process)
