"""Epochs, and how long each member took to reconcile each assignment."""

from dataclasses import dataclass
from typing import Any

from tests.replay.coordinator.steps import Member, Step, Unit


@dataclass
class Assignment:
    """An operation that changed the assignment epoch. `moved`: units with another target owner than before."""

    step: Step
    epoch: int
    moved: int | None
    first_bump: Step | None
    previous: "Assignment | None"


def assignments(steps: list[Step]) -> list[Assignment]:
    """The assignments of all incarnations; a group that was Empty compares its next one with none."""
    found: list[Assignment] = []
    owners: dict[Unit, str] | None = None
    bumps: list[tuple[int, Step]] = []
    last: Assignment | None = None
    for step in steps:
        if step.is_new_incarnation or not step.is_modern:
            owners, bumps, last = None, [], None
        bumps += [(epoch, step) for epoch in step.bumps]
        before = step.before
        was_modern = before is not None and before.is_modern and not step.is_new_incarnation
        start = before.assignment_epoch if before is not None and was_modern else None
        if step.is_modern and _wrote_assignment(step) and step.assignment_epoch != start:
            now = _target_owners(step)
            both = [] if owners is None else now.keys() & owners.keys()
            moved = None if owners is None or step.group_type == "share" else sum(now[u] != owners[u] for u in both)
            since = last.epoch if last is not None else 0
            first = next((bump for epoch, bump in bumps if since < epoch <= step.assignment_epoch), None)
            last = Assignment(step, step.assignment_epoch, moved, first, last)
            found.append(last)
            owners = now
        if not step.members:
            owners, bumps = None, []
    return found


def _wrote_assignment(step: Step) -> bool:
    return bool({6, 12, 20} & set(step.types))


def _target_owners(step: Step) -> dict[Unit, str]:
    members = step.members.values()
    return {unit: m.instance_id or m.member_id for m in members for unit in m.target if _is_exclusive(unit)}


def _is_exclusive(unit: Unit) -> bool:
    return unit[-1] not in {"standby", "warmup"}


def epochs(steps: list[Step]) -> list[tuple[Any, ...]]:
    """Incarnation, epoch, type, bumped at, assigned at, converged at, status, superseded by, moved; lags."""
    found: list[tuple[Any, ...]] = []
    given = {id(each.step): each for each in assignments(steps)}
    open_: list[list[Any]] = []
    for step in steps:
        ends = "deleted" if step.group_type is None or (step.before is not None and step.is_new_incarnation) else None
        if ends is not None:
            found += [_epoch(row, step, "deleted") for row in open_]
            open_ = []
        open_ += [[step, epoch, None] for epoch in step.bumps]
        assignment = given.get(id(step))
        for row in open_:
            if row[2] is None and assignment is not None and assignment.epoch >= row[1]:
                row[2] = assignment
        if not step.is_modern:
            continue
        if not step.members or step.is_converged:
            found += [_epoch(row, step, "converged" if step.members else "emptied") for row in open_]
            open_ = []
    found += [_epoch(row, steps[-1], "open") for row in open_]
    return found


def _epoch(row: list[Any], end: Step, status: str) -> tuple[Any, ...]:
    step, epoch, assignment = row
    converged_at = end.at if status == "converged" else None
    superseded_by = None
    if status in {"converged", "open"} and end.group_epoch > epoch:
        status, superseded_by = "superseded", end.group_epoch
    assigned_at = None if assignment is None else assignment.step.at
    moved = None if assignment is None else assignment.moved
    lags = (_ms(step.at, assigned_at), _ms(assigned_at, converged_at), _ms(step.at, converged_at))
    key = (step.incarnation, epoch, step.group_type)
    return *key, step.at, assigned_at, converged_at, status, superseded_by, moved, *lags


def _ms(begin: int | None, end: int | None) -> int | None:
    return None if begin is None or end is None else end - begin


def lags(steps: list[Step], captured_at: int) -> list[tuple[Any, ...]]:
    """Incarnation, type, epoch, member; target, reconciled at; status, superseded; bumped at; lag, times; blockers."""
    places = {id(step): number for number, step in enumerate(steps)}
    found = []
    for each in assignments(steps):
        first = places[id(each.step)]
        found += [_lag(each, member_id, steps[first:], captured_at) for member_id in each.step.members]
    return found


