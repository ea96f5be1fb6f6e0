"""What holds an open rebalance up by its own rows, and the operator's next step.

Each pattern is an entry of ``docs/runbook.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.kinds import CONNECT, KINDS, STREAMS
from kip848_records.replay.diagnosis.joined_again import again_step
from kip848_records.replay.group.vocabulary import (
    AWAY_STATE,
    BEHIND,
    DOWNGRADED,
    RECONCILED,
    REVOKING,
    UNKNOWN,
    WAITING,
)
from kip848_records.text import client_text, count_text, duration_text, lasting_text, printable
from kip848_records.times import time_text
from kip848_records.wording import causes_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.kinds import Kind
    from kip848_records.replay.rows import Row

SLOW_REVOCATION: Final = "slow_revocation"
REVOKES_BEYOND_TIMEOUT: Final = "revokes_beyond_timeout"
SILENT_MEMBER: Final = "silent_member"
ABSENT_STATIC_MEMBER: Final = "absent_static_member"
FREE_PARTITION: Final = "free_partition"
WAITING_FOR_ASSIGNMENT: Final = "waiting_for_assignment"
MIXED_PROTOCOLS: Final = "mixed_protocols"
JOIN_LEAVE_STORM: Final = "join_leave_storm"
NOT_READY: Final = "not_ready"
WORKER_DELAY: Final = "worker_delay"
NEXT_ROUND: Final = "next_round"
NO_EVIDENCE: Final = "no_evidence"
PATTERNS: Final = (
    SLOW_REVOCATION,
    REVOKES_BEYOND_TIMEOUT,
    SILENT_MEMBER,
    ABSENT_STATIC_MEMBER,
    FREE_PARTITION,
    WAITING_FOR_ASSIGNMENT,
    MIXED_PROTOCOLS,
    JOIN_LEAVE_STORM,
    NOT_READY,
    WORKER_DELAY,
    NEXT_ROUND,
    NO_EVIDENCE,
)

RUNBOOK: Final = "docs/runbook.md"

STORM_EPOCHS: Final = 10
"""A rebalance of so many epochs is a storm, unless one member was late for half of it."""
TIMER_SLACK_MS: Final = 10_000
"""How late a broker's timer may fire before it counts as beyond the timeout; as `revocation_time` has it."""
_LONG_TIMEOUT_MS: Final = 10 * 60 * 1000
_LONG_AWAY_MS: Final = 60_000
_WORKERS_NAMED: Final = 3
_LEADER: Final = "Look at the leader's log: it cannot read the config topic, or cannot complete a generation"


def runbook_link(pattern: str) -> str:
    """Return the entry of the runbook about a pattern."""
    return f"{RUNBOOK}#{pattern}"


class MemberNow(NamedTuple):
    """A member at capture: its open row of `member_state_timeline`, and its timeout from `membership`.

    `is_blocked`: other members hold partitions or tasks that it awaits, by its open row of `rebalance_lag`.
    """

    state: str
    state_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    is_classic: bool = False
    is_blocked: bool = False


class Gone(NamedTuple):
    """A Connect worker that left connectors and tasks behind, `units`, which no worker runs.

    `released_at`: when, in ms since 1970. `is_back`: a member with the same URL has come since.
    """

    worker: str
    units: int
    released_at: int | None = None
    is_back: bool = False


class Ongoing(NamedTuple):
    """The open row of `rebalance`, with what the end of the log shows of its group.

    `members_left`: how many members left, expired or were replaced during it.
    """

    group_type: str
    began_at: int | None
    duration_ms: int | None
    assigning_ms: int | None
    not_ready_ms: int | None
    delay_ms: int | None
    expected_at: int | None
    epochs: int
    causes: Sequence[str]
    blockers: Sequence[Row] | None
    is_assigning: bool = False
    is_not_ready: bool = False
    members_left: int = 0

    @property
    def kind(self) -> Kind:
        """The kind of its group: only Connect clusters have delays."""
        return KINDS[self.group_type if self.delay_ms is None else CONNECT]

    @property
    def known_to(self) -> int:
        """Until when it was observed, in ms since 1970."""
        return (self.began_at or 0) + (self.duration_ms or 0)


