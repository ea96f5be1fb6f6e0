"""The base of groups whose clients follow a script: processes that start, stop, are killed and come back."""

from __future__ import annotations

from abc import abstractmethod
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, ClassVar

from tests.simulator.scripted.process import Process, Trouble
from tests.simulator.walks.observed import Observed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NO_CHANCE = 1 << 40


class Script(Observed):
    """One group id whose clients do what scripts say. A script is a generator that yields the ms that it waits.

    The same seed gives the same log. The truth is what the processes did, as the coordinator saw it: it knows nothing
    of the rules of a diagnosis.
    """

    LONGEST_STEP_MS = 0
    TABLES: ClassVar[tuple[str, ...]] = ("diagnosis",)
    KIND: ClassVar[str]
    SESSION_MS = 45_000
    """After so much time the coordinator removes a member that is silent."""

    def __init__(self, seed: object, group_id: str = "g") -> None:
        super().__init__(seed, group_id, _NO_CHANCE)
        self._planned: list[tuple[int, int, Callable[[], None]]] = []
        self._plans = 0
        self._there: dict[str, Process] = {}
        self._silent: set[str] = set()
        """The members that sent their last heartbeat."""
        self._troubles: list[Trouble] = []
        self._is_hung = False
        self.topics = frozenset({"orders"})
        """The topics of the group's processes."""

    def at(self, time: int, action: Callable[[], None]) -> None:
        """Plan an action."""
        self._plans += 1
        heappush(self._planned, (time, self._plans, action))

    def follow(self, script: Iterator[int], after: int = 0) -> None:
        """Follow a script, beside others, from some ms on."""

        def go_on() -> None:
            wait = next(script, None)
            if wait is not None:
                self.at(self.now + wait, go_on)

        self.at(self.now + after, go_on)

    def run_until(self, time: int) -> None:
        """Run what is planned up to a time (ms)."""
        while self._planned and self._planned[0][0] <= time and not self._is_hung:
            at, _, action = heappop(self._planned)
            self.let_pass(at)
            self.now = max(at, self.now + 1)
            action()
        if not self._is_hung:
            self.let_pass(time)

    def step(self) -> None:
        """Do nothing by chance."""

    def is_event_due(self) -> bool:
        """Return False: nothing happens by chance."""
        return False

    def until_event(self) -> int:
        """Return the time to an event by chance: there is none."""
        return _NO_CHANCE

    def close(self, captured_at: int) -> None:
        """Note the troubles: the log was captured at a time (ms)."""
        super().close(captured_at)
        for each in self._troubles:
            last_seen = captured_at if each.last_seen is None else each.last_seen
            row = {"pattern": each.pattern, "subject": each.subject, "count": each.count()}
            self.note("diagnosis", row | {"first_seen": each.first_seen, "last_seen": last_seen})

    def start(self, process: Process, *, returns: bool = False) -> None:
        """Let a process start and join. `returns`: it never ended, and joins under the member id that it had."""
        before = self._holder(process)
        old = None if before is None else before.member_id
        if not returns or not process.member_id:
            process.member_id = self.new_id()
        process.runs = True
        if before is None or old is None:
            self._there[process.member_id] = process
            self.enter(process)
            return
        if not before.is_away:
            before.ends += 1
        before.is_away = process.is_away = False
        del self._there[old]
        self._there[process.member_id] = process
        self.replace(process, old)

    def hang(self) -> None:
        """Let the coordinator do nothing more."""
        self._is_hung = True

    def _holder(self, process: Process) -> Process | None:
        """Return the process that has the instance id now."""
        if process.instance_id is None:
            return None
        return next((each for each in self._there.values() if each.instance_id == process.instance_id), None)

    def stop(self, process: Process) -> None:
        """Let a process end in order: it leaves, or goes away if it has an instance id."""
        process.runs = False
        if process.instance_id is None:
            self._remove(process, process.member_id)
        elif self.go_away(process):
            process.is_away = True
            process.ends += 1
            self._expire_later(process)
        else:
            self.kill(process)

    def kill(self, process: Process) -> None:
        """Let a process end without a word: the coordinator removes it later."""
        process.runs = False
        self._silent.add(process.member_id)
        self.silence(process)
        self._expire_later(process)

    def _expire_later(self, process: Process) -> None:
        member_id = process.member_id

        def expire() -> None:
            if not (process.runs and process.member_id == member_id):
                self._remove(process, member_id)

        self.at(self.now + self.SESSION_MS, expire)

    def _remove(self, process: Process, member_id: str) -> None:
        if self._there.pop(member_id, None) is None:
            return
        self._silent.discard(member_id)
        process.ends += not process.is_away
        process.is_away = False
        self.exit(member_id)

    def trouble(
        self,
        pattern: str,
        count: Callable[[], int],
        process: Process | None = None,
        **subject: Any,
    ) -> Trouble:
        """Note that something is wrong from now on, with a process or with the group."""
        if process is not None:
            subject |= {"client_id": process.client_id, "client_host": process.host}
            subject |= {} if process.instance_id is None else {"instance_id": process.instance_id}
        trouble = Trouble(pattern, self.now, count, subject)
        self._troubles.append(trouble)
        return trouble

    @abstractmethod
    def let_pass(self, time: int) -> None:
        """Let members send heartbeats up to a time (ms)."""

    @abstractmethod
    def enter(self, process: Process) -> None:
        """Let the coordinator add a member."""

    @abstractmethod
    def exit(self, member_id: str) -> None:
        """Let the coordinator remove a member."""

    def silence(self, process: Process) -> None:
        """Let a member send no more heartbeats."""

    def go_away(self, process: Process) -> bool:  # noqa: ARG002 - of some kinds
        """Let a static member say that it will be back; return False if members of this kind say nothing."""
        return False

    def replace(self, process: Process, old: str) -> None:
        """Let a static member take the place of another member id."""
        raise NotImplementedError