def _lag(each: Assignment, member_id: str, steps: list[Step], captured_at: int) -> tuple[Any, ...]:
    step, status, reconciled_at = each.step, "open", None
    spent = {"UNREVOKED": 0, "UNRELEASED": 0}
    blockers: set[str] = set()
    highest, last = each.epoch, steps[0]
    member = step.members[member_id]
    for now in steps:
        if now is not step and member.state != "STABLE" and member.epoch >= 0:
            spent[member.state.split("_")[0]] += now.elapsed - last.elapsed
        if now is not step and (now.is_new_incarnation or member_id not in now.members):
            status, last = "left", now
            highest = max(highest, now.assignment_epoch if not now.is_new_incarnation else highest)
            break
        member, last = now.members[member_id], now
        highest = max(highest, now.assignment_epoch)
        if member.state == "STABLE" and member.epoch >= each.epoch:
            status, reconciled_at = "reconciled", now.at
            break
        if (now is step or now.writer == member_id) and member.epoch >= 0:
            blockers |= blockers_of(now, member)
    until = last.elapsed
    if status == "open":
        until += max(0, captured_at - last.at)
        blockers = blockers_of(last, member) if member.epoch >= 0 else set()
        if member.state != "STABLE" and member.epoch >= 0:
            spent[member.state.split("_")[0]] += until - last.elapsed
    bumped_at = None if each.first_bump is None else each.first_bump.at
    end = reconciled_at if status == "reconciled" else captured_at if status == "open" else None
    key = (step.incarnation, step.group_type, each.epoch, member_id)
    times = (step.at, reconciled_at, status, highest > each.epoch, bumped_at, _ms(bumped_at, end))
    return *key, *times, *spent.values(), tuple(sorted(blockers))


def awaits(member: Member) -> frozenset[Unit]:
    return member.target - member.assigned if member.state.startswith("UNRELEASED") else frozenset()


def blockers_of(step: Step, member: Member) -> set[str]:
    """The other members that have what a member awaits; of a task in any role, those of its process."""
    awaited = awaits(member) if member.epoch >= 0 else frozenset()
    tasks = {unit[:-1] for unit in awaited} if step.group_type == "streams" else set()
    active = {unit for unit in awaited if _is_exclusive(unit)}
    found = set()
    for other_id, other in step.members.items():
        shares = other.process == member.process and tasks & {unit[:-1] for unit in other.held}
        if other_id != member.member_id and (active & other.held or shares):
            found.add(other_id)
    return found


def causes(steps: list[Step]) -> list[tuple[Any, ...]]:
    """Incarnation, epoch, cause: the conversion is that of an upgrade's first epoch, and of no other."""
    found = []
    for step in steps:
        for number, epoch in enumerate(step.bumps):
            is_upgrade = step.facts.get("was") == "classic" and bool(step.facts.get("m0"))
            found.append((step.incarnation, epoch, _cause(step, is_conversion=is_upgrade and not number)))
    return found


def _cause(step: Step, *, is_conversion: bool) -> str:
    facts, is_streams = step.facts, step.group_type == "streams"
    was_subscribed = step.before is not None and step.before.group_type == "classic"
    fits = (
        (is_conversion, "upgraded"),
        (is_streams and 23 in step.types, "topology_initialized"),
        (is_streams and facts["left"], "member_left"),
        (is_streams and facts.get("changed"), "member_changed"),
        (facts["joined"] and not was_subscribed, "member_joined"),
        (facts["resub"] or was_subscribed, "subscription_changed"),
        (facts["left"], "member_left"),
        (16 in step.types, "regex_resolved"),
        (is_streams and "vte0" in facts, "topology_invalidated" if facts.get("vte") == -1 else "topology_validated"),
        (facts.get("meta"), "topic_metadata_changed"),
        (is_streams and "configs0" in facts, "assignment_configs_changed"),
        (step.group_type == "share", "partitions_initialized"),
    )
    return next((cause for is_it, cause in fits if is_it), "unknown")
