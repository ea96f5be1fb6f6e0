"""Changes of owner of partitions and active tasks, and the gaps without an owner."""

from dataclasses import dataclass, field
from typing import Any

from tests.replay.coordinator.steps import Step, Unit


@dataclass
class Gap:
    """A time without an owner. `from_member`: None if the unit never had one, and is in a target."""

    unit: Unit
    incarnation: int
    group_type: str
    from_member: str | None
    begin: Step
    wanted: bool
    wanted_ms: int = 0
    in_target_since: int | None = None
    end: Step | None = None
    to_member: str | None = None
    epoch: int | None = None


@dataclass
class Followed:
    """`gaps`: all of them, ended or open. `first`: acquisitions that ended none."""

    gaps: list[Gap] = field(default_factory=list)
    first: list[tuple[Any, ...]] = field(default_factory=list)
    open: dict[Unit, Gap] = field(default_factory=dict)


def follow(steps: list[Step]) -> Followed:
    """Follow the owners through all incarnations; classic groups and share partitions have none here."""
    found = Followed()
    owners: dict[Unit, str] = {}
    for step in steps:
        if step.group_type in {"consumer", "streams", None}:
            _change_owners(found, owners, step)
            owners = _owners(step)
            _follow_gaps(found, owners, step)
    return found


def _change_owners(found: Followed, owners: dict[Unit, str], step: Step) -> None:
    now, targets, before = _owners(step), _targets(step), step.before
    old = before.members if before is not None else {}
    gone = [member for member_id, member in old.items() if member_id not in step.members]
    wanted = targets.union(*(member.target for member in gone))
    upgraded = old.keys() if before is not None and before.group_type == "classic" else set()
    for unit in sorted(owners.keys() | now.keys()):
        if owners.get(unit) == now.get(unit):
            continue
        if unit in owners:
            found.open[unit] = Gap(unit, step.incarnation, _type(step), owners[unit], step, unit in wanted)
            found.gaps.append(found.open[unit])
        if unit in now and now[unit] not in upgraded:
            _acquire(found, unit, now[unit], step, is_wanted=unit in targets)


def _follow_gaps(found: Followed, owners: dict[Unit, str], step: Step) -> None:
    targets = _targets(step)
    for unit in targets - owners.keys() - found.open.keys():
        found.open[unit] = Gap(unit, step.incarnation, _type(step), None, step, wanted=True)
        found.gaps.append(found.open[unit])
    for gap in list(found.open.values()):
        _turn(gap, step, in_target=gap.unit in targets)
        is_unneeded = step.group_epoch == step.assignment_epoch and gap.unit not in targets
        if not step.members or step.is_new_incarnation or is_unneeded:
            _end(found, gap, step, is_wanted=gap.unit in targets)


def _type(step: Step) -> str:
    previous = step.before.group_type if step.before is not None else None
    return step.group_type or previous or ""


def _owners(step: Step) -> dict[Unit, str]:
    members = step.members.values() if step.is_modern else ()
    return {unit: m.member_id for m in members for unit in m.owned if unit[-1] not in {"standby", "warmup"}}


def _targets(step: Step) -> set[Unit]:
    members = step.members.values() if step.is_modern else ()
    return {unit for m in members for unit in m.target if unit[-1] not in {"standby", "warmup"}}


def _acquire(found: Followed, unit: Unit, member_id: str, step: Step, *, is_wanted: bool) -> None:
    gap = found.open.get(unit)
    epoch = step.members[member_id].epoch
    if gap is not None:
        gap.to_member, gap.epoch = member_id, epoch
        _end(found, gap, step, is_wanted=is_wanted)
    if gap is None or gap.from_member is None:
        found.first.append((step.incarnation, unit, None, None, member_id, step.at, None, None, None, epoch))


def _turn(gap: Gap, step: Step, *, in_target: bool) -> None:
    if gap.in_target_since is not None:
        gap.wanted_ms += step.elapsed - gap.in_target_since
    gap.in_target_since = step.elapsed if in_target else None


def _end(found: Followed, gap: Gap, step: Step, *, is_wanted: bool) -> None:
    _turn(gap, step, in_target=False)
    gap.wanted = gap.wanted or is_wanted
    gap.end = step
    del found.open[gap.unit]


def handovers(steps: list[Step], captured_at: int) -> list[tuple[Any, ...]]:
    """Incarnation, unit, from, released at, to, acquired at, unowned, wanted, wanted ms, epoch."""
    followed, last = follow(steps), steps[-1]
    found = list(followed.first)
    for gap in followed.gaps:
        if gap.from_member is None:
            continue
        wanted, wanted_ms, until = gap.wanted, gap.wanted_ms, captured_at if gap.end is None else gap.end.at
        if gap.end is None and gap.in_target_since is not None:
            wanted_ms += last.elapsed + max(0, captured_at - last.at) - gap.in_target_since
            wanted = True
        acquired_at = None if gap.to_member is None or gap.end is None else gap.end.at
        key = (gap.incarnation, gap.unit, gap.from_member, gap.begin.at)
        found.append((*key, gap.to_member, acquired_at, until - gap.begin.at, wanted, wanted_ms, gap.epoch))
    return found