class Advice(NamedTuple):
    """The cause of a long rebalance. `member_id`, `who`: the blocker, None if no single member blocks it.

    A Connect worker that left is in `who` alone: it is no member any more.
    """

    pattern: str
    member_id: str | None
    who: str | None
    sentence: str
    next: str


def advise(rebalance: Ongoing, members: Mapping[str, MemberNow], gone: Sequence[Gone] = ()) -> Advice:
    """Return what holds an open rebalance up, and what to do.

    `members`: the group's members at capture by their ids; a blocker that is not among them has left. `gone`: workers
    that left a Connect cluster.
    """
    current = current_blockers(rebalance.blockers or (), members)
    worst = current[0] if current else None
    late_ms = worst.late_ms or 0 if worst else 0
    duration_ms = rebalance.duration_ms or 0
    if (rebalance.epochs or 0) >= STORM_EPOCHS and late_ms < duration_ms / 2:
        return _storm(rebalance)
    if worst is not None and KINDS[rebalance.group_type].has_epochs:
        return _of_member(worst, members[worst.member_id], KINDS[rebalance.group_type].units)
    if rebalance.is_not_ready:
        return _not_ready(rebalance.not_ready_ms)
    if rebalance.is_assigning:
        return _assigning(rebalance.assigning_ms)
    if rebalance.expected_at is not None:
        return _delayed(rebalance, rebalance.expected_at, gone)
    return no_evidence() if KINDS[rebalance.group_type].has_epochs else _next_round(rebalance, current)


def _next_round(rebalance: Ongoing, blockers: Sequence[Row]) -> Advice:
    """Return the advice for a classic group or a Connect cluster whose last generation needs another one.

    `blockers`: the members that should have asked for it, once no join phase can be under way.
    """
    if blockers:
        return _did_not_ask(blockers, rebalance.kind)
    sentence = "The last generation took partitions or tasks from their owners, and the next one has not assigned them"
    if DOWNGRADED in (rebalance.causes or ()):
        sentence = "The group became a classic one, and its members have not completed a generation since"
    if rebalance.blockers is not None:
        sentence += ", for longer than any join phase lasts"
        then = "Look at the broker that coordinates the group; if it works, this copy is older than its capture"
        return Advice(NEXT_ROUND, None, None, sentence, then)
    then = "Check that every member polls: the group waits until all have joined again"
    return Advice(NEXT_ROUND, None, None, sentence, then)


def _did_not_ask(blockers: Sequence[Row], kind: Kind) -> Advice:
    """Return the advice about members that had to give something up, and then to ask for the next generation."""
    worst, others, units = blockers[0], len(blockers) - 1, kind.units
    who = _client(worst)
    more, was = (f" and {count_text(others, f'other {kind.member}')}", "were") if others else ("", "was")
    has, it, its_log = ("have", "them", "their logs") if others else ("has", "it", "its log")
    sentence = (
        f"{who}{more} {was} to give up {units} and to join again, and {has} not{_so_far(worst.late_ms)}, longer "
        f"than any join phase lasts: these {units} have no {kind.owner}"
    )
    then = (
        f"Restart {it}, and the next generation gives these {units} to others. Look in {its_log} for what keeps {it} "
        "from joining again, such as a rebalance listener that hangs or throws, or a fault of the client library"
    )
    return Advice(NEXT_ROUND, worst.member_id, who, sentence, then)


def members_of(rebalance: Ongoing, members: Mapping[str, MemberNow]) -> Mapping[str, MemberNow]:
    """Return the members at capture; of a classic group, which has no states of members, its blockers."""
    if KINDS[rebalance.group_type].has_epochs:
        return members
    return {each.member_id: MemberNow(each.last_state, each.late_ms) for each in rebalance.blockers or ()}


def no_evidence() -> Advice:
    """Return the advice for a stuck group whose rows name no blocker."""
    sentence = "The log does not show which member it waits for"
    return Advice(NO_EVIDENCE, None, None, sentence, "Read a newer copy of the log")


