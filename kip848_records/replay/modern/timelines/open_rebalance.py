"""A rebalance that has not ended: its epochs, and for how long each member blocks it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay.group.context import Stopwatch
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.spill import IdSet
from kip848_records.replay.modern.member import AWAY, GONE, STABLE, UNREVOKED, Member
from kip848_records.replay.rows import new_struct
from kip848_records.specs.tables import BLOCKER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.modern.targets import Assignment
    from kip848_records.replay.modern.timelines.epochs import Bump

_new_blocker: Final = new_struct(BLOCKER)

WORST: Final = 20
"""How many blockers a row of `rebalance` lists."""
MANY: Final = 10_000
"""How many blockers that left, or members that triggered a bump, are kept per rebalance."""


@dataclass(slots=True, eq=False)
class BlockerTimes:
    """How long a member blocked a rebalance. `member`: None after it left; `waiters`: the members that it blocked."""

    member_id: str
    member: Member | None = None
    identity: tuple[str | None, str | None, str | None] = (None, None, None)
    late: Stopwatch = field(default_factory=Stopwatch)
    blocking: Stopwatch = field(default_factory=Stopwatch)
    revoke_ms: int = 0
    away_ms: int = 0
    last_state: str | None = None
    waiters: IdSet | None = None
    late_now: bool | None = None
    waiting_now: int | None = None
    """At the end of the log: whether it is late, and how many members wait for it; None if the rebalance has ended."""

    def identify(self, member: Member) -> None:
        """Take the member's identity from its last type 5."""
        known = member.known
        if known is not None:
            self.identity = (known.client_id, known.client_host, known.instance_id)

    def stop(self, elapsed: int) -> None:
        """Note that the member is neither late nor blocking from now on."""
        self.late.run(elapsed, is_running=False)
        self.blocking.run(elapsed, is_running=False)

    def end(self, member: Member, elapsed: int) -> None:
        """Stop, and add the time of the stay in UNREVOKED_PARTITIONS, and away, since the rebalance began."""
        self.stop(elapsed)
        revoked_before, away_before = member.spent_before
        self.revoke_ms += member.spent_until(UNREVOKED, elapsed) - revoked_before
        self.away_ms += member.spent_until(AWAY, elapsed) - away_before
        self.member = None

    def hold_up(self, waiter: Member) -> None:
        """Note that another member waits for this one."""
        if self.waiters is None:
            self.waiters = IdSet()
        self.waiters.add(waiter.member_id)

    def rank(self) -> tuple[bool, int, int, str]:
        """Return a sort key with the worst blockers first; while the rebalance is open, those that block it now."""
        return not (self.late_now or self.waiting_now), -self.late.ms, -self.blocking.ms, self.member_id

    def row(self) -> tuple[Any, ...]:
        """Return the fields of `rows.Blocker`."""
        held_up = 0 if self.waiters is None else self.waiters.count
        client_id, client_host, instance_id = self.identity
        return _new_blocker(
            member_id=self.member_id,
            client_id=client_id,
            client_host=client_host,
            instance_id=instance_id,
            late_ms=self.late.ms,
            blocked_ms=self.blocking.ms,
            held_up=held_up,
            revoke_ms=self.revoke_ms,
            away_ms=self.away_ms,
            last_state=self.last_state,
            late_now=self.late_now,
            waiting_now=self.waiting_now,
        )


