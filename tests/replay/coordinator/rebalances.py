"""Rebalances: how long each lasted, and for how long each member blocked it."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from tests.replay.coordinator.epochs import assignments, awaits, blockers_of
from tests.replay.coordinator.handovers import Gap, follow
from tests.replay.coordinator.steps import AWAY, Member, Step

_NAMES = {"UNREVOKED": "revoking", "UNRELEASED": "waiting"}


@dataclass
class Rebalance:
    """`steps`: from the one that began it to the one that ended it, if any did."""

    epochs: list[int]
    steps: list[Step] = field(default_factory=list)
    outcome: str = "open"


def followed(steps: list[Step]) -> list[Rebalance]:
    """A group that leaves Empty without a new epoch and does not converge re-opens its last epoch."""
    found: list[Rebalance] = []
    now: Rebalance | None = None
    last_epoch: int | None = None
    for step in steps:
        before = step.before
        ends = before is not None and before.is_modern and (step.group_type is None or step.is_new_incarnation)
        if now is not None and ends:
            now.steps.append(step)
            now.outcome, now = "deleted", None
        if step.is_new_incarnation:
            last_epoch = None
        if not step.is_modern:
            continue
        bumps = step.bumps
        leaves_empty = before is not None and not ends and before.is_modern and not before.members and step.members
        if now is None and leaves_empty and not bumps and last_epoch is not None and not step.is_converged:
            bumps = [last_epoch]
        if bumps and now is None:
            now = Rebalance([])
            found.append(now)
        last_epoch = step.group_epoch if step.bumps else last_epoch
        if now is None:
            continue
        now.epochs += bumps
        now.steps.append(step)
        if not step.members or step.is_converged:
            now.outcome, now = "converged" if step.members else "emptied", None
    return found


def rebalances(steps: list[Step], captured_at: int) -> list[tuple[Any, ...]]:
    """What `tests.replay.test_coordinator` compares of each row of `rebalance`, in its order."""
    moved = {id(each.step): each.moved for each in assignments(steps)}
    followed_gaps = follow(steps)
    found = []
    for each in followed(steps):
        first, last = each.steps[0], each.steps[-1]
        is_open = each.outcome == "open"
        until = last.elapsed + (max(0, captured_at - last.at) if is_open else 0)
        ended_at = captured_at if is_open else last.at
        key = (first.incarnation, first.group_type, first.at, each.epochs[0], each.epochs[-1], len(each.epochs))
        end = (None if is_open else last.at, None if is_open else last.last, each.outcome, ended_at - first.at)
        before = first.before
        is_known = before is not None and before.group_type is not None
        members_before = len(before.members) if before is not None and is_known else 0
        members = len(each.steps[-2].members) if len(each.steps) > 1 else members_before
        at_end = len(last.members) if each.outcome in {"converged", "open"} else members
        waited = {m for step in each.steps for m, member in step.members.items() if awaits_any(member)}
        changes = [moved[id(step)] for step in each.steps if id(step) in moved]
        known = [change for change in changes if change is not None]
        total = sum(known) if known or not changes else None
        spent, blocked = _spent(each.steps, until)
        unowned = _unowned(each.steps, until, followed_gaps.gaps)
        led = first.leader_epoch != last.leader_epoch
        facts = (members_before == 0, members_before, at_end, len(waited), total)
        found.append((*key, *end, *facts, *unowned, *spent, blocked, led))
    return found


def awaits_any(member: Member) -> bool:
    return member.state.startswith("UNRELEASED") and member.epoch != AWAY


def _spent(steps: list[Step], until: int) -> tuple[tuple[int, int, int], tuple[tuple[Any, ...], ...]]:
    """The ms assigning, late, and neither; and for each blocker: ms late, ms blocking, whom, last state."""
    assigning = late = neither = 0
    late_ms: dict[str, int] = defaultdict(int)
    blocked_ms: dict[str, int] = defaultdict(int)
    waiters: dict[str, set[str]] = defaultdict(set)
    ends = [step.elapsed for step in steps[1:]] + [until]
    last = {}
    for step, end in zip(steps, ends, strict=True):
        ms = end - step.elapsed
        blocking = {}
        for member_id, member in step.members.items():
            for holder in blockers_of(step, member) if awaits_any(member) else ():
                blocking.setdefault(holder, set()).add(member_id)
        is_last = step is steps[-1] and ms == 0
        is_over = is_last and (step.is_converged or not step.members)
        is_assigning = step.group_epoch > step.assignment_epoch
        late_now = {m for m, each in step.members.items() if not is_assigning and _is_late(step, each)}
        if not is_over:
            for member_id in {*late_now, *blocking}:
                last[member_id] = _state(step.members[member_id], step.assignment_epoch)
        for member_id in late_now:
            late_ms[member_id] += ms
        for member_id, held_up in blocking.items():
            blocked_ms[member_id] += ms
            waiters[member_id] |= held_up
        if is_assigning:
            assigning += ms
        elif late_now:
            late += ms
        else:
            neither += ms
    names = {m for m in {*late_ms, *blocked_ms} if late_ms[m] or blocked_ms[m]}
    rows = [(m, late_ms[m], blocked_ms[m], len(waiters[m]), last[m]) for m in names]
    return (assigning, late, neither), tuple(sorted(rows))


def _state(member: Member, assignment_epoch: int) -> str:
    if member.epoch == AWAY:
        return "away"
    if member.state == "STABLE":
        return "behind" if member.epoch < assignment_epoch else "reconciled"
    return _NAMES[member.state.split("_")[0]]


def _is_late(step: Step, member: Member) -> bool:
    if member.epoch == AWAY:
        return True
    if member.state == "STABLE":
        return member.epoch != step.assignment_epoch
    if awaits_any(member) and awaits(member):
        return not blockers_of(step, member) or not member.held <= member.target
    return True


def _unowned(steps: list[Step], until: int, gaps: list[Gap]) -> tuple[int, int]:
    """Unit-ms of the wanted gaps within the rebalance, and the longest; those open at its end count up to there."""
    first, last = steps[0], steps[-1]
    parts = [0]
    for gap in gaps:
        if gap.incarnation != first.incarnation or gap.begin.last > last.last:
            continue
        end = until if gap.end is None or gap.end.last > last.last else gap.end.elapsed
        targets = {unit for member in last.members.values() for unit in member.target}
        is_wanted = gap.wanted or (gap.unit in targets)
        if is_wanted and end > max(gap.begin.elapsed, first.elapsed):
            parts.append(end - max(gap.begin.elapsed, first.elapsed))
    return sum(parts), max(parts)