def current_blockers(blockers: Sequence[Row], members: Mapping[str, MemberNow]) -> list[Row]:
    """Return those that block the group at capture, in their order: the worst first.

    These are present members that could take their next step, or for which other members wait; not those that only wait
    for others.
    """
    return [each for each in blockers if (each.late_now or each.waiting_now) and _is_open(members.get(each.member_id))]


def _is_open(member: MemberNow | None) -> bool:
    """Return whether a member is present, and not reconciled."""
    return member is not None and member.state != RECONCILED


def _of_member(blocker: Row, now: MemberNow, units: str) -> Advice:
    who = _client(blocker)
    pattern, doing, then = _doing(now, units)
    count = blocker.waiting_now or 0
    waiting = "" if not count else f"; {count_text(count, 'member')} {'waits' if count == 1 else 'wait'} for it"
    return Advice(pattern, blocker.member_id, who, f"{who} {doing}{waiting}", then)


def _client(blocker: Row) -> str:
    who = client_text(blocker.client_id, blocker.client_host, blocker.instance_id)
    return who or f"member {printable(blocker.member_id)}"


def _doing(now: MemberNow, units: str) -> tuple[str, str, str]:
    """Return the pattern of a blocker, what it does, and what to do next. `units`: what members have."""
    for_long = _so_far(now.state_ms)
    if now.is_classic and now.state in {BEHIND, REVOKING, UNKNOWN}:
        doing = f"uses the classic protocol and has not rejoined with its new assignment{for_long}"
        then = "Check that its poll loop runs, or finish the roll to group.protocol=consumer and restart it"
        return MIXED_PROTOCOLS, doing, then
    if now.state == REVOKING:
        return _revoking(now, units)
    if now.state == AWAY_STATE:
        doing = f"is a static member that has been away{for_long} and keeps its partitions until its session expires"
        return ABSENT_STATIC_MEMBER, doing, _start_or_remove(now, units)
    if now.state == WAITING and not now.is_blocked:
        doing = f"may take its awaited {units}, which are free, and has not done so{for_long}"
        then = "Check that the client is alive and reaches its group coordinator; restart it if it is not"
        return FREE_PARTITION, doing, then
    doing = f"has not picked its new assignment up{for_long}"
    then = "Check that the client is alive and reaches its group coordinator; restart it if it is not"
    return SILENT_MEMBER, doing, then


def _start_or_remove(now: MemberNow, units: str) -> str:
    """Return what to do about a static member that is away; a coordinator removes none of a streams group."""
    again = "Start the instance again with the same group.instance.id"
    if units == KINDS[STREAMS].units or (now.state_ms or 0) < _LONG_AWAY_MS:
        return again
    # `classicGroupLeave` of GroupMetadataManager takes an instance id alone; of consumer members since KAFKA-18188.
    return f"{again}; if it is gone for good, remove it: Admin.removeMembersFromConsumerGroup (brokers from 4.0 on)"


def _revoking(now: MemberNow, units: str) -> tuple[str, str, str]:
    revoked_ms = now.state_ms
    doing = f"has been asked to give up {units}{_so_far(revoked_ms)}"
    timeout_ms = now.rebalance_timeout_ms
    limit = duration_text(timeout_ms)
    if timeout_ms and revoked_ms and revoked_ms > timeout_ms + TIMER_SLACK_MS:
        then = "Check the broker that coordinates the group, then restart the client: the broker should have fenced it"
        return REVOKES_BEYOND_TIMEOUT, f"{doing}, beyond its rebalance timeout of {limit}", then
    then = "Take a thread dump of the client, then restart it"
    if limit:
        late = " only" if (timeout_ms or 0) > _LONG_TIMEOUT_MS else ""
        then = f"{then}; the broker fences it{late} after its rebalance timeout of {limit}"
    return SLOW_REVOCATION, doing, then


def _assigning(assigning_ms: int | None) -> Advice:
    waited = lasting_text(assigning_ms)
    so_far = f"; it has waited{waited} in this rebalance" if waited else ""
    sentence = f"The group waits for a new target assignment{so_far}"
    then = "Look for assignor errors in the log of the broker that coordinates the group"
    return Advice(WAITING_FOR_ASSIGNMENT, None, None, sentence, then)