@dataclass(slots=True, eq=False)
class OpenRebalance:
    """The rebalance that has not ended."""

    number: int
    """Its number in the incarnation, from 1."""
    began: int
    """By `Operation.elapsed`."""
    began_at: int | None
    began_offset: int
    members_before: int | None
    leader_epoch: int | None
    is_known: bool
    """The previous state was known."""
    rests_on: int
    """The offset of the first record that its numbers depend on."""
    first_epoch: int | None = None
    last_epoch: int | None = None
    epochs: int = 0
    causes: dict[str, None] = field(default_factory=dict)
    triggers: dict[str, None] = field(default_factory=dict)
    causes_before: dict[str, None] = field(default_factory=dict)
    triggers_before: dict[str, None] = field(default_factory=dict)
    """The same for the case that its epochs lie before the history is complete."""
    assignments: int = 0
    moved: int | None = None
    compared_from: int = NEVER
    compared_to: int = NEVER
    """The first assignment that another was compared with, and the last compared one."""
    unowned_ms: int = 0
    longest_unowned_ms: int = 0
    assigning: Stopwatch = field(default_factory=Stopwatch)
    late: Stopwatch = field(default_factory=Stopwatch)
    not_ready: Stopwatch = field(default_factory=Stopwatch)
    late_members: int = 0
    can_be_late: bool = False
    """At the end of the last operation."""
    known_until: int | None = None
    """The time of the last record before the first loss; None if it began behind one, or none was."""
    is_new: bool = True
    """All members must be checked, not only those with a record in the operation."""
    waited: IdSet = field(default_factory=IdSet)
    blockers: dict[str, BlockerTimes] = field(default_factory=dict)
    departed: int = 0
    """How many of them have left."""
    dropped: int = 0
    """How many of those that left were dropped from it."""

    def add(self, bump: Bump, triggers: Iterable[str]) -> None:
        """Add an epoch."""
        if self.first_epoch is None:
            self.first_epoch = bump.epoch
        self.last_epoch = bump.epoch
        self.epochs += 1
        self.causes[bump.cause] = None
        self.causes_before[bump.cause_before] = None
        if len(self.triggers) < MANY:
            self.triggers.update(dict.fromkeys(triggers))
            if bump.cause == bump.cause_before:
                self.triggers_before.update(dict.fromkeys(triggers))

    def assign(self, assignment: Assignment) -> None:
        """Add the moves of an assignment."""
        if assignment.offset < self.began_offset:
            return
        self.assignments += 1
        if assignment.moved is not None:
            if self.moved is None:
                self.moved = 0
                self.compared_from = assignment.compared_with
            self.moved += assignment.moved
            self.compared_to = assignment.offset

    def run(self, elapsed: int, *, is_assigning: bool = False, is_late: bool = False, is_ready: bool = True) -> None:
        """Count the time from now on as assigning, as late, as not ready, or as none of these."""
        if is_assigning != self.assigning.is_running:
            self.assigning.run(elapsed, is_running=is_assigning)
        if is_late != self.late.is_running:
            self.late.run(elapsed, is_running=is_late)
        if not is_ready or self.not_ready.is_running:
            self.not_ready.run(elapsed, is_running=not (is_ready or is_assigning or is_late))

    def concerned(self, members: Iterable[Member], assignment_epoch: int | None) -> list[Member]:
        """Return those of these members that may block the rebalance, and all present ones that did, in any stay."""
        present = {member_id: times.member for member_id, times in self.blockers.items() if times.member is not None}
        return [
            *present.values(),
            *(
                member
                for member in members
                if (
                    member.state != STABLE
                    or member.epoch != assignment_epoch
                    or member.blocking
                    or member.member_id in self.blockers
                )
                and member.member_id not in present
            ),
        ]

    def mark(self, member: Member, assignment_epoch: int | None, elapsed: int) -> None:
        """Note at the end of an operation whether a member is late, and whether it blocks another."""
        late = self.can_be_late and member.is_late(assignment_epoch)
        blocking = member.blocking > 0
        is_held_up = late or blocking
        times = self.blockers.get(member.member_id)
        if times is None or times.member is None:
            # Who blocked it, left and is back may be away again: that time is the blocker's too.
            is_back = times is not None and member.state != GONE
            if not (is_held_up or is_back):
                return
            times = self.times(member, assignment_epoch)
        if late != times.late.is_running:
            self.late_members += 1 if late else -1
            times.late.run(elapsed, is_running=late)
        if blocking != times.blocking.is_running:
            times.blocking.run(elapsed, is_running=blocking)
        if is_held_up:
            times.last_state = member.state_name(assignment_epoch)

    def times(self, member: Member, assignment_epoch: int | None) -> BlockerTimes:
        """Return the times of a present member."""
        times = self.blockers.get(member.member_id)
        if times is None:
            times = self.blockers[member.member_id] = BlockerTimes(member.member_id)
            times.last_state = member.state_name(assignment_epoch)
        elif times.member is None:
            self.departed -= 1
        if times.member is None:
            member.count_in(self.number, self.began)
            times.member = member
            times.identify(member)
        return times

    def leave(self, member: Member, elapsed: int) -> None:
        """Note the end of a member's stay, also of one that did not block: it may come again, and do so."""
        times = self.blockers.get(member.member_id)
        if times is None or times.member is None:
            if not any(member.spent_until(state, elapsed) for state in (UNREVOKED, AWAY)):
                return
            times = self.times(member, None)
        self.late_members -= times.late.is_running
        times.end(member, elapsed)
        self.departed += 1
        if self.departed > MANY:
            self._drop_departed()

    def observe(self, pairs: Iterable[tuple[Member, Member]], assignment_epoch: int | None) -> None:
        """Note which members block the rebalance at the end of the log; `pairs`: holders with members that wait."""
        waiting: dict[str, set[str]] = defaultdict(set)
        for holder, waiter in pairs:
            waiting[holder.member_id].add(waiter.member_id)
        for member_id, times in self.blockers.items():
            member = times.member
            times.late_now = member is not None and member.is_late(assignment_epoch)
            times.waiting_now = 0 if member is None else len(waiting.get(member_id, ()))

    def worst(self) -> tuple[tuple[tuple[Any, ...], ...], int]:
        """Return the fields of the worst blockers, and their total number."""
        worst = sorted((times for times in self.blockers.values() if times.late.ms or times.blocking.ms), key=_rank)
        return tuple(times.row() for times in worst[:WORST]), len(worst) + self.dropped

    def _drop_departed(self) -> None:
        """Drop the blockers that left, except the worst: a busy group may have more than memory can hold."""
        left = sorted((times for times in self.blockers.values() if times.member is None), key=_rank)
        for times in left[WORST:]:
            del self.blockers[times.member_id]
            self.dropped += bool(times.late.ms or times.blocking.ms)
        self.departed = WORST


_rank = BlockerTimes.rank
