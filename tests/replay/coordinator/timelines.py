"""States of groups and members over time, and the stays of members."""

from collections.abc import Iterable, Iterator

from tests.replay.coordinator.steps import AWAY, Member, Step, Unit

_MEMBER_STATES = {"UNREVOKED": "revoking", "UNRELEASED": "waiting"}
Key = tuple[object, ...]


def intervals(steps: Iterable[Step], keys: dict[int, set[Key]], captured_at: int) -> Iterator[tuple[object, ...]]:
    """For each key the times in which it is among the keys after a step: key, from_at, from_offset, to_at, ms, skew."""
    began: dict[Key, Step] = {}
    last = None
    for number, step in enumerate(steps):
        for key in began.keys() - keys[number]:
            begin = began.pop(key)
            yield key, begin.at, begin.last, step.at, step.at - begin.at, step.skews > begin.skews or step.at < begin.at
        for key in keys[number] - began.keys():
            began[key] = step
        last = step
    for key, begin in began.items():
        assert last is not None
        is_skewed = last.skews > begin.skews or captured_at < begin.at
        yield key, begin.at, begin.last, None, captured_at - begin.at, is_skewed


def group_states(steps: list[Step], captured_at: int) -> list[tuple[object, ...]]:
    keys = {
        number: {(step.incarnation, step.group_type, step.state)} if step.group_type else set()
        for number, step in enumerate(steps)
    }
    return [(*key, *times) for key, *times in intervals(steps, keys, captured_at)]


def member_state(member: Member, assignment_epoch: int) -> str:
    if member.epoch == AWAY:
        return "away"
    if member.state == "STABLE":
        return "behind" if member.epoch < assignment_epoch else "reconciled"
    return _MEMBER_STATES[member.state.split("_")[0]]


def member_states(steps: list[Step], captured_at: int) -> list[tuple[object, ...]]:
    """Before the first assignment of a streams group the log does not show the assignment epoch: 0 or 1, by release."""
    keys: dict[int, set[Key]] = {}
    is_shown = False
    for number, step in enumerate(steps):
        is_shown = (is_shown and not step.is_new_incarnation) or bool({6, 12, 20} & set(step.types))
        keys[number] = set()
        for m, member in step.members.items() if step.is_modern else ():
            state = member_state(member, step.assignment_epoch)
            if step.group_type == "streams" and not is_shown and member.state == "STABLE" and member.epoch != AWAY:
                state = "unknown"
            keys[number].add((step.incarnation, step.group_type, m, state, member.epoch))
    return [(*key, *times) for key, *times, _ in intervals(steps, keys, captured_at)]


def ownership(steps: list[Step], captured_at: int) -> list[tuple[object, ...]]:
    """The intervals in which a member of a share or streams group has a partition, or a task in a role."""
    keys: dict[int, set[Key]] = {}
    for number, step in enumerate(steps):
        members = step.members.items() if step.group_type in {"share", "streams"} else ()
        keys[number] = {(step.incarnation, step.group_type, m, unit) for m, member in members for unit in member.owned}
    return [(*key, *times) for key, *times in intervals(steps, keys, captured_at)]


def stays(steps: list[Step], captured_at: int) -> list[tuple[object, ...]]:
    """Incarnation, type, member, instance, joined at, epoch; left at, epoch, how; returned; away ms; joined how."""
    found: list[list[object]] = []
    here: dict[str, list[object]] = {}
    away: dict[str, int] = {}
    for step in steps:
        before = step.before
        old = {} if before is None else before.members
        is_upgrade = before is not None and before.group_type == "classic" and step.is_modern and bool(old)
        for member_id in old if is_upgrade else old.keys() - step.members.keys():
            assert before is not None
            how = "upgraded" if is_upgrade else _left_how(old[member_id], step)
            stay = here.pop(member_id)
            stay[6:9] = step.at, _epoch(step), how
            stay[10] = _away(old[member_id], away.pop(member_id, 0), before, step.elapsed)
            if is_upgrade and member_id not in step.members:  # converted, and replaced at once
                stay = _begin(member_id, old[member_id], step, "upgraded")
                found.append([*stay[:6], step.at, _epoch(step), "replaced", False, 0, "upgraded"])
        for member_id, member in step.members.items():
            if member_id not in here:
                here[member_id] = _begin(member_id, member, step, _joined_how(member, step, is_upgrade=is_upgrade))
                found.append(here[member_id])
            elif before is not None and old[member_id].epoch == AWAY:
                away[member_id] = away.get(member_id, 0) + step.elapsed - before.elapsed
    last = steps[-1]
    for member_id, stay in here.items():
        elapsed = last.elapsed + max(0, captured_at - last.at)
        stay[10] = _away(last.members[member_id], away.get(member_id, 0), last, elapsed)
    for number, stay in enumerate(found):
        is_over = stay[0] != found[-1][0] or last.group_type is None
        stay[9] = any(later[:3] == stay[:3] for later in found[number + 1 :]) or (False if is_over else None)
    return [tuple(stay) for stay in found]


def _begin(member_id: str, member: Member, step: Step, how: str) -> list[object]:
    key = [step.incarnation, step.group_type, member_id, member.instance_id, step.at, _epoch(step)]
    return [*key, None, None, None, False, None, how]


def _away(member: Member, ms: int, since: Step, elapsed: int) -> int | None:
    if member.instance_id is None or not since.is_modern:
        return None
    return ms + (elapsed - since.elapsed if member.epoch == AWAY else 0)


def _epoch(step: Step) -> int | None:
    if step.group_type is None:
        return None
    return step.group_epoch if step.is_modern else step.generation


def _joined_how(member: Member, step: Step, *, is_upgrade: bool) -> str:
    old = {} if step.before is None or step.is_new_incarnation else step.before.members
    if is_upgrade and member.member_id in old:
        return "upgraded"
    instances = {each.instance_id for each in old.values()}
    return "replaced" if member.instance_id is not None and member.instance_id in instances else "joined"


def _left_how(member: Member, step: Step) -> str:
    if step.group_type is None:
        return "group_deleted"
    instances = {each.instance_id for each in step.members.values()}
    if member.instance_id is not None and member.instance_id in instances:
        return "replaced"
    return "expired" if member.epoch == AWAY else "left"


def owners(step: Step, unit: Unit) -> list[str]:
    """The members that have a unit; a static member that is away owns nothing."""
    return [m for m, member in step.members.items() if unit in member.owned]