def _not_ready(not_ready_ms: int | None) -> Advice:
    lasted = lasting_text(not_ready_ms)
    so_far = f"; the group was NotReady{lasted} in this rebalance" if lasted else ""
    sentence = f"The broker has not validated the topology{so_far}"
    then = "Create the missing topic, which the application's log names; internal topics take the permission CREATE"
    return Advice(NOT_READY, None, None, sentence, then)


def _delayed(rebalance: Ongoing, expected_at: int, gone: Sequence[Gone]) -> Advice:
    """Return the advice for a Connect cluster whose leader waits for workers that left, or waits no longer."""
    until = time_text(expected_at)
    is_over = rebalance.known_to > expected_at + TIMER_SLACK_MS
    if not gone:
        return _delayed_without_loss(until, is_over=is_over)
    who = f"worker {printable(gone[0].worker)}" if len(gone) == 1 else count_text(len(gone), "worker")
    lost = f"{sum(each.units for each in gone):,} {KINDS[CONNECT].units}"
    left = f"{who[0].upper()}{who[1:]} left {lost} behind{_back(gone)}"
    if is_over:
        sentence = f"{left}; the leader should have assigned them to a worker by {until}"
        return Advice(WORKER_DELAY, None, who, sentence, _LEADER)
    sentence = f"{left}; the leader does not assign them to a worker{lasting_text(rebalance.delay_ms)}"
    return Advice(WORKER_DELAY, None, who, sentence, _start_again(gone, until))


def _delayed_without_loss(until: str, *, is_over: bool) -> Advice:
    """Return the advice for a delay alone: the leader also sets it if workers that left ran nothing."""
    none = "the log shows no connector or task that they left behind"
    if is_over:
        sentence = f"The leader should have ended its wait for workers that left by {until}; {none}"
        return Advice(WORKER_DELAY, None, None, sentence, _LEADER)
    sentence = f"The leader waits until {until} for workers that left; {none}"
    return Advice(WORKER_DELAY, None, None, sentence, f"Wait until {until}: then the workers form another generation")


def _back(gone: Sequence[Gone]) -> str:
    """Say which of the workers that left are back."""
    count = sum(each.is_back for each in gone)
    if not count:
        return ""
    if count == len(gone):
        return f", and {'is' if count == 1 else 'are'} back"
    return f"; {count_text(count, 'worker')} {'is' if count == 1 else 'are'} back"


def _start_again(gone: Sequence[Gone], until: str) -> str:
    missing = [printable(each.worker) for each in gone if not each.is_back]
    if not missing:
        return f"Wait until {until}: then the leader assigns the tasks"
    again = "the worker" if len(gone) == 1 else ", ".join(missing[:_WORKERS_NAMED])
    more = f" and {count_text(len(missing) - _WORKERS_NAMED, 'more worker')}" if len(missing) > _WORKERS_NAMED else ""
    return f"Start {again}{more} again before {until}; otherwise the leader assigns the tasks to other workers"


def _storm(rebalance: Ongoing) -> Advice:
    kind, left = rebalance.kind, rebalance.members_left
    causes = causes_text(rebalance.causes, kind.name)
    why = f" ({printable(causes)})" if causes else ""
    steps = f"{rebalance.epochs:,} {kind.step}s"
    gone = f"{count_text(left, kind.member)} left meanwhile" if left else f"no {kind.member} left meanwhile"
    sentence = f"{steps} followed each other, and the group was not stable in between{why}; {gone}"
    then = again_step(rebalance.causes or (), kind.name).removesuffix(".")
    if left:
        why = "a crash loop, an autoscaler, or polls beyond max.poll.interval.ms"
        then = f"Find out why its {kind.member}s restart: {why}"
    return Advice(JOIN_LEAVE_STORM, None, None, sentence, then)


def _so_far(millis: int | None) -> str:
    """Return for how long a state lasts that has not ended."""
    return lasting_text(millis, is_minimum=True)
